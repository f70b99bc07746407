r"""Exact pricing: the high set whose column would improve the linear programme most.

A column :math:`\theta s` with :math:`s \in \{1, a\}^S`, :math:`a = e^\alpha`, high on the set A,
adds :math:`\theta\varphi(p(A))` to the mutual information, with the concave function

.. math:: \varphi(P) = \alpha a P - (1+(a-1)P)\log(1+(a-1)P)
          = P\,\psi(a-1) - \psi((a-1)P), \qquad \psi(t) = (1+t)\log(1+t) - t.

Pricing maximises :math:`\varphi(p(A)) - w(A)` over all :math:`2^S` sets. With items sorted by
:math:`w/p` the fractional relaxation is solved in closed form: by concavity items enter in that
order until the marginal gain :math:`\varphi'` of mass meets the item's price, which happens at the
mass :math:`\varphi'^{-1}(w_x/p_x)`; at most one item is split. Branch and bound does the rest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.excess import entropy_excess
from pramble.values import Floats

Sets = NDArray[np.bool_]

UNIT = 2.0**-53


@dataclass(frozen=True)
class Priced:
    """Sets found, best last; the best value; and a proven bound on the value of every set."""

    sets: Sets
    value: float
    bound: float
    nodes: int


class Gain:
    r"""The function φ for one α: the information of a column by the prior mass of its high set."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.a1 = float(np.expm1(alpha))
        self.slope = float(entropy_excess(np.array(self.a1)))

    def __call__(self, mass: Floats) -> Floats:
        """Return φ at some masses."""
        return self.slope * mass - entropy_excess(self.a1 * mass)

    def derivative(self, mass: Floats) -> Floats:
        r"""Return :math:`\varphi'` at some masses."""
        return np.asarray(self.slope - self.a1 * np.log1p(self.a1 * mass))

    def mass_at(self, price: Floats) -> Floats:
        r"""Return the mass where :math:`\varphi' = price`; at least 0, enormous when price ≪ 0."""
        exponent = np.minimum((self.slope - price) / self.a1, 700.0)
        return np.maximum(np.expm1(exponent) / self.a1, 0.0)


def price(
    p: Floats, w: Floats, gain: Gain, *, slack: float, most_nodes: int = 2_000_000, keep: int = 16
) -> Priced:
    r"""Maximise :math:`\varphi(p(A)) - w(A)` over all sets A, within ``slack``.

    A search that runs out of nodes is done again with nearly equal masses made equal
    (:mod:`~pramble.solvers.general.near_ties`), and the better of both bounds is kept.
    """
    found = branched(p, w, gain, slack=slack, most_nodes=most_nodes, keep=keep)
    if found.nodes <= most_nodes:
        return found
    from pramble.solvers.general.near_ties import price_with_ties

    return price_with_ties(p, w, gain, found, slack=slack, most_nodes=most_nodes)


def branched(
    p: Floats, w: Floats, gain: Gain, *, slack: float, most_nodes: int, keep: int
) -> Priced:
    r"""Maximise by branch and bound.

    The bound holds for every set, whatever ended the search: it is the largest of the best value
    and of the relaxations of the subtrees that were left out, plus a margin for float error. A
    value is a sum of at most S + 3 products of relative error :math:`2^{-53}` each, in any order,
    so :math:`8(S+8)2^{-53}(\psi(a-1) + \sum_x|w_x|)` covers it many times over; the difference
    in :math:`\psi` has an error of a few units of :math:`(1+t)\log(1+t) \le a\alpha`, for which
    :math:`32 \cdot 2^{-53} a\alpha` is added.
    """
    from pramble.solvers.general.pricing_kernel import branch_and_bound

    free = (p == 0) & (w <= 0)
    items = np.flatnonzero(p > 0)
    items = items[np.lexsort((p[items], w[items] / p[items]))]
    masses, groups = np.unique(p[items], return_inverse=True)
    found = np.zeros((keep, len(items)), dtype=np.bool_)
    best, bound, count, nodes = branch_and_bound(
        p[items],
        w[items],
        gain.mass_at(w[items] / p[items]),
        groups.astype(np.int64),
        len(masses),
        gain.a1,
        gain.slope,
        float(w[free].sum()),
        slack,
        most_nodes,
        found,
    )
    order = [row % keep for row in range(max(0, count - keep), count)]
    sets = np.zeros((len(order), len(p)), dtype=np.bool_)
    sets[:, free] = True
    sets[:, items] = found[order]
    return Priced(sets, best, bound + float_margin(w, gain), nodes)


def float_margin(w: Floats, gain: Gain) -> float:
    """Return what covers the float error of any value; see :func:`branched`."""
    sums = 8 * (len(w) + 8) * (gain.slope + float(np.abs(w).sum()))
    return UNIT * (sums + 32 * (1 + gain.a1) * gain.alpha)

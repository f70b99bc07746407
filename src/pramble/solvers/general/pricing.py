r"""Branch and bound for the high set whose column would improve the linear programme most.

With φ of :class:`~pramble.solvers.general.sets.Gain`, maximise :math:`\varphi(p(A)) - w(A)`
over all :math:`2^S` sets. With items sorted by :math:`w/p` the fractional relaxation is solved in
closed form: by concavity items enter in that order until the marginal gain :math:`\varphi'` of mass
meets the item's price, which happens at the mass :math:`\varphi'^{-1}(w_x/p_x)`; at most one item
is split. Branch and bound does the rest.

Exact pricing: branch and bound, also when masses are nearly but not quite equal.

Branch and bound leaves out sets by comparing items of equal mass. Masses that differ in the ninth
digit defeat that, and the tree explodes. So replace p by :math:`\tilde p`, equal within clusters,
and w by :math:`\tilde w = w - c\,(p - \tilde p)`. Because φ lies below its tangent at
:math:`\tilde P = \tilde p(A)`, and with :math:`D = \tfrac12\sum_x |p_x - \tilde p_x| \ge
|P - \tilde P|` (the differences sum to zero, so those of one sign sum to D at most),

.. math:: \varphi(P) - w(A) \le \varphi(\tilde P) - \tilde w(A)
          + |\varphi'(\tilde P) - c| \, D .

With :math:`c = \varphi'(P_0)`, for sets with mass within h of :math:`P_0` the last term is at most
:math:`R(h) D`, R the largest deviation of φ' from c on :math:`[P_0 - h - D, P_0 + h + D]`. Sets
with another mass are bounded by the fractional relaxation of the original problem, which is concave
in the mass and therefore largest at :math:`P_0 \pm h` when :math:`P_0` is its maximiser. The least
of the bounds over some h is returned.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pramble.mechanisms.operators.dense import SMALL
from pramble.solvers.budget import OPERATIONS, SearchBudget
from pramble.solvers.general.sets import Gain, Sets
from pramble.values import Floats

UNIT = 2.0**-53


@dataclass(frozen=True)
class Priced:
    """Sets found, best last; the best value; and a proven bound on the value of every set."""

    sets: Sets
    value: float
    bound: float
    nodes: int


def branch(
    p: Floats,
    w: Floats,
    gain: Gain,
    *,
    slack: float,
    most_nodes: int,
    budget: SearchBudget,
    keep: int = 16,
) -> Priced:
    r"""Maximise by branch and bound; the last ``keep`` improvements are returned.

    The bound holds for every set, whatever ended the search: it is the largest of the best value
    and of the relaxations of the subtrees that were left out, plus a margin for float error. A
    value is a sum of at most S + 3 products of relative error :math:`2^{-53}` each, in any order,
    so :math:`8(S+8)2^{-53}(\psi(a-1) + \sum_x|w_x|)` covers it many times over; the difference
    in :math:`\psi` has an error of a few units of :math:`(1+t)\log(1+t) \le a\alpha`, for which
    :math:`32 \cdot 2^{-53} a\alpha` is added; where :math:`\psi` is a series its error is
    relative to itself, and :math:`32 \cdot 2^{-53} \psi(a-1)` is enough.
    """
    from pramble.solvers.general.kernels import Items, branch_and_bound

    free = (p == 0) & (w <= 0)
    items = np.flatnonzero(p > 0)
    items = items[np.lexsort((p[items], w[items] / p[items]))]
    masses, groups = np.unique(p[items], return_inverse=True)
    found = np.zeros((keep, len(items)), dtype=np.bool_)
    best, bound, count, nodes = branch_and_bound(
        Items(
            p=p[items],
            w=w[items],
            target=gain.mass_at(w[items] / p[items]),
            group=groups.astype(np.int64),
            sum_p=np.append(0.0, np.cumsum(p[items])),
            sum_w=np.append(0.0, np.cumsum(w[items])),
            a1=gain.a1,
            slope=gain.slope,
        ),
        len(masses),
        float(w[free].sum()),
        slack,
        most_nodes,
        found,
    )
    budget.spend(nodes * node_cost(p) + 2000 * len(p))
    order = [row % keep for row in range(max(0, count - keep), count)]
    sets = np.zeros((len(order), len(p)), dtype=np.bool_)
    sets[:, free] = True
    sets[:, items] = found[order]
    return Priced(sets, best, bound + float_margin(w, gain), nodes)


def node_cost(p: Floats) -> float:
    """Return the operations of a node: more where items of equal mass rule out sums."""
    items = p[p > 0]
    return 60.0 if len(np.unique(items)) == len(items) else 40.0 + 2.0 * len(items)


def float_margin(w: Floats, gain: Gain) -> float:
    """Return what covers the float error of any value; see :func:`branch`."""
    sums = 8 * (len(w) + 8) * (gain.slope + float(np.abs(w).sum()))
    terms = gain.slope if gain.a1 < SMALL else (1 + gain.a1) * gain.alpha
    return UNIT * (sums + 32 * terms)


SPAN = 1e-4
FEW_NODES = 20_000
TANGENTS = 4
MOST_COUNTED = 500
WINDOWS = np.geomspace(0.5, 1e-4, 40).tolist()


def price(
    p: Floats,
    w: Floats,
    gain: Gain,
    *,
    slack: float,
    budget: SearchBudget,
    most_nodes: int = 2_000_000,
) -> Priced:
    r"""Maximise :math:`\varphi(p(A)) - w(A)` over all sets A, within ``slack``.

    A search that runs out of a few nodes is bounded by the number of members, and if that is not
    enough goes on; one that runs out of all is done again with nearly equal masses made equal. The
    best of these bounds is kept.
    """
    found = branch(p, w, gain, slack=slack, most_nodes=min(FEW_NODES, most_nodes), budget=budget)
    if found.nodes <= FEW_NODES:
        return found
    counted = count_bound(p, w, gain)
    budget.spend(TANGENTS * 40 * len(p) ** 2)
    most_nodes = int(min(most_nodes, max(budget.left(), 0.0) * OPERATIONS / (2 * node_cost(p))))
    if counted > found.value + slack and most_nodes > FEW_NODES:
        found = branch(p, w, gain, slack=slack, most_nodes=most_nodes, budget=budget)
        if found.nodes > most_nodes:
            found = price_equalised(
                p, w, gain, found, slack=slack, most_nodes=most_nodes, budget=budget
            )
    return replace(found, bound=max(min(found.bound, counted), found.value))


def count_bound(p: Floats, w: Floats, gain: Gain) -> float:
    r"""Return a bound on the value of every set, by its number of members.

    φ lies below its tangent at any :math:`P_0`, so a set of k members is worth at most
    :math:`\varphi(P_0) - \varphi'(P_0) P_0` plus the k largest of :math:`\varphi'(P_0) p_x - w_x`.
    Among nearly equal masses only some sums occur, which the fractional relaxation does not know.
    """
    if len(p) > MOST_COUNTED:
        return math.inf
    base = float(w[p == 0].clip(max=0).sum())
    p, w = p[p > 0], w[p > 0]
    least = np.full(len(p) + 1, np.inf)
    touched = np.linspace(0.0, float(p.sum()), len(p) + 1)
    for _ in range(TANGENTS):
        slope = gain.derivative(touched)[:, None]
        order = np.argsort(w - slope * p, axis=1, kind="stable")
        values = np.take_along_axis(slope * p - w, order, axis=1)
        tops = np.column_stack([np.zeros(len(touched)), np.cumsum(values, axis=1)])
        bounds = (gain(touched) - slope[:, 0] * touched)[:, None] + tops
        least = np.minimum(least, bounds.min(axis=0))
        masses = np.column_stack([np.zeros(len(touched)), np.cumsum(p[order], axis=1)])
        touched = np.diagonal(masses).copy()
    return float(least.max()) - base + float_margin(w, gain)


def price_equalised(
    p: Floats,
    w: Floats,
    gain: Gain,
    first: Priced,
    *,
    slack: float,
    most_nodes: int,
    budget: SearchBudget,
) -> Priced:
    """Return the sets of both searches and the better of both bounds."""
    equal = equalise(p)
    profile = Profile(p, w, gain)
    centre = profile.best_mass()
    slope = float(gain.derivative(np.array(centre)))
    found = branch(
        equal, w - slope * (p - equal), gain, slack=slack, most_nodes=most_nodes, budget=budget
    )
    spread = float(np.abs(p - equal).sum()) / 2
    bounds = [first.bound]
    for window in WINDOWS:
        ends = np.clip([centre - window - spread, centre + window + spread], 0.0, 1.0)
        deviation = float(np.abs(gain.derivative(ends) - slope).max())
        edges = max(profile.at(centre - window), profile.at(centre + window))
        bounds.append(max(found.bound + deviation * spread, edges))
    sets = np.vstack([first.sets, found.sets])
    values = gain(sets @ p) - sets @ w
    order = np.argsort(values, kind="stable")
    margin = float_margin(w, gain)
    value = float(values[order[-1]])
    return Priced(sets[order], value, max(min(bounds) + margin, value), first.nodes + found.nodes)


def equalise(p: Floats) -> Floats:
    """Return the masses with each run of nearly equal ones replaced by its mean."""
    order = np.argsort(p, kind="stable")
    sorted_p = p[order]
    equal = np.empty(len(p))
    start = 0
    for end in range(1, len(p) + 1):
        if end == len(p) or sorted_p[end] > sorted_p[start] * (1 + SPAN):
            equal[order[start:end]] = sorted_p[start:end].mean()
            start = end
    return equal


class Profile:
    """The fractional maximum of φ(p(A)) − w(A) as a concave function of the mass p(A)."""

    def __init__(self, p: Floats, w: Floats, gain: Gain) -> None:
        self.gain = gain
        self.base = float(w[p == 0].clip(max=0).sum())
        price = w[p > 0] / p[p > 0]
        order = np.argsort(price, kind="stable")
        self.price = price[order]
        self.mass = np.concatenate([[0.0], np.cumsum(p[p > 0][order])])
        self.cost = np.concatenate([[0.0], np.cumsum(w[p > 0][order])])

    def at(self, mass: float) -> float:
        """Return the maximum at one mass; minus infinity where there is none."""
        if not 0 <= mass <= self.mass[-1]:
            return -np.inf
        cost = float(np.interp(mass, self.mass, self.cost))
        return float(self.gain(np.array(mass))) - cost - self.base

    def best_mass(self) -> float:
        """Return the mass where the marginal gain meets the price."""
        target = self.gain.mass_at(self.price)
        past = np.flatnonzero(self.mass[1:] > target)
        if not past.size:
            return float(self.mass[-1])
        return float(max(target[past[0]], self.mass[past[0]]))

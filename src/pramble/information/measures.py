r"""Entropy and mutual information, in nats.

Mutual information is computed from the compensation identity

.. math:: I(X;Z) = \sum_x p_x\, D(M_x \,\|\, r) - D(m \,\|\, r),

which holds for every law r with full support, and with divergences written through
:math:`\varphi(t) = (1+t)\log(1+t) - t \ge 0`. For general matrices :math:`r = m = pM`; for uniform
rows :math:`r = 1/S`, or the row of a category with more than half of the mass, which makes it O(S).
Neither loses digits as α → 0, nor as one category takes all the mass.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.errors import InvalidInput
from pramble.information.excess import entropy_excess
from pramble.information.priors import as_prior
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats


def entropy(p: ArrayLike) -> float:
    r"""Return :math:`H(X) = -\sum_x p_x \log p_x`, with :math:`0\log 0 = 0`.

    Examples
    --------
    >>> import pramble
    >>> pramble.entropy([0.5, 0.5, 0.0]) == 0.6931471805599453
    True
    """
    prior = as_prior(p)
    return float(-xlogx(prior).sum()) + 0.0


def released_distribution(prior: ArrayLike, mechanism: Mechanism) -> Floats:
    r"""Return :math:`m = pM`, the law of the released value.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.75])
    >>> pramble.released_distribution([0.5, 0.5], m)
    array([0.375, 0.625])
    """
    return _released(check(mechanism), as_prior(prior, size=mechanism.shape[0]))


def conditional_entropy(prior: ArrayLike, mechanism: Mechanism) -> float:
    r"""Return :math:`H(Z|X) = -\sum_x p_x \sum_z M_{xz}\log M_{xz}`.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.5])
    >>> pramble.conditional_entropy([0.3, 0.7], m) == 0.6931471805599453
    True
    """
    return _conditional(check(mechanism), as_prior(prior, size=mechanism.shape[0]))


def mutual_information(prior: ArrayLike, mechanism: Mechanism) -> float:
    r"""Return the information between true and released value.

    .. math:: I(X;Z) = \sum_{x,z} p_x M_{xz} \log\frac{M_{xz}}{(pM)_z} = H(Z) - H(Z|X)

    in O(S) for uniform rows and O(S·T) otherwise.

    Parameters
    ----------
    prior : (S,) array_like
        Probabilities of the categories; zeros are fine.
    mechanism : Mechanism

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(2, 1.0)
    >>> round(pramble.mutual_information([0.5, 0.5], m), 6)
    0.110944
    """
    prior = as_prior(prior, size=check(mechanism).shape[0])
    return max(_information(mechanism, prior), 0.0)


def check(mechanism: Any) -> Mechanism:
    """Return the mechanism; refuse anything else."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(f"A mechanism is needed; found {type(mechanism).__name__}.")
    return mechanism


def xlogx(values: Floats) -> Floats:
    """Return x log x, which is 0 at 0."""
    return values * np.log(np.where(values > 0, values, 1.0))


@singledispatch
def _released(mechanism: Mechanism, p: Floats) -> Floats:
    return np.asarray(p @ mechanism.matrix, dtype=np.float64)


@_released.register
def _(mechanism: UniformRows, p: Floats) -> Floats:
    off = mechanism.off / TOTAL
    return np.asarray(p @ off + p * (mechanism.keep / TOTAL - off), dtype=np.float64)


@_released.register
def _(mechanism: Arcs, p: Floats) -> Floats:
    released = np.empty(mechanism.shape[1])
    released[mechanism.slots] = arc_weights(mechanism, p)[1]
    return released


def arc_weights(arcs: Arcs, p: Floats) -> tuple[list[tuple[float, Floats]], Floats]:
    """Return the three weights with the prior mass that has each, per slot; and their mean."""
    top, arc = arcs.within(arcs.raised, p), arcs.within(arcs.width, p)
    classes = [
        ((arcs.high + 1) / TOTAL, top),
        (arcs.high / TOTAL, np.maximum(arc - top, 0.0)),
        (arcs.low / TOTAL, np.maximum(1 - arc, 0.0)),
    ]
    released = sum((weight * mass for weight, mass in classes), start=np.zeros(len(arc)))
    return classes, released


@singledispatch
def _conditional(mechanism: Mechanism, p: Floats) -> float:
    return float(-(p @ xlogx(mechanism.matrix).sum(axis=1)))


@_conditional.register
def _(mechanism: UniformRows, p: Floats) -> float:
    rows = xlogx(mechanism.keep / TOTAL) + (len(p) - 1) * xlogx(mechanism.off / TOTAL)
    return float(-(p @ rows))


@_conditional.register
def _(mechanism: Arcs, p: Floats) -> float:  # noqa: ARG001  # all rows have the same entropy
    return float(-xlogx(mechanism.pattern / TOTAL).sum())


@singledispatch
def _information(mechanism: Mechanism, p: Floats) -> float:
    matrix = mechanism.matrix[p > 0]
    prior = p[p > 0]
    released = prior @ matrix
    matrix, released = matrix[:, released > 0], released[released > 0]
    excess = entropy_excess((matrix - released) / released)
    return float(prior @ excess @ released)


@_information.register
def _(mechanism: UniformRows, p: Floats) -> float:
    star = int(p.argmax())
    if p[star] > 0.5 and mechanism.off[star] and mechanism.keep[star]:
        return _information_from_row(mechanism, p, star)
    S = len(p)
    off = (S * mechanism.off - TOTAL) / TOTAL
    keep = -(S - 1) * off
    rows = entropy_excess(keep) + (S - 1) * entropy_excess(off)
    released = p @ off - S * p * off
    return float(p @ rows - entropy_excess(released).sum()) / S


@_information.register
def _(mechanism: Arcs, p: Floats) -> float:
    """In O(S + T): every column holds three weights."""
    classes, released = arc_weights(mechanism, p)
    return float(
        sum(
            released @ (mass * entropy_excess((weight - released) / released))
            for weight, mass in classes
        )
    )


def _information_from_row(mechanism: UniformRows, p: Floats, star: int) -> float:
    """Take the row of a dominant category for r: nothing cancels as its probability nears 1."""
    rest = np.arange(len(p)) != star
    off, keep, q = mechanism.off[rest], mechanism.keep[rest], p[rest]
    off_star, keep_star = int(mechanism.off[star]), int(mechanism.keep[star])
    rows = off_star * entropy_excess((keep - off_star) / off_star)
    rows += keep_star * entropy_excess((off - keep_star) / keep_star)
    rows += (len(p) - 2) * off_star * entropy_excess((off - off_star) / off_star)
    shift = q @ (off - off_star)
    released = off_star * float(entropy_excess((shift + q * (keep - off)) / off_star).sum())
    own = np.asarray((shift - q.sum() * (keep_star - off_star)) / keep_star)
    released += keep_star * float(entropy_excess(own))
    return float((q @ rows - released) / TOTAL)

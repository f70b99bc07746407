r"""Maximum likelihood on the simplex, with a proven optimality gap.

.. math:: \max_{p \in \Delta} \; \ell(p) = \sum_z c_z \log (pM)_z .

**The certificate.** :math:`\ell` is concave with gradient
:math:`g_x = \sum_z M_{xz} c_z/(pM)_z`, and :math:`\sum_x p_x g_x = \sum_z c_z = n`. For every q in
the simplex :math:`\ell(q) \le \ell(p) + g\cdot(q-p) \le \ell(p) + \max_x g_x - n`, so

.. math:: \max \ell - \ell(p) \;\le\; \max_x g_x - n ,

whatever p is and however it was found. Every estimate carries this number.
"""

import numpy as np

from pramble.errors import InvalidData, NotConverged, NotIdentifiable
from pramble.estimation.fit.interior import interior_point
from pramble.estimation.stacked import GroupOperator
from pramble.mechanisms.operators.base import (
    Axes,
    MechanismOperator,
    adjoint_axes,
    along_axes,
    apply_axes,
    category_shape,
)
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.values import Floats, Integers, value

TOLERANCE = 1e-9
"""Largest gap per record, in nats, that a maximum may be left with."""


@value(eq=False)
class Maximum:
    """A maximiser of the likelihood, the log-likelihood there, and the proven gap to the best."""

    p: Floats
    log_likelihood: float
    gap: float


def log_likelihood(axes: Axes, p: Floats, *, counts: Floats) -> float:
    """Return the log-likelihood of counts, with 0 log 0 = 0."""
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(apply_axes(axes, p)[seen]))


def optimality_gap(axes: Axes, p: Floats, *, counts: Floats) -> float:
    r"""Return :math:`\max_x g_x - n`, a bound on how much likelihood p leaves."""
    law = apply_axes(axes, p)
    seen = counts > 0
    if not (law[seen] > 0).all():
        return float("inf")
    ratio = np.zeros_like(counts)
    ratio[seen] = counts[seen] / law[seen]
    return max(float(adjoint_axes(axes, ratio).max() - counts.sum()), 0.0)


def maximise(axes: Axes, counts: Floats, *, tolerance: float = TOLERANCE) -> Maximum:
    """Return the maximum likelihood estimate for one group of counts.

    The inverse, when it lies in the simplex; else the finite algorithm for randomised
    response; else an interior point method that ends on an exact face.
    """
    n = float(counts.sum())
    shares = counts / n
    refuse_impossible(axes, counts)
    p = closed_form(axes, shares)
    if p is None:
        p = interior_point(axes, shares, tolerance=tolerance)
    gap = optimality_gap(axes, p, counts=counts)
    if not gap <= max(tolerance, 1e-13 * max(category_shape(axes))) * n:
        raise NotConverged(
            f"The likelihood must be maximised within {tolerance:g} nats per record; the fit "
            f"stopped at {gap / n:.3g}. The mechanism may be close to singular."
        )
    return Maximum(p, log_likelihood(axes, p, counts=counts), gap)


def refuse_impossible(axes: Axes, counts: Floats) -> None:
    """Raise when a value was counted that no category can lead to."""
    reach = apply_axes(axes, np.ones(category_shape(axes)))
    bad = np.argwhere((counts > 0) & (reach <= 0))
    if len(bad):
        if not all(isinstance(axis, MechanismOperator) for axis in axes):
            raise InvalidData("The data holds released values that the plan cannot release.")
        value = [axis.mechanism.outputs[z] for axis, z in zip(axes, bad[0], strict=True)]  # type: ignore[attr-defined]
        raise InvalidData(
            f"The mechanism never releases {value[0] if len(value) == 1 else tuple(value)!r}, "
            f"but it was counted {counts[tuple(bad[0])]:g} times. Is this the right mechanism?"
        )


def closed_form(axes: Axes, shares: Floats) -> Floats | None:
    """Return the maximiser where it has a closed form, else None."""
    one = axes[0] if len(axes) == 1 else None
    if isinstance(one, UniformOperator) and one.has_closed_inverse and np.ptp(one.off) == 0:
        return fill_to_the_boundary(shares, off=float(one.off[0]), difference=float(one.d[0]))
    if isinstance(one, GroupOperator):
        return closed_form_of_branches(one, shares)
    if any(axis.shape[0] != axis.shape[1] for axis in axes):
        return None
    try:
        p = along_axes([axis.right_inverse().apply for axis in axes], shares)
    except NotIdentifiable:
        return None
    return np.asarray(p / p.sum()) if (p >= 0).all() else None


def closed_form_of_branches(axis: GroupOperator, shares: Floats) -> Floats | None:
    """Return what all branches give together, where it is the maximiser.

    One branch that tells margins as a randomised response does has the finite algorithm.
    """
    own = uniform_places(axis.dense())
    if own is not None and not shares[-1]:
        M = axis.dense()
        off, stay = float(M[0, own[1]]), float(M[0, own[0]])
        return fill_to_the_boundary(shares[own], off=off, difference=stay - off)
    p = axis.right_inverse().apply(shares)
    inside = (p >= 0).all() and p.sum() > 0
    if not inside or optimality_gap([axis], p / p.sum(), counts=shares) > TOLERANCE:
        return None
    return np.asarray(p / p.sum())


def uniform_places(M: Floats) -> Integers | None:
    """Return where each category stays, if all stay alike and move alike, and none falls silent."""
    S = len(M)
    if M.shape[1] != S + 1 or M[:, -1].any() or S < 2:
        return None
    own = M.argmax(axis=1)
    off = M[0, own[1]]
    even = np.full((S, S), off)
    even[np.arange(S), own] = M[0, own[0]]
    alike = np.abs(even - M[:, :-1]).max() <= 1e-15
    return own if alike and M[0, own[0]] > off > 0 else None


def fill_to_the_boundary(shares: Floats, *, off: float, difference: float) -> Floats:
    r"""Return the p that maximises :math:`\sum_z \hat c_z \log(t + d\,p_z)` on the simplex.

    Here :math:`t` is the probability of each other value and :math:`d` = keep − off, not zero. The
    conditions for the maximum are :math:`d\,\hat c_z/(t + d p_z) \le \lambda`, with equality where
    :math:`p_z > 0`. So on the support the released law is proportional to the shares, and
    it is t elsewhere:

    .. math:: t + d\,p_z = \hat c_z \frac{1 - (S-k)\,t}{C_k}, \qquad
              C_k = \sum_{z \in \text{support}} \hat c_z .

    For d > 0 the support is the k largest shares (for d < 0 the k smallest). The right k is the
    largest for which the last one taken is still positive: taking z in changes
    :math:`\lambda` by a mean with :math:`d \hat c_z/t`, so once a share is too small all later ones
    are.
    """
    order = np.argsort(-shares if difference > 0 else shares, kind="stable")
    ordered = shares[order]
    k = np.arange(1, len(shares) + 1)
    room = 1 - (len(shares) - k) * off
    mass = np.cumsum(ordered)
    taken = (ordered * room - off * mass) * np.sign(difference) > 0
    taken[0] |= not taken.any()
    last = int(np.flatnonzero(taken)[-1])
    p = np.zeros_like(shares)
    scale = room[last] / mass[last] if mass[last] > 0 else 0.0
    p[order[: last + 1]] = (ordered[: last + 1] * scale - off) / difference
    np.maximum(p, 0.0, out=p)
    return np.asarray(p / p.sum())

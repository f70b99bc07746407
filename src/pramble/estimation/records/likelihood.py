r"""Maximum likelihood on the simplex, with a proven optimality gap.

.. math:: \max_{p \in \Delta} \; \ell(p) = \sum_z c_z \log (pM)_z .

**The certificate.** :math:`\ell` is concave with gradient
:math:`g_x = \sum_z M_{xz} c_z/(pM)_z`, and :math:`\sum_x p_x g_x = \sum_z c_z = n`. For every q in
the simplex :math:`\ell(q) \le \ell(p) + g\cdot(q-p) \le \ell(p) + \max_x g_x - n`, so

.. math:: \max \ell - \ell(p) \;\le\; \max_x g_x - n ,

whatever p is and however it was found. Every estimate carries this number.

**The nearest table.** Where the likelihood depends on columns that the table leaves out, the table
without negative cells that is nearest to the unbiased one takes its place,

.. math:: \min_{p \ge 0,\; \sum p = t} (p - \hat p)^\top V^{-1} (p - \hat p)

with the covariance V of the unbiased estimate: minimum chi-square, which is efficient as maximum
likelihood is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from pramble.errors import InvalidData, NotConverged, NotIdentifiable
from pramble.estimation.records.interior_point import interior_point
from pramble.estimation.records.moments import SecondMoments, right_inverses
from pramble.estimation.records.stacked import GroupOperator, StackedOperator
from pramble.estimation.records.tabulate import ReleasedSums
from pramble.information.consistent import nearest_on_simplex
from pramble.mechanisms.operators.base import (
    Axes,
    InvertibleOperator,
    Inverting,
    MechanismOperator,
    adjoint_axes,
    along_axes,
    apply_axes,
    category_shape,
)
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.values import Floats, frozen

# Largest gap per record, in nats, that a maximum may be left with.
TOLERANCE = 1e-9


@frozen(eq=False)
class Maximum:
    """A maximiser of the likelihood, the log-likelihood there, and the proven gap to the best."""

    p: Floats
    log_likelihood: float
    gap: float


def log_likelihood(axes: Axes, p: Floats, *, counts: Floats) -> float:
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(apply_axes(axes, p)[seen]))


def optimality_gap(axes: Axes, p: Floats, *, counts: Floats) -> float:
    r"""Return :math:`\max_x g_x - n`, a bound on how much likelihood p leaves."""
    released = apply_axes(axes, p)
    if not (released[counts > 0] > 0).all():
        return float("inf")
    scores = np.divide(counts, released, out=np.zeros_like(counts), where=counts > 0)
    return max(float(adjoint_axes(axes, scores).max() - counts.sum()), 0.0)


def maximise(axes: Axes, counts: Floats, *, tolerance: float = TOLERANCE) -> Maximum:
    """Return the maximum likelihood estimate for one group of counts.

    The inverse, when it lies in the simplex; else the finite algorithm for randomised
    response; else an interior point method that ends on an exact face.
    """
    n = float(counts.sum())
    shares = counts / n
    refuse_unreachable(axes, counts)
    p = closed_form_maximum(axes, shares)
    if p is None:
        p = interior_point(axes, shares, tolerance=tolerance)
    gap = optimality_gap(axes, p, counts=counts)
    if not gap <= max(tolerance, 1e-13 * max(category_shape(axes))) * n:
        raise NotConverged(
            f"The likelihood must be maximised within {tolerance:g} nats per record; the fit "
            f"stopped at {gap / n:.3g}. The mechanism may be close to singular."
        )
    return Maximum(p, log_likelihood(axes, p, counts=counts), gap)


def refuse_unreachable(axes: Axes, counts: Floats) -> None:
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


def closed_form_maximum(axes: Axes, shares: Floats) -> Floats | None:
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

    One branch that gives margins as a randomised response does has the finite algorithm: all
    categories stay alike and move alike, and none falls silent.
    """
    M, S = axis.dense(), axis.shape[0]
    if M.shape[1] == S + 1 and S > 1 and not M[:, -1].any() and not shares[-1]:
        places = M.argmax(axis=1)
        off, stay = float(M[0, places[1]]), float(M[0, places[0]])
        even = np.full((S, S), off)
        even[np.arange(S), places] = stay
        if np.abs(even - M[:, :-1]).max() <= 1e-15 and stay > off > 0:
            return fill_to_the_boundary(shares[places], off=off, difference=stay - off)
    p = axis.right_inverse().apply(shares)
    inside = (p >= 0).all() and p.sum() > 0
    if not inside or optimality_gap([axis], p / p.sum(), counts=shares) > TOLERANCE:
        return None
    return np.asarray(p / p.sum())


def fill_to_the_boundary(shares: Floats, *, off: float, difference: float) -> Floats:
    r"""Return the p that maximises :math:`\sum_z \hat c_z \log(t + d\,p_z)` on the simplex.

    Here :math:`t` is the probability of each other value and :math:`d` = keep − off, not zero. The
    conditions for the maximum are :math:`d\,\hat c_z/(t + d p_z) \le \lambda`, with equality where
    :math:`p_z > 0`. So on the support the released distribution is proportional to the shares, and
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


# Cells above which nearness is plain distance: the weighted problem takes their cube.
MOST_WEIGHED = 600

# The share of the largest variance below which a direction is exact, and how much heavier than any
# other row the one is that holds the sum.
ESTIMABLE, HEAVY = 1e-9, 1e4


def nearest_inside(p: Floats, covariance: Floats) -> Floats:
    """Return the nearest cells without negative ones, with the same sum.

    >>> nearest_inside(np.array([0.7, 0.4, -0.1]), np.diag([1e-4, 1e-2, 1e-4])).round(3)
    array([0.699, 0.301, 0.   ])
    """
    from scipy.optimize import nnls

    total = float(p.sum())
    if (p >= 0).all() or total <= 0:
        return np.asarray(np.maximum(p, 0.0))
    if len(p) > MOST_WEIGHED:
        return nearest_on_simplex(p, total=total)
    values, vectors = np.linalg.eigh(covariance)
    used = values > ESTIMABLE * values[-1]
    if not used.any():
        return nearest_on_simplex(p, total=total)
    A = vectors[:, used].T / np.sqrt(values[used])[:, None]
    heavy = HEAVY * np.sqrt(1 / values[used].min())
    rows = np.vstack([A, np.full(len(p), heavy)])
    try:
        found, _ = nnls(rows, np.append(A @ p, heavy * total))
    except RuntimeError:  # it did not end within its number of steps
        return nearest_on_simplex(p, total=total)
    return np.asarray(found * (total / found.sum()))


@frozen(eq=False)
class FittedTable:
    """Probabilities (R, S1, …, Sk) with the released distribution that belongs to them.

    ``log_likelihood`` and ``gap`` are those of ``counts``.
    """

    p: Floats
    released: Floats
    log_likelihood: float
    gap: float
    counts: Floats

    @property
    def stated(self) -> dict[str, float]:
        """What an estimate states of the fit."""
        return {"log_likelihood": self.log_likelihood, "gap": self.gap}


def fit_table(tabulated: ReleasedSums, *, method: str) -> FittedTable:
    """Return the fit of a table, by way of a finer one where there is one."""
    if method == "mle" and tabulated.finer is not None:
        operator, counts = tabulated.finer
        try:
            fine = maximum_likelihood((operator,), counts)
        except NotConverged:  # the finer table need not be told
            return by_chi_square(tabulated)
        p = fine.p.reshape(len(counts), tabulated.layout.size, -1).sum(axis=-1)
        return replace(fine, p=p, released=apply_axes(tabulated.axes, p))
    if method == "mle" and any(isinstance(a, StackedOperator) and not a.is_exact
                               for a in tabulated.axes):  # fmt: skip
        return by_chi_square(tabulated)
    fit = maximum_likelihood if method == "mle" else by_inverse
    return fit(tabulated.axes, tabulated.counts)


def by_chi_square(tabulated: ReleasedSums) -> FittedTable:
    """Return the nearest table without negative cells to the unbiased one, group by group.

    It takes the place of the likelihood where that depends on columns beside the table.
    """
    axes, counts = tabulated.axes, tabulated.counts
    unbiased = by_inverse(axes, counts)
    p = unbiased.p.reshape(len(counts), -1)
    moments = inverse_moments(axes, counts, sampling=1.0)
    inside = [
        nearest_inside(own, covariance)
        for own, covariance in zip(p, moments.of_groups(), strict=True)
    ]
    whole = np.array(inside).reshape(unbiased.p.shape)
    return replace(unbiased, p=whole / max(whole.sum(), 1e-300))


def by_inverse(axes: Sequence[Inverting], counts: Floats) -> FittedTable:
    shares = counts / counts.sum()
    p = along_axes([inverse.apply for inverse in right_inverses(axes)], shares)
    return FittedTable(p, shares, float("nan"), float("nan"), counts)


def inverse_moments(axes: Sequence[Inverting], counts: Floats, *, sampling: float) -> SecondMoments:
    fitted = by_inverse(axes, counts)
    squares = fitted.released / counts.sum()
    return SecondMoments(
        tuple(axes), right_inverses(axes), fitted.p, fitted.released, squares, sampling
    )


def maximum_likelihood(axes: Sequence[Inverting], counts: Floats) -> FittedTable:
    r"""Return the maximum likelihood estimate of all cells.

    An untouched column is observed as it is, so the likelihood falls apart: a group's total
    is its count, and within a group the likelihood is that of its own counts. The gaps add.
    """
    n = counts.sum()
    p = np.zeros((len(counts), *category_shape(axes)))
    value = gap = 0.0
    for group, own in enumerate(counts):
        total = own.sum()
        if not total:
            continue
        p[group] = total / n
        value += total * np.log(total / n)
        if axes:
            best = maximise(axes_of_group(axes, group), own)
            p[group] = best.p * (total / n)
            value, gap = value + best.log_likelihood, gap + best.gap
    return FittedTable(p, apply_axes(axes, p), float(value), gap, counts)


def axes_of_group(axes: Sequence[Inverting], group: int) -> list[InvertibleOperator]:
    return [
        axis.of_group(group)
        if isinstance(axis, StackedOperator)
        else cast("InvertibleOperator", axis)
        for axis in axes
    ]

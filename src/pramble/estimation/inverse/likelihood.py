r"""Maximum likelihood on the simplex, with a proven optimality gap.

.. math:: \max_{p \in \Delta} \; \ell(p) = \sum_z c_z \log (pM)_z .

**The certificate.** :math:`\ell` is concave with gradient
:math:`g_x = \sum_z M_{xz} c_z/(pM)_z`, and :math:`\sum_x p_x g_x = \sum_z c_z = n`. For every q in
the simplex :math:`\ell(q) \le \ell(p) + g\cdot(q-p) \le \ell(p) + \max_x g_x - n`, so

.. math:: \max \ell - \ell(p) \;\le\; \max_x g_x - n ,

whatever p is and however it was found. Every estimate carries this number.

**The interior point method.** With shares :math:`\hat c` summing to one, the maximiser is the
minimiser of

.. math:: F(p) = \sum_x p_x - \sum_z \hat c_z \log (pM)_z \quad\text{over } p \ge 0 ,

for at that minimiser :math:`\sum_x p_x = \sum_x p_x g_x = 1`. Its conditions are
:math:`1 - g = s`, :math:`p_x s_x = 0`, :math:`p, s \ge 0`; Mehrotra's predictor and corrector
follow :math:`p_x s_x = \mu \to 0`. As soon as the face is recognised, Newton's method on that face
ends it with exact zeros.

Every step solves :math:`(M W M^\top + E)\,x = r` with diagonal W and E, where an infinite entry of
E fixes that coordinate of x at zero. Uniform rows are solved in O(S) by the Woodbury identity,
small tables by a Cholesky factor of a matrix contracted axis by axis, and large tables by conjugate
gradients that never build a matrix.

**The nearest table.** Where the likelihood depends on columns that the table leaves out, the table
without negative cells that is nearest to the unbiased one takes its place,

.. math:: \min_{p \ge 0,\; \sum p = t} (p - \hat p)^\top V^{-1} (p - \hat p)

with the covariance V of the unbiased estimate: minimum chi-square, which is efficient as maximum
likelihood is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from pramble.errors import InvalidData, NotConverged, NotIdentifiable
from pramble.estimation.inverse.moments import SecondMoments, right_inverses
from pramble.estimation.inverse.stacked import GroupOperator, StackedOperator
from pramble.estimation.inverse.tabulate import Tabulated
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
from pramble.values import Floats, value

Solve = Callable[[Floats], Floats]

# Cells up to which a factor of the normal matrix is taken; it costs their cube.
LARGEST_DENSE = 2500


def normal_solver(axes: Axes, w: Floats, *, ridge: Floats) -> Solve:
    one = axes[0] if len(axes) == 1 else None
    if isinstance(one, UniformOperator) and one.has_closed_inverse:
        return woodbury(one, w, ridge=ridge)
    if math.prod(category_shape(axes)) <= LARGEST_DENSE:
        return cholesky(axes, w, ridge=ridge)
    return conjugate_gradients(axes, w, ridge=ridge)


def woodbury(axis: UniformOperator, w: Floats, *, ridge: Floats) -> Solve:
    r"""Solve for uniform rows, where the matrix is a diagonal plus a matrix of rank two.

    .. math:: M W M^\top = \operatorname{diag}(d^2 w) + U C U^\top, \quad
              U = [\mathrm{off},\, d w], \quad C^{-1} = \begin{pmatrix} 0 & 1 \\ 1 & -\sum w
              \end{pmatrix}.
    """
    with np.errstate(divide="ignore"):
        scale = 1 / (axis.d**2 * w + ridge)
    U = np.column_stack([axis.off, axis.d * w])
    core = np.array([[0.0, 1.0], [1.0, -w.sum()]]) + U.T @ (scale[:, None] * U)

    def once(r: Floats) -> Floats:
        return np.asarray(scale * (r - U @ np.linalg.solve(core, U.T @ (scale * r))))

    free = np.isfinite(ridge)
    held = np.where(free, ridge, 0.0)

    def solve(r: Floats) -> Floats:
        x = once(r)
        residual = np.where(free, r - axis.adjoint(w * axis.apply(x)) - held * x, 0.0)
        return x + once(residual)

    return solve


def cholesky(axes: Axes, w: Floats, *, ridge: Floats) -> Solve:
    from scipy.linalg import cho_factor, cho_solve

    free = np.isfinite(ridge.ravel())
    H = gram(axes, w)
    if not free.all():
        H = H[np.ix_(free, free)]
    H[np.diag_indices_from(H)] += ridge.ravel()[free]
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def solve(r: Floats) -> Floats:
        x = np.zeros(r.size)
        x[free] = cho_solve(factor, r.ravel()[free], check_finite=False)
        return x.reshape(r.shape)

    return solve


def gram(axes: Axes, w: Floats) -> Floats:
    r"""Return :math:`M W M^\top`, contracted one axis at a time.

    On axis j the contraction is with :math:`K_j[(x, x'), z] = M_j[x,z]\,M_j[x',z]`, so the cost is
    that of the result times one axis, and the Kronecker product is never built.
    """
    if len(axes) == 1:
        M = axes[0].dense()
        return np.asarray((M * w) @ M.T)
    K = w
    for axis in axes:
        M = axis.dense()
        pairs = (M[:, None, :] * M[None, :, :]).reshape(-1, M.shape[1])
        K = np.tensordot(K, pairs, axes=(0, 1))
    S = category_shape(axes)
    K = K.reshape([size for s in S for size in (s, s)])
    rows, columns = range(0, 2 * len(S), 2), range(1, 2 * len(S), 2)
    cells = math.prod(S)
    return np.ascontiguousarray(K.transpose([*rows, *columns]).reshape(cells, cells))


def conjugate_gradients(axes: Axes, w: Floats, *, ridge: Floats) -> Solve:
    free = np.isfinite(ridge)
    held = np.where(free, ridge, 0.0)
    squares = [axis.entrywise(np.square).adjoint for axis in axes]
    diagonal = np.where(free, along_axes(squares, w) + held, np.inf)

    def solve(r: Floats) -> Floats:
        x = np.zeros_like(r)
        residual = np.where(free, r, 0.0)
        z = residual / diagonal
        direction, product = z, float((residual * z).sum())
        target = 1e-20 * product
        for _ in range(500):
            if not product > target:
                break
            image = adjoint_axes(axes, w * apply_axes(axes, direction)) + held * direction
            image = np.where(free, image, 0.0)
            step = product / float((direction * image).sum())
            x = x + step * direction
            residual = residual - step * image
            z = residual / diagonal
            fresh = float((residual * z).sum())
            direction, product = z + fresh / product * direction, fresh
        return x

    return solve


# Steps of the interior point method; a few dozen do.
MOST_STEPS = 200

# The gap below which a face that two steps agree on is tried, and the Newton steps on it, which
# converge quadratically where it is the right one.
TRY_THE_FACE_BELOW, FACE_STEPS = 1e-2, 8

# The part of the way to the boundary that a step may take.
KEEP_FROM_BOUNDARY = 0.99


def interior_point(axes: Axes, shares: Floats, *, tolerance: float) -> Floats:
    """Return p within ``tolerance`` of the maximum, with exact zeros where the face is found."""
    cells = int(np.prod(category_shape(axes)))
    p = np.full(category_shape(axes), 1 / cells)
    s = np.ones_like(p)
    best, least = p, np.inf
    support = np.zeros(p.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        released = apply_axes(axes, p)
        g = adjoint_axes(axes, ratio(shares, released))
        gap = float((g * p.sum()).max() - 1)
        if gap < least:
            best, least = p / p.sum(), gap
        is_steady, support = np.array_equal(support, p > s), p > s
        if is_steady and gap < TRY_THE_FACE_BELOW:
            face = newton_on_face(axes, shares, start=np.where(support, p, 0.0))
            if face is not None:
                return face
        if gap < tolerance * 1e-3:
            break
        try:
            p, s = predictor_corrector(axes, p, s, shares=shares, released=released, g=g)
        except np.linalg.LinAlgError:
            break
    return best


def ratio(shares: Floats, released: Floats) -> Floats:
    """Return shares / law, zero where nothing was counted."""
    return np.divide(shares, released, out=np.zeros_like(shares), where=shares > 0)


def predictor_corrector(
    axes: Axes,
    p: Floats,
    s: Floats,
    *,
    shares: Floats,
    released: Floats,
    g: Floats,
) -> tuple[Floats, Floats]:
    solve = normal_solver(axes, ratio(ratio(shares, released), released), ridge=s / p)
    residual = 1 - g - s
    mu = float((p * s).mean())

    def step_for(complementarity: Floats) -> tuple[Floats, Floats]:
        dp = solve(complementarity / p - residual)
        return dp, (complementarity - s * dp) / p

    dp, ds = step_for(-p * s)
    length = min(longest(p, dp), longest(s, ds))
    predicted = float(((p + length * dp) * (s + length * ds)).mean())
    centre = mu * min((predicted / mu) ** 3, 1.0)
    dp, ds = step_for(centre - p * s - length**2 * dp * ds)
    length = KEEP_FROM_BOUNDARY * min(longest(p, dp), longest(s, ds))
    return p + length * dp, s + length * ds


def longest(x: Floats, dx: Floats) -> float:
    falling = dx < 0
    limit = 1 / KEEP_FROM_BOUNDARY
    return min(limit, float((-x[falling] / dx[falling]).min())) if falling.any() else limit


def newton_on_face(axes: Axes, shares: Floats, *, start: Floats) -> Floats | None:
    """Return the maximiser if it has the zeros of ``start``; None if it has not."""
    p = start
    ridge = np.where(p > 0, 0.0, np.inf)
    for _ in range(FACE_STEPS):
        released = apply_axes(axes, p)
        if not (released[shares > 0] > 0).all():
            return None
        g = adjoint_axes(axes, ratio(shares, released))
        slope = np.where(p > 0, g - 1, 0.0)
        if np.abs(slope).max() < 1e-13 * p.size:
            return p / p.sum() if (g - 1).max() < 1e-12 * p.size else None
        try:
            with np.errstate(all="ignore"):
                move = normal_solver(axes, ratio(ratio(shares, released), released), ridge=ridge)(
                    slope
                )
        except np.linalg.LinAlgError:
            return None
        p = p + move
        if not np.isfinite(p).all() or (p < 0).any():
            return None
    return None


# Largest gap per record, in nats, that a maximum may be left with.
TOLERANCE = 1e-9


@value(eq=False)
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
    return max(float(adjoint_axes(axes, ratio(counts, released)).max() - counts.sum()), 0.0)


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


@value(eq=False)
class FittedTable:
    """Probabilities (R, S1, …, Sk) with the released law that belongs to them.

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


def fit_table(tabulated: Tabulated, *, method: str) -> FittedTable:
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


def by_chi_square(tabulated: Tabulated) -> FittedTable:
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

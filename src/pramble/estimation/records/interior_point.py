r"""The interior point method that maximises a likelihood on the simplex.

With shares :math:`\hat c` summing to one, the maximiser is the minimiser of

.. math:: F(p) = \sum_x p_x - \sum_z \hat c_z \log (pM)_z \quad\text{over } p \ge 0 ,

for at that minimiser :math:`\sum_x p_x = \sum_x p_x g_x = 1`. Its conditions are
:math:`1 - g = s`, :math:`p_x s_x = 0`, :math:`p, s \ge 0`; Mehrotra's predictor and corrector
follow :math:`p_x s_x = \mu \to 0`. As soon as the face is recognised, Newton's method on that face
ends it with exact zeros.

Every step solves :math:`(M W M^\top + E)\,x = r` with diagonal W and E, where an infinite entry of
E fixes that coordinate of x at zero. Uniform rows are solved in O(S) by the Woodbury identity,
small tables by a Cholesky factor of a matrix contracted axis by axis, and large tables by conjugate
gradients that never build a matrix.
"""

import math
from collections.abc import Callable

import numpy as np

from pramble.mechanisms.operators.base import (
    Axes,
    adjoint_axes,
    along_axes,
    apply_axes,
    category_shape,
)
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.values import Floats

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
    """Return shares / distribution, zero where nothing was counted."""
    return np.divide(shares, released, out=np.zeros_like(shares), where=shares > 0)


def predictor_corrector(
    axes: Axes, p: Floats, s: Floats, *, shares: Floats, released: Floats, g: Floats
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

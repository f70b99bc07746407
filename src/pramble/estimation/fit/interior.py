r"""A primal-dual interior point method for the likelihood on the simplex.

With shares :math:`\hat c` summing to one, the maximiser of :math:`\sum_z \hat c_z\log(pM)_z` on
the simplex is the minimiser of

.. math:: F(p) = \sum_x p_x - \sum_z \hat c_z \log (pM)_z \quad\text{over } p \ge 0 ,

for at that minimiser :math:`\sum_x p_x = \sum_x p_x g_x = 1`. Its conditions are
:math:`1 - g = s`, :math:`p_x s_x = 0`, :math:`p, s \ge 0`; Mehrotra's predictor and corrector
follow :math:`p_x s_x = \mu \to 0`. As soon as the face is recognised, Newton's method on that face
ends it with exact zeros.
"""

import numpy as np

from pramble.estimation.fit.normal import normal_solver
from pramble.mechanisms.operators.base import Axes, adjoint_axes, apply_axes, category_shape
from pramble.values import Floats

MOST_STEPS = 200
TRY_THE_FACE_BELOW = 1e-2
FACE_STEPS = 8
KEEP_FROM_BOUNDARY = 0.99


def interior_point(axes: Axes, shares: Floats, *, tolerance: float) -> Floats:
    """Return p within ``tolerance`` of the maximum, with exact zeros where the face is found."""
    cells = int(np.prod(category_shape(axes)))
    p = np.full(category_shape(axes), 1 / cells)
    s = np.ones_like(p)
    best, least = p, np.inf
    support = np.zeros(p.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        law = apply_axes(axes, p)
        g = adjoint_axes(axes, ratio(shares, law))
        gap = float((g * p.sum()).max() - 1)
        if gap < least:
            best, least = p / p.sum(), gap
        settled, support = np.array_equal(support, p > s), p > s
        if settled and gap < TRY_THE_FACE_BELOW:
            face = newton_on_face(axes, shares, start=np.where(support, p, 0.0))
            if face is not None:
                return face
        if gap < tolerance * 1e-3:
            break
        try:
            p, s = step(axes, p, s, shares=shares, law=law, g=g)
        except np.linalg.LinAlgError:
            break
    return best


def ratio(shares: Floats, law: Floats) -> Floats:
    """Return shares / law, zero where nothing was counted."""
    return np.divide(shares, law, out=np.zeros_like(shares), where=shares > 0)


def step(
    axes: Axes,
    p: Floats,
    s: Floats,
    *,
    shares: Floats,
    law: Floats,
    g: Floats,
) -> tuple[Floats, Floats]:
    """Return p and s after one predictor and corrector step."""
    solve = normal_solver(axes, ratio(ratio(shares, law), law), ridge=s / p)
    residual = 1 - g - s
    mu = float((p * s).mean())

    def towards(complementarity: Floats) -> tuple[Floats, Floats]:
        dp = solve(complementarity / p - residual)
        return dp, (complementarity - s * dp) / p

    dp, ds = towards(-p * s)
    length = min(longest(p, dp), longest(s, ds))
    predicted = float(((p + length * dp) * (s + length * ds)).mean())
    centre = mu * min((predicted / mu) ** 3, 1.0)
    dp, ds = towards(centre - p * s - length**2 * dp * ds)
    length = KEEP_FROM_BOUNDARY * min(longest(p, dp), longest(s, ds))
    return p + length * dp, s + length * ds


def longest(x: Floats, dx: Floats) -> float:
    """Return the longest step, at most 1 / 0.99, that keeps x non-negative."""
    falling = dx < 0
    limit = 1 / KEEP_FROM_BOUNDARY
    return min(limit, float((-x[falling] / dx[falling]).min())) if falling.any() else limit


def newton_on_face(axes: Axes, shares: Floats, *, start: Floats) -> Floats | None:
    """Return the maximiser if it has the zeros of ``start``; None if it has not."""
    p = start
    ridge = np.where(p > 0, 0.0, np.inf)
    for _ in range(FACE_STEPS):
        law = apply_axes(axes, p)
        if not (law[shares > 0] > 0).all():
            return None
        g = adjoint_axes(axes, ratio(shares, law))
        slope = np.where(p > 0, g - 1, 0.0)
        if np.abs(slope).max() < 1e-13 * p.size:
            return p / p.sum() if (g - 1).max() < 1e-12 * p.size else None
        try:
            with np.errstate(all="ignore"):
                move = normal_solver(axes, ratio(ratio(shares, law), law), ridge=ridge)(slope)
        except np.linalg.LinAlgError:
            return None
        p = p + move
        if not np.isfinite(p).all() or (p < 0).any():
            return None
    return None

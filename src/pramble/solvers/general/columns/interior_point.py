r"""The A-optimal mixture of given columns, by a primal-dual interior-point method.

The convex :math:`f(\theta)` of :mod:`~pramble.solvers.general.variance` is minimised subject to
:math:`\sum_j \theta_j s_j = 1` and θ ≥ 0, and, if asked, to
:math:`\sum_j \theta_j \mu_j \ge \text{floor}`.
"""

from dataclasses import dataclass

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.variance import Variance
from pramble.values import Floats

MOST_ROUNDS = 80
TO_THE_WALL = 0.98
MOST_ALONE = 600


@dataclass(frozen=True)
class Optimum:
    """θ, the prices λ of the equations, the variance f, and the gradient matrix in S dimensions."""

    theta: Floats
    prices: Floats
    variance: float
    gradient: Floats


def optimal_mixture(
    patterns: Floats,
    variance: Variance,
    *,
    tolerance: float,
    gains: Floats | None = None,
    floor: float = 0.0,
    budget: SearchBudget,
    finish: bool = False,
) -> Optimum:
    r"""Minimise f over mixtures of the patterns (rows), to a relative tolerance.

    Every round solves the Newton equations of :math:`\nabla f - E\lambda = z`,
    :math:`E^\top\theta = b`, :math:`\theta_j z_j = \mu`, then lowers μ. The equations
    :math:`\sum_j\theta_j s_j = 1` are taken in a basis in which they stay apart however small α:
    their mean, and :math:`\sum_j\theta_j B^\top(s_j - 1)/(a-1) = 0`. With ``gains`` there is one
    more row, their sum, and a column for what exceeds the ``floor``. Where the budget runs out the
    equations need not hold, unless it is to ``finish`` all the same.
    """
    scores, S = variance.scores(patterns), patterns.shape[1]
    a1 = float(patterns.max()) - 1
    apart = (patterns - 1) @ variance.basis / a1
    equations, right = np.column_stack([patterns.mean(axis=1), apart]), np.eye(1, S)[0]
    if gains is not None:
        equations = np.vstack([equations, np.zeros(S)])
        last = np.append(gains / floor, -1.0)
        equations, right = np.column_stack([equations, last]), np.append(right, 1.0)
        scores = np.vstack([scores, np.zeros(scores.shape[1])])
    theta, prices = _interior_point(
        scores, equations, right, variance, tolerance=tolerance, budget=budget, finish=finish
    )
    inverse = variance.inverse(scores, theta)
    middle = inverse @ variance.cost
    count = len(patterns)
    return Optimum(
        theta[:count],
        prices[0] / S + variance.basis @ prices[1:S] / a1,
        float(np.trace(middle)),
        variance.gradient(middle @ inverse),
    )


def _interior_point(
    scores: Floats,
    equations: Floats,
    right: Floats,
    variance: Variance,
    *,
    tolerance: float,
    budget: SearchBudget,
    finish: bool,
) -> tuple[Floats, Floats]:
    """Return θ and λ at the optimum, or as near to it as floats come."""
    N, rows = equations.shape
    theta = np.full(N, 1 / equations[:, 0].mean() / N)
    value, inverse, middle = variance.at(scores, theta)
    slack = np.full(N, value / theta.sum())
    prices = -value * np.eye(1, rows)[0]
    for _ in range(MOST_ROUNDS):
        if budget.is_over() and not finish:
            break
        budget.spend(N * N * (N / 6 + 2 * rows) + 3e5)
        side = scores @ middle
        slope = -np.einsum("ij,ij->i", side, scores)
        gap = float(theta @ slack)
        off = right - equations.T @ theta
        reduced = slope - equations @ prices
        violated = -float(reduced.min())
        if max(gap, violated) <= tolerance * value and np.abs(off).max() < 1e-11:
            break
        target = (0.1 if violated <= gap else 1.0) * gap / N
        pull = np.column_stack([target / theta - reduced, equations])
        try:
            solved = _newton(scores @ inverse, side, scores, slack / theta, pull)
            schur = equations.T @ solved[:, 1:]
            step_prices = np.linalg.solve(schur, off - equations.T @ solved[:, 0])
            step = solved[:, 0] + solved[:, 1:] @ step_prices
            step_slack = (target - slack * step) / theta - slack
            length, length_slack = _reach(theta, step), _reach(slack, step_slack)
            value, inverse, middle = variance.at(scores, theta + length * step)
        except np.linalg.LinAlgError:
            break
        theta = theta + length * step
        slack = slack + length_slack * step_slack
        prices = prices + length_slack * step_prices
    return theta, -prices


def _reach(point: Floats, step: Floats) -> float:
    """Return how far a step may go before something turns negative, at most 1."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return min(1.0, float(TO_THE_WALL * (point[falling] / -step[falling]).min()))


def _newton(left: Floats, side: Floats, scores: Floats, diagonal: Floats, right: Floats) -> Floats:
    """Solve Newton's equations; see :func:`~.newton.newton`."""
    from pramble.solvers.general.columns.newton import newton

    if len(scores) <= MOST_ALONE:
        positive, solved = newton(left, side, scores, diagonal, right)
        if positive:
            return solved
    hessian = 2 * (left @ scores.T) * (side @ scores.T)
    hessian[np.diag_indices(len(scores))] += diagonal
    return np.asarray(np.linalg.solve(hessian, right))

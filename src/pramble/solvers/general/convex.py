r"""The A-optimal mixture of given columns, by a primal-dual interior-point method.

With :math:`t_j = B^\top s_j/\sqrt{p\cdot s_j}` and B an orthonormal basis of the directions that
sum to zero, the Fisher information :math:`K(\theta) = \sum_j \theta_j t_j t_j^\top` is linear in θ
and the variance of the queries W,

.. math:: f(\theta) = \operatorname{tr}\big(C K(\theta)^{-1}\big), \qquad C = B^\top W^\top W B,

is convex. It is minimised subject to :math:`\sum_j \theta_j s_j = 1` and θ ≥ 0, and, if asked, to
:math:`\sum_j \theta_j \mu_j \ge \text{floor}`.
"""

from dataclasses import dataclass

import numpy as np

from pramble.values import Floats

MOST_ROUNDS = 80
TO_THE_WALL = 0.98


@dataclass(frozen=True)
class Optimum:
    """θ, the prices λ of the equations, the variance f, and the gradient matrix in S dimensions."""

    theta: Floats
    prices: Floats
    variance: float
    gradient: Floats


class Variance:
    r"""The function f: how the variance of the queries depends on the columns' weights."""

    def __init__(self, prior: Floats, workload: Floats | None) -> None:
        S = len(prior)
        self.prior = prior
        self.basis = np.linalg.svd(np.ones((1, S)))[2][1:].T
        queries = np.eye(S) if workload is None else workload
        spread = queries @ self.basis
        self.cost = spread.T @ spread

    def scores(self, patterns: Floats) -> Floats:
        """Return the vectors t of some patterns s, both as rows."""
        return np.asarray((patterns @ self.basis) / np.sqrt(patterns @ self.prior)[:, None])

    def at(self, scores: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
        r"""Return f, :math:`K^{-1}` and :math:`K^{-1} C K^{-1}`."""
        inverse = np.linalg.inv((scores * theta[:, None]).T @ scores)
        inverse = (inverse + inverse.T) / 2
        middle = inverse @ self.cost
        return float(np.trace(middle)), inverse, middle @ inverse

    def gradient(self, middle: Floats) -> Floats:
        """Return the gradient matrix on all S coordinates."""
        return np.asarray(self.basis @ middle @ self.basis.T)


def optimal_mixture(
    patterns: Floats,
    variance: Variance,
    *,
    tolerance: float,
    gains: Floats | None = None,
    floor: float = 0.0,
) -> Optimum:
    r"""Minimise f over mixtures of the patterns (rows), to a relative tolerance.

    Every round solves the Newton equations of :math:`\nabla f - E\lambda = z`,
    :math:`E^\top\theta = b`, :math:`\theta_j z_j = \mu`, then lowers μ. With ``gains`` the
    equations have one more row, their sum, and a column for what exceeds the ``floor``.
    """
    scores = variance.scores(patterns)
    equations, right = patterns, np.ones(patterns.shape[1])
    if gains is not None:
        equations = np.vstack([patterns, np.zeros(patterns.shape[1])])
        last = np.append(gains / floor, -1.0)
        equations, right = np.column_stack([equations, last]), np.append(right, 1.0)
        scores = np.vstack([scores, np.zeros(scores.shape[1])])
    theta, prices, value, middle = _interior_point(
        scores, equations, right, variance, tolerance=tolerance
    )
    count = len(patterns)
    return Optimum(theta[:count], prices[: patterns.shape[1]], value, variance.gradient(middle))


def _interior_point(
    scores: Floats, equations: Floats, right: Floats, variance: Variance, *, tolerance: float
) -> tuple[Floats, Floats, float, Floats]:
    """Return θ, λ, f and the gradient matrix at the optimum."""
    N, rows = equations.shape
    theta = np.full(N, 1 / equations[:, 0].mean() / N)
    value, inverse, middle = variance.at(scores, theta)
    slack = np.full(N, value / theta.sum())
    prices = np.full(rows, -value / rows)
    for _ in range(MOST_ROUNDS):
        side = scores @ middle
        slope = -np.einsum("ij,ij->i", side, scores)
        gap = float(theta @ slack)
        off = right - equations.T @ theta
        if gap <= tolerance * value and np.abs(off).max() < 1e-11:
            break
        target = 0.1 * gap / N
        hessian = 2 * (scores @ inverse @ scores.T) * (side @ scores.T)
        hessian[np.diag_indices(N)] += slack / theta
        pull = target / theta - (slope - equations @ prices)
        solved = np.linalg.solve(hessian, np.column_stack([pull, equations]))
        schur = equations.T @ solved[:, 1:]
        step_prices = np.linalg.solve(schur, off - equations.T @ solved[:, 0])
        step = solved[:, 0] + solved[:, 1:] @ step_prices
        step_slack = (target - slack * step) / theta - slack
        length, length_slack = _reach(theta, step), _reach(slack, step_slack)
        theta = theta + length * step
        slack = slack + length_slack * step_slack
        prices = prices + length_slack * step_prices
        value, inverse, middle = variance.at(scores, theta)
    return theta, -prices, value, middle


def _reach(point: Floats, step: Floats) -> float:
    """Return how far a step may go before something turns negative, at most 1."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return min(1.0, float(TO_THE_WALL * (point[falling] / -step[falling]).min()))

r"""How the variance of linear queries depends on the columns of a mechanism.

With :math:`t_j = B^\top s_j/\sqrt{p\cdot s_j}` and B an orthonormal basis of the directions that
sum to zero, the Fisher information :math:`K(\theta) = \sum_j \theta_j t_j t_j^\top` is linear in θ
and the variance of the queries W,

.. math:: f(\theta) = \operatorname{tr}\big(C K(\theta)^{-1}\big), \qquad C = B^\top W^\top W B,

is convex. Where the queries leave some directions out, C is singular; a small multiple of the
identity is added to it in the search, so that K stays regular.

The A-optimal mixture of given columns, by a primal-dual interior-point method.

The convex :math:`f(\theta)` is minimised subject to :math:`\sum_j \theta_j s_j = 1` and θ ≥ 0.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramble.information.fisher import estimation_variance
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.dense import DenseOperator
from pramble.solvers.budget import SearchBudget
from pramble.values import Floats

RIDGE = 1e-9


class Variance:
    """The function f for a prior and a workload, all shares by default."""

    def __init__(self, prior: Floats, workload: Floats | None) -> None:
        S = len(prior)
        self.prior = prior
        self.basis = np.linalg.svd(np.ones((1, S)))[2][1:].T
        queries = np.eye(S) if workload is None else workload
        spread = queries @ self.basis
        self.cost = spread.T @ spread
        values = np.linalg.eigvalsh(self.cost)
        self.rank = int((values > 1e-12 * max(values.max(), 1e-300)).sum())
        lacking = self.rank < S - 1
        self.ridged = self.cost + RIDGE * values.mean() * np.eye(S - 1) if lacking else self.cost

    @cached_property
    def root(self) -> Floats:
        values, vectors = np.linalg.eigh(self.cost)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)

    def scores(self, patterns: Floats) -> Floats:
        """Return the vectors t of some patterns s, both as rows."""
        return np.asarray(((patterns - 1) @ self.basis) / np.sqrt(patterns @ self.prior)[:, None])

    def at(self, scores: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
        r"""Return f, :math:`K^{-1}` and :math:`K^{-1} C K^{-1}`, for the ridged C."""
        inverse = self.inverse(scores, theta)
        middle = inverse @ self.ridged
        return float(np.trace(middle)), inverse, middle @ inverse

    def inverse(self, scores: Floats, theta: Floats) -> Floats:
        inverse = np.linalg.inv((scores * theta[:, None]).T @ scores)
        return np.asarray((inverse + inverse.T) / 2)

    def gradient(self, middle: Floats) -> Floats:
        return np.asarray(self.basis @ middle @ self.basis.T)


def query_variance(prior: Floats, mechanism: Mechanism, workload: Floats | None) -> float:
    r"""Return :math:`n \operatorname{tr}(W \operatorname{Cov} W^\top)`; W = I by default."""
    if workload is None:
        return estimation_variance(prior, mechanism)
    return DenseOperator(mechanism).query_variance(prior, workload)


def observed_variance(prior: Floats, workload: Floats | None) -> float:
    r"""Return :math:`\operatorname{tr}(W(\operatorname{diag} p - pp^\top)W^\top)`.

    That is the variance when X itself is seen, which no mechanism can beat; rounded down.
    """
    queries = np.eye(len(prior)) if workload is None else workload
    mean = queries @ prior
    return float((queries**2 @ prior).sum() - mean @ mean) * (1 - 1e-12)


MOST_ROUNDS = 80
TO_THE_WALL = 0.98


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
    budget: SearchBudget,
    finish: bool = False,
) -> Optimum:
    r"""Minimise f over mixtures of the patterns (rows), to a relative tolerance.

    Every round solves the Newton equations of :math:`\nabla f - E\lambda = z`,
    :math:`E^\top\theta = b`, :math:`\theta_j z_j = \mu`, then lowers μ. The equations
    :math:`\sum_j\theta_j s_j = 1` are taken in a basis in which they stay apart however small α:
    their mean, and :math:`\sum_j\theta_j B^\top(s_j - 1)/(a-1) = 0`. Where the budget runs out
    they need not hold, unless it is to ``finish`` all the same.
    """
    scores, S = variance.scores(patterns), patterns.shape[1]
    a1 = float(patterns.max()) - 1
    spread = (patterns - 1) @ variance.basis / a1
    equations, right = np.column_stack([patterns.mean(axis=1), spread]), np.eye(1, S)[0]
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
            # the Hessian of f is an entrywise product of two quadratic forms of the scores
            hessian = 2 * (scores @ inverse @ scores.T) * (side @ scores.T)
            hessian[np.diag_indices(N)] += slack / theta
            solved = np.linalg.solve(hessian, pull)
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
    inverse = variance.inverse(scores, theta)
    middle = inverse @ variance.cost
    return Optimum(
        theta,
        -(prices[0] / S + variance.basis @ prices[1:] / a1),
        float(np.trace(middle)),
        variance.gradient(middle @ inverse),
    )


def _reach(point: Floats, step: Floats) -> float:
    """Return how far a step may go before something turns negative, at most 1."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return min(1.0, float(TO_THE_WALL * (point[falling] / -step[falling]).min()))


MEMORY = 20
PATIENCE = 15
FIRST_STEP = 0.1

# Value and gradient; an infinite value outside the domain.
Objective = Callable[[Floats], tuple[float, Floats]]


def descend(
    objective: Objective,
    x: Floats,
    *,
    rounds: int,
    tolerance: float,
    budget: SearchBudget,
    operations: float,
) -> Floats:
    """Return where so many rounds lead, or where ``PATIENCE`` of them gain less than tolerance."""
    # operations is what the objective takes.
    value, slope = objective(x)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    values = [value]
    for _ in range(rounds):
        step = direction(slope, pairs)
        if step @ slope <= 0:
            pairs.clear()
            step = direction(slope, pairs)
        # a length that lowers the value enough, if there is one
        length, fall = 1.0, float(step @ slope)
        lower, after = objective(x - step)
        while not lower <= value - 1e-4 * length * fall and length > 1e-12:
            length *= 0.5 if np.isfinite(lower) else 0.25
            lower, after = objective(x - length * step)
        if length <= 1e-12:
            break
        value = lower
        pairs.append((-length * step, after - slope))
        if pairs[-1][0] @ pairs[-1][1] <= 0:
            pairs.pop()
        x, slope = x - length * step, after
        budget.spend((1 - math.log2(length)) * operations)
        values.append(value)
        if budget.is_over():
            break
        if len(values) > PATIENCE and values[-PATIENCE] - value < tolerance:
            break
    return x


def direction(slope: Floats, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the inverse Hessian times the slope, by the two loops of Nocedal (1980)."""
    step = slope.copy()
    if not pairs:
        return np.asarray(step * min(1.0, FIRST_STEP / np.abs(step).max()))
    shares = []
    for moved, bend in reversed(pairs):
        shares.append((moved @ step) / (moved @ bend))
        step -= shares[-1] * bend
    moved, bend = pairs[-1]
    step *= (moved @ bend) / (bend @ bend)
    for (moved, bend), share in zip(pairs, reversed(shares), strict=True):
        step += moved * (share - (bend @ step) / (moved @ bend))
    return step

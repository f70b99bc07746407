r"""The precisions for which the noisiest table has the least noise, and a bound that proves it.

For any weights :math:`\omega` of the tables that sum to one, the least weighted mean of their
variances is at most the least largest one, so that

.. math:: \max_{\lambda, \omega \in \Delta}
          \Big(\sum_A \sqrt{(C^\top\omega)_A (G^\top\lambda)_A}\Big)^2 / \mu^2

is a bound, with :math:`C_{TA}` the variance that one unit of noise in the part A gives a cell of
the table T. It is concave in both mixtures together.
"""

import math

import numpy as np

from pramble.mechanisms.table_plan import subsets
from pramble.solvers.tables.least_noise import (
    BARRIERS,
    NEARLY,
    NEWTON_STEPS,
    ROUNDS,
    SAFE,
    LeastNoise,
    PatternPool,
)
from pramble.solvers.tables.problem import TableProblem
from pramble.values import Clock, Floats


def least_largest(problem: TableProblem, clock: Clock, *, has_total: bool = False) -> LeastNoise:
    """Return the precisions with the least largest variance of a cell, at μ² = 1."""
    pool = PatternPool(problem.parts, has_total=has_total)
    costs = costs_of_cells(problem, has_total=has_total)
    shares, bound = np.full(len(costs), 1 / len(costs)), 0.0
    for _ in range(ROUNDS):
        pool.mixture, shares = best_mixtures(pool.gains, costs, pool.mixture, shares)
        weighted, asked = pool.gains.T @ pool.mixture, costs.T @ shares
        together = float(np.sqrt(asked * weighted).sum())
        bound = max(bound, together**2 * SAFE)
        u = np.sqrt(asked / weighted) / together
        u = u / float((pool.gains @ u).max())
        found = LeastNoise(u, float((costs @ (1 / u)).max()), bound)
        largest = pool.grow(found)
        clock.tell("designing tables", 1 / largest)
        if largest == 1.0:
            break
    return LeastNoise(found.precision, found.value, bound)


def best_mixtures(
    gains: Floats, costs: Floats, mixture: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    r"""Return the mixtures of patterns and of tables with the best bound, by Newton's method.

    Maximises :math:`2\sum_A \sqrt{(C^\top\omega)_A (G^\top\lambda)_A} - \sum_s \lambda_s` with a
    barrier for both, where the :math:`\omega_T` sum to one.
    """
    costs = costs / float(np.sqrt((costs.T @ shares) * (gains.T @ mixture)).sum()) ** 2
    ones = np.concatenate([np.zeros(len(mixture)), np.ones(len(shares))])
    point = np.concatenate([mixture / mixture.sum(), shares / shares.sum()])
    cut = len(mixture)
    for barrier in BARRIERS:
        tau = barrier * np.concatenate(
            [np.full(cut, 1 / cut), np.full(len(shares), 1 / len(shares))]
        )
        for _ in range(NEWTON_STEPS):
            b, a = gains.T @ point[:cut], costs.T @ point[cut:]
            roots = np.concatenate([gains @ np.sqrt(a / b), costs @ np.sqrt(b / a)])
            slope = roots + ones - 1 + tau / point
            scaled = np.concatenate([gains / b, -costs / a])
            bend = (scaled * (0.5 * np.sqrt(a * b))) @ scaled.T + np.diag(tau / point**2)
            step, across = np.linalg.solve(bend, np.stack([slope, ones], axis=1)).T
            step = step - across * (float(ones @ step) / float(ones @ across))
            size = min(1.0, 0.9 / max(float((-step / point).max()), 1e-300))
            point = point + size * step
            if float(np.abs(step / point).max()) < NEARLY:
                break
    return point[:cut] / point[:cut].sum(), point[cut:] / point[cut:].sum()


def costs_of_cells(problem: TableProblem, *, has_total: bool) -> Floats:
    """Return the weighted variance of a cell of each table, for each unit of noise in each kind.

    Tables with the same ones stand for each other.
    """
    sizes = {name: len(own) for name, own in problem.labels.items()}
    kind = {part: i for i, members in enumerate(problem.parts.members) for part in members}
    found = np.zeros((len(problem.tables), len(problem.parts.members) + int(has_total)))
    for row, (table, weight) in enumerate(
        zip(problem.tables, problem.weights.tolist(), strict=True)
    ):
        for part in subsets(table):
            if part or has_total:
                inside = math.prod(1 - 1 / sizes[name] for name in part)
                beside = math.prod(sizes[name] for name in table if name not in part)
                found[row, kind[part] if part else -1] += weight * inside / beside**2
    return np.unique(found, axis=0)

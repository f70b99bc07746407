"""The precisions for which the noisiest table has the least noise, and a bound that proves it."""

import math

import numpy as np

from pramble.mechanisms.table_plan import subsets
from pramble.solvers.tables.least_noise import ROUNDS, LeastNoise, PatternPool
from pramble.solvers.tables.problem import TableProblem
from pramble.values import Clock, Floats

STEPS, EVEN = 600, 2e-5
"""Weights of tables are changed until the largest variance is within this share of its bound."""


def least_largest(problem: TableProblem, clock: Clock) -> LeastNoise:
    """Return the precisions with the least largest variance of a cell, at μ² = 1.

    For any weights of the tables that sum to one, the least weighted mean of their variances is at
    most the least largest one. The weights of tables with more noise grow until the two meet.
    """
    pool, costs = PatternPool(problem.parts), costs_of_cells(problem)
    shares = np.full(len(problem.tables), 1 / len(problem.tables))
    for _ in range(ROUNDS):
        bound, best = 0.0, LeastNoise(np.zeros(0), math.inf, 0.0)
        for _ in range(STEPS):
            found = pool.best(shares @ costs)
            variances = costs @ (1 / found.precision)
            bound, largest = max(bound, found.bound), float(variances.max())
            if largest < best.value:
                best = LeastNoise(found.precision, largest, bound)
            if best.value <= bound * (1 + EVEN):
                break
            shares = shares * variances / float(shares @ variances)
        shift = pool.grow(best)
        clock.tell("designing tables", 1 / shift)
        if shift == 1.0:
            break
    return LeastNoise(best.precision, best.value, bound)


def costs_of_cells(problem: TableProblem) -> Floats:
    """Return the weighted variance of a cell of each table, for each unit of noise in each kind."""
    sizes = {name: len(own) for name, own in problem.labels.items()}
    kind = {part: i for i, members in enumerate(problem.parts.members) for part in members}
    found = np.zeros((len(problem.tables), len(problem.parts.members)))
    for row, (table, weight) in enumerate(
        zip(problem.tables, problem.weights.tolist(), strict=True)
    ):
        for part in subsets(table):
            if part:
                inside = math.prod(1 - 1 / sizes[name] for name in part)
                beside = math.prod(sizes[name] for name in table if name not in part)
                found[row, kind[part]] += weight * inside / beside**2
    return found

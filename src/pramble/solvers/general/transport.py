"""Transport plans: which column of a mechanism becomes which released value."""

from collections.abc import Iterator

import numpy as np

from pramble.solvers.general.master import Master
from pramble.values import Floats


def best_plan(gains: Floats, supply: Floats, demand: Floats) -> Floats:
    r"""Maximise :math:`\sum_{jz} F_{jz} g_{jz}` over plans F ≥ 0 with these row and column sums."""
    T, S = gains.shape
    rows, columns = np.divmod(np.arange(T * S), S)
    equations = np.zeros((T * S, T + S))
    equations[np.arange(T * S), rows] = 1
    equations[np.arange(T * S), T + columns] = 1
    master = Master(np.concatenate([supply, demand])[:-1])
    master.add(equations[:, :-1], gains.ravel())
    plan, _ = master.solve()
    return balanced(np.maximum(plan, 0.0).reshape(T, S), supply, demand)


def balanced(plan: Floats, supply: Floats, demand: Floats) -> Floats:
    """Return a plan whose sums are right to the last digits: a little independence is mixed in.

    What is missing from either side is added as a product, after scaling down what is too much.
    """
    plan = plan * np.minimum(supply / np.maximum(plan.sum(axis=1), 1e-300), 1.0)[:, None]
    plan = plan * np.minimum(demand / np.maximum(plan.sum(axis=0), 1e-300), 1.0)
    rows = np.maximum(supply - plan.sum(axis=1), 0.0)
    columns = np.maximum(demand - plan.sum(axis=0), 0.0)
    total = rows.sum()
    return plan + np.outer(rows, columns) / total if total > 0 else plan


def first_plans(matrix: Floats, prior: Floats) -> Iterator[Floats]:
    """Yield plans to start from: Bayes, the likeliest value, and two by order."""
    released = prior @ matrix
    yield released[:, None] * (matrix.T * prior / released[:, None])
    yield best_plan(matrix.T / released[:, None], released, prior)
    rng = np.random.default_rng(len(prior))
    for _ in range(2):
        yield corner_plan(released, prior, rng)


def corner_plan(supply: Floats, demand: Floats, rng: np.random.Generator) -> Floats:
    """Return the plan that serves columns and values in a random order, each until it is full."""
    rows, columns = rng.permutation(len(supply)), rng.permutation(len(demand))
    left, right = supply[rows].copy(), demand[columns].copy()
    plan = np.zeros((len(supply), len(demand)))
    i = j = 0
    while i < len(left) and j < len(right):
        moved = min(left[i], right[j])
        plan[rows[i], columns[j]] += moved
        left[i] -= moved
        right[j] -= moved
        if left[i] <= right[j]:
            i += 1
        else:
            j += 1
    return balanced(plan, supply, demand)

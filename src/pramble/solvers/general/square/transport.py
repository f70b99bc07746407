"""Couplings: which column of a mechanism becomes which released value."""

from collections.abc import Iterator

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.values import Floats


def best_coupling(
    gains: Floats, supply: Floats, demand: Floats, budget: SearchBudget
) -> Floats | None:
    r"""Maximise :math:`\sum_{jz} F_{jz} g_{jz}` over F ≥ 0 with these row and column sums.

    None when the budget was over.
    """
    T, S = gains.shape
    rows, columns = np.divmod(np.arange(T * S), S)
    equations = np.zeros((T * S, T + S))
    equations[np.arange(T * S), rows] = 1
    equations[np.arange(T * S), T + columns] = 1
    programme = LinearProgramme(np.concatenate([supply, demand])[:-1])
    programme.add(equations[:, :-1], gains.ravel())
    found = programme.solve(budget)
    if found is None:
        return None
    return balance(np.maximum(found[0], 0.0).reshape(T, S), supply, demand)


def balance(coupling: Floats, supply: Floats, demand: Floats) -> Floats:
    """Return a coupling whose sums are right to the last digits: a little independence is mixed in.

    What is missing from either side is added as a product, after scaling down what is too much.
    """
    scaled = coupling * np.minimum(supply / np.maximum(coupling.sum(axis=1), 1e-300), 1.0)[:, None]
    scaled = scaled * np.minimum(demand / np.maximum(scaled.sum(axis=0), 1e-300), 1.0)
    rows = np.maximum(supply - scaled.sum(axis=1), 0.0)
    columns = np.maximum(demand - scaled.sum(axis=0), 0.0)
    total = rows.sum()
    return np.asarray(scaled + np.outer(rows, columns) / total if total > 0 else scaled)


def first_couplings(matrix: Floats, prior: Floats, budget: SearchBudget) -> Iterator[Floats]:
    """Yield couplings to start from: Bayes, the likeliest value, and two by order."""
    released = prior @ matrix
    yield released[:, None] * (matrix.T * prior / released[:, None])
    likeliest = best_coupling(matrix.T / released[:, None], released, prior, budget)
    if likeliest is not None:
        yield likeliest
    rng = np.random.default_rng(len(prior))
    for _ in range(2):
        yield corner_coupling(released, prior, rng)


def corner_coupling(supply: Floats, demand: Floats, rng: np.random.Generator) -> Floats:
    """Return the coupling that fills columns and values in a random order, one after the other."""
    rows, columns = rng.permutation(len(supply)), rng.permutation(len(demand))
    left, right = supply[rows].copy(), demand[columns].copy()
    coupling = np.zeros((len(supply), len(demand)))
    i = j = 0
    while i < len(left) and j < len(right):
        moved = min(left[i], right[j])
        coupling[rows[i], columns[j]] += moved
        left[i] -= moved
        right[j] -= moved
        if left[i] <= right[j]:
            i += 1
        else:
            j += 1
    return balance(coupling, supply, demand)

"""Names for columns, and the exact mechanism that a float matrix becomes."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.patterns import response_matrix
from pramble.solvers.problem import Problem
from pramble.values import Floats, Integers

MOST_NAMED = 5000


def output_labels(outputs: Any, labels: Labels, used: int) -> Labels:
    """Return the labels of the outputs that were asked for, at least ``used`` of them."""
    if isinstance(outputs, str) and outputs == "same":
        return labels
    if isinstance(outputs, str) and outputs == "free":
        return as_labels([f"z{j + 1}" for j in range(used)], what="outputs")
    if isinstance(outputs, str) or not isinstance(outputs, int | Iterable):
        raise InvalidInput(f'outputs must be "same", "free", a count or labels; found {outputs!r}.')
    found = as_labels(outputs, what="outputs")
    if len(found) < used:
        raise InvalidInput(
            f"This design needs {used} outputs; {len(found)} were allowed. "
            'Allow more, or use outputs="same" or "free".'
        )
    return found


def most_outputs(problem: Problem) -> float:
    """Return how many outputs are allowed."""
    if isinstance(problem.outputs, str) and problem.outputs == "free":
        return math.inf
    return len(output_labels(problem.outputs, problem.labels, 0))


def plain_response(problem: Problem) -> Mechanism:
    """Return randomised response under the labels of the outputs that were asked for."""
    if isinstance(problem.outputs, str) and problem.outputs == "same":
        return randomized_response(problem.labels.values, problem.alpha)
    if problem.size > MOST_NAMED:
        raise InvalidInput(
            f'Beyond {MOST_NAMED} categories a design has the same outputs; use outputs="same".'
        )
    return name_outputs(problem, response_matrix(problem.size, problem.alpha))


def best_places(prior: Floats, matrix: Floats, apart: Floats | None = None) -> Integers:
    r"""Return the category that names each column, so that :math:`\sum_x p_x M_{xx}` is largest.

    With distances, so that values are released as near to the true ones as can be.
    """
    from scipy.optimize import linear_sum_assignment

    moved = (prior[:, None] * matrix).T
    costs = -moved if apart is None else moved @ apart
    columns, names = linear_sum_assignment(costs)
    places = np.empty(matrix.shape[1], dtype=np.int64)
    places[columns] = names
    return places


def name_outputs(problem: Problem, matrix: Floats) -> Mechanism:
    """Round a matrix to exact weights that satisfy α, and put its columns under their labels.

    Columns fewer than the outputs leave the others impossible.
    """
    S, used = matrix.shape
    labels = problem.labels
    names = output_labels(problem.outputs, labels, used)
    rounded = Mechanism.from_matrix(
        matrix, labels.values, used, alpha=problem.alpha, distance=problem.distance
    )
    same = len(names) == S and names == labels
    apart = None if problem.distance is None else problem.distance.matrix
    places = best_places(problem.prior, matrix, apart) if same else np.arange(used)
    weights = np.zeros((S, len(names)), dtype=np.int64)
    weights[:, places] = rounded.weights
    return General(labels, names, weights)

"""Matrices between the one of least loss and the one of most information."""

import numpy as np

from pramble.mechanisms.base import Mechanism
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design
from pramble.solvers.general.nearby.telling import most_told
from pramble.values import Floats

WEIGHTS = 2.0 ** np.arange(-4, 5)
"""Of the loss, in units of the chord between both ends."""

TOLERANCE = 1e-6


def least_named(prior: Floats, matrix: Floats, loss: Floats) -> float:
    """Return the least expected loss of a square matrix under any names of its columns."""
    from scipy.optimize import linear_sum_assignment

    lost = matrix.T @ (prior[:, None] * loss)
    return float(lost[linear_sum_assignment(lost)].sum())


def near_mechanisms(prior: Floats, alpha: float, loss: Floats) -> list[Mechanism]:
    """Return the design of least loss, and matrices that tell more and lose more, by weights."""
    near = design(prior, alpha, family="general", objective="loss", loss=loss)
    telling = design(prior, alpha, family="general")
    cost = least_named(prior, telling.mechanism.matrix, loss) - near.value
    if not cost > 0:
        return [near.mechanism]
    chord = max(telling.information - near.information, TOLERANCE * telling.information) / cost
    sets = np.zeros((0, len(prior)), dtype=np.bool_)
    found = [near.mechanism]
    for weight in (chord * WEIGHTS).tolist():
        told = most_told(
            prior, loss, alpha, weight=weight, start=sets, budget=SearchBudget(TOLERANCE)
        )
        sets = np.vstack([sets, told.sets])
        found.append(Mechanism.from_matrix(told.matrix, alpha=alpha))
    return found

r"""Outputs that hardly ever occur, merged before rounding.

An output of probability 10⁻¹⁴ has some dozens of weight units, and to make their ratios private
costs all other columns a part of their information. A sum of private columns is private, so light
columns are added to the one with which they lose least: what an output that hardly occurs tells
is hardly lost.
"""

from collections.abc import Iterator

import numpy as np

from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.dense import entropy_excess
from pramble.solvers.general.labelling import name_outputs
from pramble.solvers.general.patterns import matrix_information
from pramble.solvers.problem import Problem
from pramble.values import Floats

LIGHT = (0.0, 1e-12, 1e-10, 1e-8)
"""Probabilities below which outputs are merged, tried until rounding loses next to nothing."""


def roundings(problem: Problem, matrix: Floats) -> Iterator[Mechanism]:
    """Yield exact mechanisms of a matrix: as it is, and with light columns merged if that cost."""
    enough = matrix_information(problem.prior, matrix) * (1 - problem.tolerance / 10)
    for least in LIGHT:
        mechanism = name_outputs(problem, merge_light(problem.prior, matrix, least))
        yield mechanism
        if mutual_information(problem.prior, mechanism) >= enough:
            return


def merge_light(prior: Floats, matrix: Floats, least: float) -> Floats:
    """Return the matrix with columns of less probability than ``least`` added to others."""
    light = prior @ matrix < least
    if not light.any() or light.all():
        return matrix
    kept = matrix[:, ~light].copy()
    for column in matrix[:, light].T:
        together = kept + column[:, None]
        lost = told(prior, kept) - told(prior, together)
        kept[:, lost.argmin()] += column
    return kept


def told(prior: Floats, columns: Floats) -> Floats:
    """Return what each column adds to the mutual information."""
    masses = prior @ columns
    return np.asarray(prior @ entropy_excess(columns / masses - 1) * masses)

r"""Which coefficients the release tells at all, by the variance that it implies.

Along a direction v the information :math:`v^\top J v` is itself estimated. Where it is not clearly
above what randomisation alone may make of nothing, no slope along v can be told. And where
:math:`1/\sqrt{v^\top J v}` is larger than any sensible effect, as when a covariate separates the
response, there is no estimate at all.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pramble.errors import NotIdentifiable
from pramble.estimation.regression.signed import Point, Problem
from pramble.values import Floats, value

CLEARLY = 2.0
"""Standard errors by which information must differ from none."""

LARGEST_ERROR = 15.0
"""Of a linear predictor, per unit of a column: a factor of three million in odds."""

MOST_CHECKED = 12
LOADS = 0.1


@value(eq=False)
class Told:
    """Which parameters are not told: by noise alone, and because nothing bounds them."""

    by_noise: NDArray[np.bool_]
    unbounded: NDArray[np.bool_]

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Both."""
        return np.asarray(self.by_noise | self.unbounded)


def directions_of(problem: Problem, point: Point, units: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weakest directions, what is known along them, and the error of that by noise."""
    values, vectors = np.linalg.eigh(point.information / np.outer(units, units))
    some = np.argsort(values)[:MOST_CHECKED]
    directions = vectors[:, some] / units[:, None]
    noise = problem.source.moments(problem.curvature(point.theta, directions), len(some))
    return vectors[:, some], values[some], np.sqrt(np.maximum(np.diag(noise.randomisation), 0.0))


def holding(problem: Problem, point: Point, units: Floats) -> Floats | None:
    """Return what holds θ along directions that are noise at this point; None if none is."""
    vectors, values, errors = directions_of(problem, point, units)
    weak = values <= CLEARLY * errors
    if not weak.any():
        return None
    strength = np.abs(values[weak]) + CLEARLY * errors[weak]
    along = vectors[:, weak] * units[:, None]
    return np.asarray((along * strength) @ along.T)


def told(problem: Problem, point: Point, units: Floats) -> Told:
    """Return which parameters are not told; refuse when none is."""
    if problem.hold is not None:
        point = replace(point, information=point.information - problem.hold)
    vectors, values, errors = directions_of(problem, point, units)
    weak = values <= CLEARLY * errors
    loads = np.abs(vectors)
    hit = (loads >= LOADS * loads.max(axis=0))[:, weak].any(axis=1)
    if problem.hold is not None:
        strength = np.sqrt(np.diag(problem.hold)) / units
        hit |= strength >= LOADS * strength.max()
    whole, every = np.linalg.eigh(point.information / np.outer(units, units))
    floor = np.maximum(np.abs(whole), 1e-14 * max(whole[-1], 1e-300))
    spread = np.sqrt((every**2 / floor).sum(axis=1))
    unbounded = ~(spread <= LARGEST_ERROR)
    answer = Told(hit & ~unbounded, unbounded)
    if answer.lost.all():
        why = " ".join(notes_of(answer, problem.parameters.names))
        raise NotIdentifiable(
            f"The release must tell some coefficient; it leaves every one open. {why} Take fewer "
            "covariates, coarser categories, or more records."
        )
    return answer


def notes_of(answer: Told, names: tuple[str, ...]) -> list[str]:
    """Say which coefficients are not told, and why."""
    notes = []
    if answer.unbounded.any():
        listed = ", ".join(np.array(names)[answer.unbounded])
        notes.append(
            f"Nothing bounds {listed}: the estimate runs to infinity, as where a covariate "
            "separates the response or a category is empty; a reference category may do so for all "
            "others. No value is given."
        )
    if answer.by_noise.any():
        listed = ", ".join(np.array(names)[answer.by_noise])
        notes.append(
            f"The interval of {listed} has no end: what is known of it cannot be told from the "
            "noise of the randomisation."
        )
    return notes

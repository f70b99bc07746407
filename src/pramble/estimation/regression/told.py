r"""Which coefficients the release tells at all, by the variance that it implies.

Along a direction v the information :math:`v^\top J v` is itself estimated. Where it is not clearly
above what randomisation alone may make of nothing, no slope along v can be told. And where
:math:`1/\sqrt{v^\top J v}` is larger than any sensible effect, as when a covariate separates the
response, there is no estimate at all.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import NotIdentifiable
from pramble.estimation.regression.signed import Point, Problem
from pramble.values import Floats, value

CLEARLY = 2.0
"""Standard errors by which information must differ from none."""

LARGEST_ERROR = 15.0
"""Of a linear predictor, in the root of the mean square: a factor of three million in odds."""

FEW = 200
"""Records that a class of the response must be worth for symmetric intervals to hold."""

AT_ONCE = 12
LOADS = 0.3
HELD = 1e-6


@value(eq=False)
class Told:
    """Which parameters are not told: by noise alone, and because nothing bounds them."""

    by_noise: NDArray[np.bool_]
    unbounded: NDArray[np.bool_]

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Both."""
        return np.asarray(self.by_noise | self.unbounded)


@value(eq=False)
class Directions:
    """Directions of φ, what is known along them, and the error of that by noise."""

    values: Floats
    vectors: Floats
    errors: Floats

    @property
    def are_noise(self) -> NDArray[np.bool_]:
        """Which are not clearly known."""
        return np.asarray(self.values <= CLEARLY * self.errors)


def directions_of(problem: Problem, point: Point) -> Directions:
    """Return all directions, the weakest first; past some that are all clear, so are the rest."""
    values, vectors = problem.basis.of(point.information)
    errors = np.zeros(len(values))
    for start in range(0, len(values), AT_ONCE):
        some = slice(start, min(start + AT_ONCE, len(values)))
        along = problem.curvature(point.theta, problem.basis.directions(vectors[:, some]))
        noise = np.diag(problem.source.moments(along, some.stop - start).randomisation)
        errors[some] = np.sqrt(np.maximum(noise, 0.0))
        if not (values[some] <= CLEARLY * errors[some]).any():
            break
    return Directions(values, vectors, errors)


def holding(problem: Problem, point: Point) -> Floats | None:
    """Return what holds θ along directions that are noise at this point; None if none is."""
    found = directions_of(problem, point)
    weak = found.are_noise
    if not weak.any():
        return None
    strength = np.abs(found.values[weak]) + CLEARLY * found.errors[weak]
    along = problem.basis.dual(found.vectors[:, weak])
    return np.asarray((along * strength) @ along.T)


def told(problem: Problem, point: Point) -> Told:
    """Return which parameters are not told; refuse when none is."""
    basis = problem.basis
    held = np.zeros((len(point.theta), 0))
    if problem.hold is not None:
        point = replace(point, information=point.information - problem.hold)
        strength, every = basis.of(problem.hold)
        held = every[:, strength > HELD * strength[-1]]
    found = directions_of(problem, point)
    lost = np.concatenate([found.vectors[:, found.are_noise], held], axis=1)
    by_noise = np.asarray((basis.loads(lost) >= LOADS).any(axis=1))
    endless = np.abs(found.values) < LARGEST_ERROR**-2
    roots = np.sqrt(np.maximum(np.abs(found.values[endless]), 1e-300))
    errors = np.abs(basis.directions(found.vectors[:, endless])) / roots * basis.size[:, None]
    unbounded = np.asarray((errors > 1.0).any(axis=1))
    answer = Told(by_noise & ~unbounded, unbounded)
    if answer.lost.all():
        why = " ".join(notes_of(answer, problem.parameters.names))
        raise NotIdentifiable(
            f"The release must tell some coefficient; it leaves every one open. {why} Take fewer "
            "covariates, coarser categories, or more records."
        )
    return answer


def rare_classes(
    shares: Floats, labels: Sequence[Any], *, n: float, inflation: Floats
) -> list[str]:
    """Say which classes are so few, for what randomisation leaves of them, that intervals suffer.

    Their coefficients are skewed: the estimate and its error grow together, and an interval that
    is as long on either side misses on one.
    """
    known = inflation[np.isfinite(inflation)]
    worth = n * shares / max(float(known.min()) if len(known) else 1.0, 1.0)
    few = [str(label) for label, one in zip(labels, worth, strict=True) if one < FEW]
    if not few:
        return []
    said = (
        f"What is released of {', '.join(few)} is worth fewer than {FEW} records: intervals of the "
        "coefficients that tell them from others are too short on one side, and hold less often "
        "than they say."
    )
    return [said]


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

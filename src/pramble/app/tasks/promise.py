"""What a file gives under one promise."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import to_svg
from pramble.plots.mechanisms import (
    MATRIX_CAPTION,
    MOST_DRAWN,
    PLAN_CAPTION,
    PLAN_PICTURE,
    matrix_figure,
)
from pramble.releasing.trials import Candidate, Trials
from pramble.values import Clock, Watcher, value

MATRIX_PICTURE = "The probability of each released value, for each true one"
COUNTED: dict[tuple[str, str], Trials] = {}
"""The file and plan that were tried last, counted, for each kind of promise."""

NOISE_CAPTION = "The noise that each table would get, in people a cell (standard deviation)."
NOISE_PICTURE = "The standard deviation of the noise in a cell of each protected table"


@value
class Tried:
    """A promise that was tried, and its plan as a picture."""

    candidate: Candidate
    picture: str
    caption: str


def try_promise(
    ground: str,
    path: Path,
    document: dict[str, Any],
    kind: str,
    promise: float,
    delta: float,
    *,
    progress: Watcher | None = None,
) -> Tried:
    """Return what a file gives under a promise; it is counted once for all on the same ground."""
    if any(own != ground for own, _ in COUNTED):
        COUNTED.clear()
    trials = COUNTED.setdefault((ground, kind), Trials(path, plan=document))
    trials.delta = delta
    found = trials.candidate(kind, promise, clock=Clock(progress))
    assert found.plan is not None
    return Tried(replace(found, plan=None), *picture_of(found.plan))


def picture_of(plan: Plan | TablePlan) -> tuple[str, str]:
    """Return a plan as a picture, with its caption; one of a single matrix shows that."""
    if isinstance(plan, TablePlan):
        return to_svg(plan.plot(), name="tried", description=NOISE_PICTURE), NOISE_CAPTION
    if len(plan.branches) == len(plan.branches[0].blocks) == 1:
        (matrix,) = plan.branches[0].blocks.values()
        if max(matrix.shape) <= MOST_DRAWN:
            drawn = matrix_figure(matrix)
            return to_svg(drawn, name="tried", description=MATRIX_PICTURE), MATRIX_CAPTION
    return to_svg(plan.plot(), name="tried", description=PLAN_PICTURE), PLAN_CAPTION

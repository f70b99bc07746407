"""What the curator's steps do in the background: look at a file, count, try a promise, release."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import pramble
from pramble.data.recode import Reading
from pramble.datasets import synthetic_new_york
from pramble.mechanisms.table_plan import TablePlan
from pramble.outcome import ReleaseOutcome
from pramble.plots.images import to_svg
from pramble.plots.mechanisms import (
    NOISE_CAPTION,
    NOISE_PICTURE,
    PLAN_CAPTION,
    PLAN_PICTURE,
)
from pramble.releasing.folder.build import report_path
from pramble.releasing.profile.survey import FileProfile, survey_file
from pramble.releasing.scan import CountedColumn, count_each
from pramble.releasing.source_labels import open_labelled
from pramble.releasing.spec.document import spec_from
from pramble.releasing.try_release import Candidate, PromiseComparison
from pramble.values import Reporter, Watcher, frozen

# Rows of the sample data.
BUILT_IN = 100_000


def survey(path: Path, reading: dict[str, Any], *, progress: Watcher | None = None) -> FileProfile:
    return survey_file(path, Reading(**reading), progress=progress)


def survey_built_in(
    path: Path, reading: dict[str, Any], *, progress: Watcher | None = None
) -> FileProfile:
    """Write the sample data to a file of the app, and look at it."""
    pq.write_table(synthetic_new_york(BUILT_IN), path)
    return survey(path, reading, progress=progress)


@frozen
class Categories:
    """A column's categories with their counts; or why its values do not fit them."""

    labels: tuple[Any, ...] = ()
    counts: tuple[int, ...] = ()
    error: str = ""
    values: str = ""


def count_categories(
    path: Path, document: dict[str, Any], *, progress: Watcher | None = None
) -> dict[str, Categories]:
    """Count every randomised column of a plan in one scan, each for itself."""
    records, spec = open_labelled(path, spec_from(document))
    found = count_each(records, spec.columns, reporter=Reporter(progress))
    return {
        name: Categories(own.labels, own.counts)
        if isinstance(own, CountedColumn)
        else Categories(error=str(own), values=own.values)
        for name, own in found.items()
    }


# The file and plan that were tried last, counted.
COUNTED: dict[str, PromiseComparison] = {}


@frozen
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
    # Counts of another file or other columns would only take memory.
    if ground not in COUNTED:
        COUNTED.clear()
        COUNTED[ground] = PromiseComparison(path, plan=document)
    trials = COUNTED[ground]
    trials.delta = delta
    found = trials.candidate(kind, promise, reporter=Reporter(progress))
    assert found.plan is not None
    of_tables = isinstance(found.plan, TablePlan)
    words, caption = (NOISE_PICTURE, NOISE_CAPTION) if of_tables else (PLAN_PICTURE, PLAN_CAPTION)
    picture = to_svg(found.plan.plot(), name="tried", description=words)
    # A plan may have millions of weights, and the page shows its picture alone.
    return Tried(replace(found, plan=None), picture, caption)


@frozen
class ReleasedFolder:
    """A release that was made: where, its report, and its files with their sizes."""

    folder: str
    report: str
    files: tuple[tuple[str, int], ...]
    outcome: ReleaseOutcome


def make_release(path: Path, target: Path, document: dict[str, Any], **more: Any) -> ReleasedFolder:
    """Make a release, or with ``dry_run`` say what it would be: then there are no files."""
    outcome = pramble.release(path, target, plan=document, **more).outcome
    assert outcome is not None
    inside = sorted(one for one in target.rglob("*") if one.is_file())
    files = tuple((one.relative_to(target).as_posix(), one.stat().st_size) for one in inside)
    return ReleasedFolder(str(target), str(report_path(target)), files, outcome)

"""Reading a release: what it promises, and what it says when asked.

The opened release stays in the worker's process, so that its files are checked once. What goes back
to the page is plain: texts, figures as SVG, never the records.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pramble
from pramble import numbers
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.functionals.result import Covers, Estimate
from pramble.estimation.regression.result import coefficient_lines, head_of, title_of
from pramble.limits import MOST_CELLS_DRAWN
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import to_svg
from pramble.privacy.promise import promise_from_json
from pramble.releasing.folder.layout import MANIFEST
from pramble.report.outcome_text import MOST_ROWS, estimate_grid
from pramble.shown import Facts, Grid, csv_text, shortened
from pramble.values import Reporter, Watcher, frozen
from pramble.words import visible

# The release that was opened last, by its folder and the time of its manifest.
OPENED: dict[tuple[str, int], Any] = {}


IN_FILE = "; the file to download has all"
INFLATION = "Inflation: how many times larger the variance is than without randomisation."
BEFORE_SHUFFLING = "Against those who handled the file before its rows were shuffled: "


@frozen
class FolderFacts:
    """What the page says of a release."""

    shown: Facts
    columns: dict[str, str]  # every column that can be asked for, with its number of categories
    of_tables: bool
    untouched: tuple[str, ...]
    details: dict[str, tuple[str, ...]]  # titles, each with its sentences


@frozen
class TableQuestion:
    """Which table is asked for.

    ``unit`` is "shares" or "counts"; ``covers`` what intervals are for, as `pramble.estimate` has
    it.
    """

    by: tuple[str, ...]
    given: tuple[str, ...] = ()
    unit: str = "shares"
    covers: Covers = "both"

    def __post_init__(self) -> None:
        columns = [*self.given, *self.by]
        twice = [name for name in columns if columns.count(name) > 1]
        if not self.by:
            raise InvalidInput("Choose a column for the table.")
        if twice:
            raise InvalidInput(f"Choose each column once; {twice[0]!r} is chosen twice.")
        if self.given and self.unit == "counts":
            raise InvalidInput(
                "Within groups there are shares alone: ask for shares, or choose no groups."
            )


@frozen
class ReadAnswer:
    """What was asked for, as the page shows it: a table, a figure, and what to know of it.

    ``csv`` is the whole table as a file.
    """

    grid: Grid
    svg: str
    csv: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def opened_release(folder: str) -> Any:
    """Return the release in a folder, opened and checked unless it was before."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        what = "is a file, not a folder" if path.exists() else "does not exist"
        raise InvalidData(
            f"{folder!r} {what}. Write the path of the folder that a release was written to."
        )
    manifest = path / MANIFEST
    # A folder that was released again has another manifest, and is checked again.
    key = (str(path.absolute()), manifest.stat().st_mtime_ns if manifest.exists() else 0)
    if key not in OPENED:
        OPENED.clear()
        OPENED[key] = pramble.open_release(path)
    return OPENED[key]


def look_into(folder: str, *, progress: Watcher | None = None) -> FolderFacts:
    """Open a release folder again, check it, and return what there is to say of it."""
    Reporter(progress).report("checking the folder", 0.0)
    OPENED.clear()
    release = opened_release(folder)
    manifest, plan = release.manifest, release.plan
    of_tables = isinstance(plan, TablePlan)
    labels = plan.labels if of_tables else {n: c.labels for n, c in plan.column_labels().items()}
    sizes = {name: str(len(own.values)) for name, own in labels.items()}
    names = [column["name"] for column in manifest["columns"]]
    promise = manifest["promise"]
    readers = promise.get("central", {})
    spent = promise_from_json(promise.get("local", promise["spent"])).sentence()
    central = [release.central.sentence()] if readers and release.central else []
    return FolderFacts(
        shown=release.shown(),
        columns={name: sizes.get(name, "as it was") for name in names},
        of_tables=of_tables,
        untouched=tuple(name for name in names if name not in sizes),
        details={
            "The promise in full": (
                release.unit.sentence(),
                *central,
                f"{BEFORE_SHUFFLING * bool(readers)}{spent}",
            ),
            "The protected tables": tables_of(plan) if isinstance(plan, TablePlan) else (),
            "What the manifest notes": tuple(manifest["notes"]),
            "What the promise against readers rests on": tuple(
                readers.get("assumes", promise.get("assumes", ()))
            ),
        },
    )


def tables_of(plan: TablePlan) -> tuple[str, ...]:
    """Return every table that was asked for, with its cells and noise."""
    return tuple(
        f"{' × '.join(table)}: {numbers.count(plan.cells(table))} cells, "
        f"± {numbers.few_digits(math.sqrt(plan.cell_variance(table)))} people a cell"
        for table in plan.tables
    )


def ask_table(
    folder: str, question: TableQuestion, *, progress: Watcher | None = None
) -> ReadAnswer:
    Reporter(progress).report("estimating", 0.0)
    given = list(question.given) or None
    answer = pramble.estimate(
        opened_release(folder), by=list(question.by), given=given, covers=question.covers
    )
    if question.unit == "counts":
        answer = answer.counts()
    grid = replace(estimate_grid(answer, hint=IN_FILE), title=title_of_table(answer, question))
    words = f"Estimates by {', '.join(answer.cells)} with intervals; the table holds the figures"
    return ReadAnswer(
        grid, figure_of(answer, len(answer.values), "read-table", words), csv_of(answer),
        wide_cells(answer), answer.notes,
    )  # fmt: skip


def ask_regression(
    folder: str, formula: str, family: Any, *, progress: Watcher | None = None
) -> ReadAnswer:
    if "~" not in formula:
        raise InvalidInput(
            "Write a formula: what is to be explained, ~, and by which columns, as SEX ~ AGE."
        )
    Reporter(progress).report("fitting", 0.0)
    found = pramble.estimate_regression(opened_release(folder), formula=formula, family=family)
    lines = shortened(coefficient_lines(found), MOST_ROWS, hint=IN_FILE)
    grid = Grid(title_of(found), [one or "term" for one in head_of(found)], lines, below=INFLATION)
    words = f"Coefficients of the regression of {found.response}, with intervals"
    svg = figure_of(found, len(found.names), "read-regression", words)
    return ReadAnswer(grid, svg, csv_of(found), notes=found.notes)


def csv_of(answer: Any) -> str:
    columns = answer.columns()
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def figure_of(answer: Any, rows: int, name: str, words: str) -> str:
    """Return the figure of an answer; nothing for one that is too long to be drawn."""
    if rows > MOST_CELLS_DRAWN:
        return ""
    return to_svg(answer.plot(), name=name, description=visible(words))


def title_of_table(answer: Estimate, question: TableQuestion) -> str:
    what = "Numbers of records" if question.unit == "counts" else "Shares"
    within = f" within each {' × '.join(question.given)}" if question.given else ""
    modelled = ", modelled" * answer.is_modelled
    asked = f"{' × '.join(question.by)}{within}"
    return visible(f"{what} by {asked}{modelled}, from {answer.n:,.0f} records")


def wide_cells(answer: Estimate) -> tuple[str, ...]:
    """Say how many intervals are wider than what they are about; plainly, where most are."""
    is_wide = answer.upper - answer.lower > answer.values
    wide, cells = int(is_wide.sum()), len(is_wide)
    from_zero = int((is_wide & (answer.lower <= 0)).sum())
    if not wide:
        return ()
    many = "Most of this table is noise: " if 2 * wide > cells else ""
    zero = f"; {from_zero:,} begin{'s' * (from_zero == 1)} at zero" if from_zero else ""
    said = f"{many}{wide:,} of {cells:,} intervals are wider than the estimate they are for{zero}."
    advice = (
        "Read such a cell as its interval, never as one number; fewer columns give narrower ones."
    )
    return (f"{said} {advice}",)

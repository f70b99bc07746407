"""Reading a release: what it promises, and what it says when asked.

The opened release stays in the worker's process, so that its files are checked once. What goes back
to the page is plain: texts, figures as SVG, never the records.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pramble
from pramble import numbers
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.follow.result import Estimate
from pramble.estimation.regression.result import coefficient_lines, head_of, title_of
from pramble.limits import MOST_CELLS_DRAWN
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.plots.images import to_svg
from pramble.releasing.folder.layout import MANIFEST
from pramble.shown import csv_text
from pramble.values import Clock, Watcher, value
from pramble.words import visible

# Rows of an answer that the page shows; the file to download has all.
MOST_SHOWN = 200

# The heading of an estimate in each unit, and what writes it.
UNITS: dict[str, tuple[str, Callable[[float], str]]] = {
    "shares": ("share", lambda share: numbers.percent(share, 2)),
    "counts": ("records", numbers.count),
}

# The release that was opened last, by its folder and the time of its manifest.
OPENED: dict[tuple[str, int], Any] = {}


BEFORE_SHUFFLING = "Against those who handled the file before its rows were shuffled: "


@value
class FolderFacts:
    """What the page says of a release; α is infinite for protected tables."""

    folder: str
    rows: int
    created: str
    alpha: float
    central: tuple[float, float] | None  # ε and δ against readers of the release
    randomised: dict[str, int]  # the protected columns, with their numbers of categories
    untouched: tuple[str, ...]
    sentences: tuple[str, ...]
    precision: tuple[str, ...]  # how precise it is, in sentences
    notes: tuple[str, ...]
    assumes: tuple[str, ...]
    tables: tuple[str, ...] = ()  # the protected tables, each with its cells and noise

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that can be asked for."""
        return (*self.randomised, *self.untouched)


@value
class TableQuestion:
    """Which table is asked for.

    ``unit`` is "shares" or "counts"; ``covers`` what intervals are for, as `pramble.estimate` has
    it.
    """

    by: tuple[str, ...]
    given: tuple[str, ...] = ()
    unit: str = "shares"
    covers: str = "both"

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


@value
class ReadAnswer:
    """What was asked for, as the page shows it: a table of texts, a figure, and what to know.

    ``left`` says how many first columns are labels; ``csv`` is the whole table as a file.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    svg: str = ""
    below: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    csv: str = ""


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
    Clock(progress).tell("checking the folder", 0.0)
    OPENED.clear()
    release = opened_release(folder)
    manifest, plan, central = release.manifest, release.plan, release.central
    promise = manifest["promise"]
    readers = promise.get("central", {})
    sizes = {name: len(own) for name, own in categories_of(plan).items()}
    names = [column["name"] for column in manifest["columns"]]
    return FolderFacts(
        folder=folder,
        rows=manifest["rows"],
        created=manifest["created"],
        alpha=release.alpha,
        central=None if central is None else (float(central.shown), float(central.shown_delta)),
        randomised={name: sizes[name] for name in names if name in sizes},
        untouched=tuple(name for name in names if name not in sizes),
        sentences=(
            *([readers["sentence"]] if readers else []),
            f"{BEFORE_SHUFFLING * bool(readers)}{promise['sentence']}",
        ),
        precision=tuple(manifest.get("worth", {}).get("sentences", ())),
        notes=tuple(manifest["notes"]),
        assumes=tuple(readers.get("assumes", promise.get("assumes", ()))),
        tables=tables_of(plan) if isinstance(plan, TablePlan) else (),
    )


def categories_of(plan: Plan | TablePlan) -> dict[str, Sequence[Any]]:
    if isinstance(plan, TablePlan):
        return {name: own.values for name, own in plan.labels.items()}
    return {name: own.labels.values for name, own in plan.column_labels().items()}


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
    Clock(progress).tell("estimating", 0.0)
    answer = estimate_of(opened_release(folder), question)
    figures = np.stack([answer.values, answer.standard_errors, answer.lower, answer.upper])
    columns = answer.columns()
    unit, text_of = UNITS[question.unit]
    return ReadAnswer(
        title=title_of_table(answer, question),
        head=(*answer.cells, unit, "standard error", "from", "to"),
        rows=tuple(
            (*map(label_text, cell), *map(text_of, own))
            for cell, own in shown_cells(answer, figures.T)
        ),
        left=len(answer.cells),
        svg=table_figure(answer, name="read-table"),
        below=f"{100 * answer.level:g} % intervals; they cover {answer.covers_what}.",
        warnings=wide_cells(answer),
        notes=(*answer.notes, *left_out(len(answer.values))),
        csv=csv_text(list(columns), zip(*columns.values(), strict=True)),
    )


def ask_regression(
    folder: str, formula: str, family: Any, *, progress: Watcher | None = None
) -> ReadAnswer:
    if "~" not in formula:
        raise InvalidInput(
            "Write a formula: what is to be explained, ~, and by which columns, as SEX ~ AGE."
        )
    Clock(progress).tell("fitting", 0.0)
    found = pramble.estimate_regression(opened_release(folder), formula=formula, family=family)
    columns = found.columns()
    is_drawn = len(found.names) <= MOST_CELLS_DRAWN
    words = f"Coefficients of the regression of {found.response}, with intervals"
    return ReadAnswer(
        title=title_of(found),
        head=tuple(one or "term" for one in head_of(found)),
        rows=tuple(tuple(map(visible, row)) for row in coefficient_lines(found)[:MOST_SHOWN]),
        svg=to_svg(found.plot(), name="read-regression", description=words) if is_drawn else "",
        below="Inflation: how many times larger the variance is than without randomisation.",
        notes=(*found.notes, *left_out(len(found.names))),
        csv=csv_text(list(columns), zip(*columns.values(), strict=True)),
    )


def estimate_of(release: Any, question: TableQuestion, *, covers: str = "") -> Estimate:
    given = list(question.given) or None
    wanted: Any = covers or question.covers
    found = pramble.estimate(release, by=list(question.by), given=given, covers=wanted)
    return found if question.unit == "shares" else found.counts()


def title_of_table(answer: Estimate, question: TableQuestion) -> str:
    what = "Numbers of records" if question.unit == "counts" else "Shares"
    within = f" within each {' × '.join(question.given)}" if question.given else ""
    modelled = ", modelled" * answer.is_modelled
    asked = f"{' × '.join(question.by)}{within}"
    return visible(f"{what} by {asked}{modelled}, from {answer.n:,.0f} records")


def wide_cells(answer: Estimate) -> tuple[str, ...]:
    """Say how many intervals are wider than what they are about, if any are."""
    wide = answer.upper - answer.lower > answer.values
    return wide_words(int(wide.sum()), int((wide & (answer.lower <= 0)).sum()), len(wide))


def wide_words(wide: int, from_zero: int, cells: int) -> tuple[str, ...]:
    """Say that intervals are wider than the estimates; plainly, where most are.

    >>> wide_words(0, 0, 10)
    ()
    >>> wide_words(2, 1, 10)[0][:82]
    '2 of 10 intervals are wider than the estimate they are for; 1 begins at zero. Read'
    >>> wide_words(9, 3, 10)[0][:65]
    'Most of this table is noise: 9 of 10 intervals are wider than the'
    """
    if not wide:
        return ()
    many = "Most of this table is noise: " if 2 * wide > cells else ""
    zero = f"; {from_zero:,} begin{'s' * (from_zero == 1)} at zero" if from_zero else ""
    said = f"{many}{wide:,} of {cells:,} intervals are wider than the estimate they are for{zero}."
    advice = (
        "Read such a cell as its interval, never as one number; fewer columns give narrower ones."
    )
    return (f"{said} {advice}",)


def left_out(cells: int) -> tuple[str, ...]:
    """Say what the page does not show of a long answer.

    >>> left_out(80), len(left_out(81)), len(left_out(201))
    ((), 1, 2)
    """
    rows = [f"The first {MOST_SHOWN} of {cells:,} rows are shown; the file to download has all."]
    figure = [f"A figure is drawn of at most {MOST_CELLS_DRAWN} rows."]
    return (*rows * (cells > MOST_SHOWN), *figure * (cells > MOST_CELLS_DRAWN))


def table_figure(answer: Estimate, *, name: str, **more: Any) -> str:
    """Return the figure of a table; nothing for one that is too long to be drawn."""
    if len(answer.values) > MOST_CELLS_DRAWN:
        return ""
    from pramble.plots.estimates import estimate_figure

    words = f"Estimates by {', '.join(answer.cells)} with intervals; the table holds the figures"
    return to_svg(estimate_figure(answer, **more), name=name, description=visible(words))


def shown_cells(answer: Estimate, figures: Any) -> Any:
    """Return the labels of the first cells, each with its figures."""
    cells = list(zip(*answer.cells.values(), strict=True))
    return zip(cells[:MOST_SHOWN], figures[:MOST_SHOWN].tolist(), strict=True)


def label_text(label: Any) -> str:
    r"""Return a label as it is shown.

    >>> label_text(None), label_text("None"), label_text("a\x1b")
    ('(missing)', 'None', 'a\\x1b')
    """
    return "(missing)" if label is None else visible(str(label))

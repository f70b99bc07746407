"""A release beside the confidential file it was made of: for the curator's eyes alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pramble.app.read_tasks import (
    UNITS,
    ReadAnswer,
    TableQuestion,
    categories_of,
    estimate_of,
    label_text,
    left_out,
    opened_release,
    shown_cells,
    table_figure,
    title_of_table,
    wide_cells,
)
from pramble.errors import InvalidData
from pramble.releasing.scan import count_columns
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.document import spec_of
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.values import Clock, Floats, Watcher

# Shares of the file and ends of intervals are rounded differently in their last digits.
ROUNDING = 1e-12


def compare_with(
    folder: str,
    question: TableQuestion,
    source: Path,
    plan: Mapping[str, Any] | Path | None = None,
    *,
    progress: Watcher | None = None,
) -> ReadAnswer:
    """Estimate a table, and count the same one in the confidential file.

    Intervals are those that cover randomisation alone: the file itself is what they are for. With
    ``plan``, the file is recoded as it says.
    """
    clock = Clock(progress)
    clock.tell("estimating", 0.0)
    release = opened_release(folder)
    answer = estimate_of(release, question, covers="randomisation")
    counted = cell_counts(release, tuple(answer.cells), source, plan, clock)
    scale = answer.n if question.unit == "counts" else 1.0
    truth = scale * shares_in(answer, counted, given=question.given)
    slack = ROUNDING * scale
    holds = (answer.lower <= truth + slack) & (truth - slack <= answer.upper)
    known = np.isfinite(truth)
    figures = np.stack([truth, answer.values, answer.lower, answer.upper])
    unit, text_of = UNITS[question.unit]
    said = np.where(known, np.where(holds, "yes", "no"), "—").tolist()
    rows = zip(shown_cells(answer, figures.T), said, strict=False)
    return ReadAnswer(
        title=f"{title_of_table(answer, question)}, beside {source.name}",
        head=(*answer.cells, f"{unit} in the file", "estimate", "from", "to", "in interval?"),
        rows=tuple(
            (*map(label_text, cell), *map(text_of, own), held) for (cell, own), held in rows
        ),
        left=len(answer.cells),
        svg=table_figure(answer, name="read-truth", truth=truth),
        below=f"{int(holds[known].sum()):,} of {int(known.sum()):,} intervals hold what is in the "
        f"file; in the long run {100 * answer.level:g} % do, and one table tells little of that. "
        "These intervals cover randomisation alone: they are for the file itself.",
        warnings=wide_cells(answer),
        notes=(*answer.notes, *left_out(len(answer.values))),
    )


def cell_counts(
    release: Any,
    table: tuple[str, ...],
    source: Path,
    plan: Mapping[str, Any] | Path | None,
    clock: Clock,
) -> Counter[Any]:
    """Count the confidential records by their labels in some columns, recoded as released."""
    labels = categories_of(release.plan)
    spec = ReleaseSpec(()) if not plan else spec_of(plan, None, alpha=None, settings={})
    columns = tuple(counted_column(name, spec, labels.get(name)) for name in table)
    known = spec.columns
    records = replace(spec, columns=known).open(source)
    records.refuse_missing(list(table))
    asked = replace(spec, columns=columns, possible=(), risk=None, person=None)
    found = count_columns(records, asked, tables=[table], clock=clock)
    # Counts of another file would look like errors of the estimate.
    if found.rows != release.manifest["rows"]:
        raise InvalidData(
            f"{source.name!r} has {found.rows:,} rows, and the release {release.manifest['rows']:,}"
            ": it was not made of this file."
        )
    if table not in found.tables:
        raise InvalidData(
            f"The columns {', '.join(table)} have too many values to be counted together; choose "
            "fewer."
        )
    counts = np.asarray(found.tables[table])
    names = [list(map(plain_text, column.labels)) for column in found.columns]
    counted: Counter[Any] = Counter()
    for place in np.argwhere(counts).tolist():
        cell = tuple(own[code] for own, code in zip(names, place, strict=True))
        counted[cell] += int(counts[tuple(place)])
    return counted


def plain_text(label: Any) -> str | None:
    """Return a label as a text: files of texts and of numbers have the same."""
    return None if label is None else str(label)


def counted_column(name: str, spec: ReleaseSpec, labels: Any) -> ColumnSpec:
    """Return how a column is counted: as the plan recodes it, in the categories of the release."""
    own = next((one for one in spec.columns if one.name == name), None)
    if labels is None:
        return ColumnSpec(name, missing=True)
    if own is None:
        return ColumnSpec(name, categories=tuple(labels), missing=True if None in labels else None)
    return replace(own, categories=tuple(labels))


def shares_in(answer: Any, counted: Counter[Any], *, given: tuple[str, ...]) -> Floats:
    """Return the share in the file of each cell of an estimate, within its group."""
    cells = [tuple(map(plain_text, cell)) for cell in zip(*answer.cells.values(), strict=True)]
    strange = sum(counted.values()) - sum(counted[cell] for cell in cells)
    if strange:
        raise InvalidData(
            f"{strange:,} rows of the file have labels in {', '.join(answer.cells)} that the "
            "release has not: it was made of another file, or by another plan."
        )
    groups: Counter[Any] = Counter()
    for cell, count in counted.items():
        groups[cell[: len(given)]] += count
    sizes = [groups[cell[: len(given)]] for cell in cells]
    return np.array(
        [counted[cell] / size if size else np.nan for cell, size in zip(cells, sizes, strict=True)]
    )

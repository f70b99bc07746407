"""What a regression is made of: the signed weights of its columns, of records or of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.crosstab import totals
from pramble.data.open import open_records
from pramble.errors import NotShown
from pramble.estimation.follow.result import Settings
from pramble.estimation.inverse.signed import RecordSource, patterns_of
from pramble.estimation.inverse.tabulate import plan_for
from pramble.estimation.regression.design_matrix import ModelColumn, Rows, untouched_column
from pramble.estimation.survey import Survey
from pramble.estimation.tables.cells import TableSource, notes_of, table_answers
from pramble.mechanisms.measured import Measured
from pramble.values import Integers, value


@value(eq=False)
class Material:
    """Signed weights, what stands in groups and cells, and the number of records of groups."""

    source: RecordSource | TableSource
    groups: Rows
    cells: Rows
    numbers: Integers
    notes: tuple[str, ...]
    backend: str


def material_of_records(
    data: Any,
    plan: Any,
    columns: list[str],
    *,
    weights: Any,
    survey: Survey,
    reading: Any,
) -> Material:
    records = open_records(data, reading)
    source = patterns_of(
        records,
        plan_for(plan, columns),
        by=columns,
        strata=survey.strata,
        clusters=survey.clusters,
        weights=weights,
    )
    own, codes = {}, {}
    for axis, name in enumerate(source.untouched):
        own[name], place = untouched_column(records, name, source.labels[name])
        codes[name] = place[source.groups[:, axis]]
    dropped = ", ".join(f"{number:,} of {name}" for name, number in source.dropped.items())
    return Material(
        source,
        Rows(len(source.groups), own, codes),
        rows_of_cells(source.cells, source.labels, source.size),
        totals(source.group, source.numbers, len(source.groups)).astype(np.int64),
        (f"Records without a value are left out: {dropped}.",) if dropped else (),
        source.backend,
    )


def rows_of_cells(cells: Mapping[str, Any], labels: Mapping[str, Sequence[Any]], K: int) -> Rows:
    columns = {name: ModelColumn(name, tuple(labels[name]), is_randomised=True) for name in cells}
    return Rows(K, columns, dict(cells))


def material_of_tables(measured: Measured, columns: list[str], settings: Settings) -> Material:
    try:
        answers = table_answers(measured, columns, settings)
    except NotShown as error:
        raise NotShown(f"A regression takes a measured table of all its columns. {error}") from None
    layout = answers.layout
    return Material(
        TableSource(answers),
        Rows(1, {}, {}),
        rows_of_cells(layout.cells, layout.categories, layout.size),
        np.ones(1, np.int64),
        tuple(notes_of(measured, settings)),
        "pyarrow",
    )

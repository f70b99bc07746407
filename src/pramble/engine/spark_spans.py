"""What is asked of a Spark frame before it is drawn: rows of its partitions, undeclared values.

Spark counts both itself, in one pass over the randomised columns; only the counts come here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from pramble.data.encode import SHOWN, UNDECLARED, Undeclared
from pramble.data.spark_workers import (
    Batches,
    current_partition,
    functions_for,
    line,
    map_partitions,
    quoted,
)
from pramble.engine.columns import Column

MOST_LABELS = 1_000
"""Columns of more labels are checked when they are drawn."""

WHOLE = ("byte", "short", "integer", "long")


class Span(NamedTuple):
    """The rows of a partition: the number of the first, and how many."""

    first: int
    rows: int


def partition_spans(
    frame: Any, columns: Mapping[str, Column], *, first_row: int
) -> dict[int, Span]:
    """Return the rows of each partition that has any; refuse values that were not declared."""
    F = functions_for(frame.sparkSession)
    strange = {name: undeclared(F, frame.schema[name], own) for name, own in columns.items()}
    asked = {name: found for name, found in strange.items() if found is not None}
    shown = [F.sum(found.cast("long")).alias(str(i)) for i, found in enumerate(asked.values())]
    counted = frame.groupBy(F.spark_partition_id().alias("partition"))
    lines = counted.agg(F.count(F.lit(1)).alias("rows"), *shown).toArrow().to_pylist()
    for i, name in enumerate(asked):
        many = sum(one[str(i)] for one in lines)
        if many:
            labels = columns[name].encoder.labels.values
            raise Undeclared(name, [], [], many, labels[: SHOWN + 1]).error()
    if [one["partition"] for one in lines] == [0]:  # Spark plans values at hand as one partition
        lines = told_by_tasks(frame, next(iter(columns)))
    spans, row = {}, first_row
    for one in sorted(lines, key=lambda one: int(one["partition"])):
        spans[one["partition"]] = Span(row, one["rows"])
        row += one["rows"]
    return spans


def undeclared(F: Any, field: Any, column: Column) -> Any:
    """Return Spark's expression for values that were not declared; None where it has none."""
    kind = field.dataType.typeName()
    by_type = column.encoder.by_type
    labels = [*(by_type[str] if kind == "string" else by_type[int] if kind in WHOLE else ())]
    if kind in WHOLE:
        labels = [label for label in labels if abs(label) < 2**63]
    if not 0 < len(labels) <= MOST_LABELS:
        return None
    values = F.col(quoted(field.name))
    missing = column.encoder.null_code == UNDECLARED
    return F.coalesce(~values.isin(labels), F.lit(missing))


def told_by_tasks(frame: Any, narrow: str) -> list[dict[str, int]]:
    """Return the rows of each partition as tasks meet them."""
    counted = map_partitions(
        frame.selectExpr(f"{quoted(narrow)} as narrow"), count_partition, "partition int, rows long"
    )
    lines: list[dict[str, int]] = counted.toArrow().to_pylist()
    return lines


def count_partition(batches: Batches) -> Iterator[Any]:
    """Yield one line: the partition's number and how many rows it has."""
    met = sum(batch.num_rows for batch in batches)
    yield line(partition=(current_partition(), pa.int32()), rows=(met, pa.int64()))

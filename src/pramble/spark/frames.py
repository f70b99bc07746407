"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called, by Spark itself in one pass over the
randomised columns, and each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers. Only randomised columns pass through Python, before rows go there, so
that no true value is in a shuffle.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from pramble.data.arrays import Rows
from pramble.data.crosstab import unused
from pramble.data.encode import SHOWN, UNDECLARED, Undeclared
from pramble.data.formats.base import BATCH_ROWS
from pramble.engine.block import PlanColumn
from pramble.engine.perturb import check_names, column_rows, perturbed_schema
from pramble.engine.record import Record
from pramble.spark.records import counted, spans_of
from pramble.spark.workers import (
    Batches,
    current_partition,
    functions_for,
    line,
    map_columns,
    map_partitions,
    quoted,
)
from pramble.values import value


@value(eq=False)
class SparkDraws:
    """Draws the columns of a plan, batch by batch: a function of columns for Spark.

    It gets the row numbers where a column has them, and the columns of the plan; it yields these
    side by side, unless there is one alone.
    """

    record: Record  # what draws
    number: str | None = None  # the column of row numbers
    # the rows that were counted, where rows are numbered as they stand
    spans: Mapping[int, range] | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield what is drawn of each batch, a tuple of columns or one column alone."""
        given = (batch if isinstance(batch, tuple) else (batch,) for batch in batches)
        if self.number is not None:
            for own, *rest in given:
                yield self.drawn(column_rows(own, self.number), rest)
            return
        assert self.spans is not None, "rows are numbered as they were counted"
        partition = current_partition()
        span = self.spans.get(partition, range(0))
        row = span.start
        for columns in counted(given, len(span), partition, rows_of=lambda one: len(one[0])):
            rows = range(row, row + len(columns[0]))
            yield self.drawn(rows, columns)
            row = rows.stop

    def drawn(self, rows: Rows, values: Sequence[Any]) -> Any:
        made = self.record.perturb(dict(zip(self.record.columns, values, strict=True)), rows)
        if len(made) == 1:
            return next(iter(made.values()))
        return pa.StructArray.from_arrays(
            list(made.values()), names=list(map(str, range(len(made))))
        )


# A released partition has at most so many rows, and about so many cells.
MOST_ROWS = 1 << 20
MOST_CELLS = 1 << 22

# The bits of Spark's increasing numbers that count within a partition.
IN_PARTITION = (1 << 33) - 1


def perturb_spark(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    record = replace(record, threads=1)  # Spark itself fills the processors
    columns, F = record.columns, functions_for(frame.sparkSession)
    spans = partition_spans(frame, columns, first_row=first_row)
    outcome = outcome_schema(frame.schema, record)
    taken = [name.lower() for name in frame.columns]  # Spark does not tell cases apart
    number, both = row_number or unused("row number", taken), unused("drawn", taken)
    numbered = frame
    if row_number is None:
        numbered = frame.withColumn(number, F.expr(numbers_of(spans, first_row)))
    task = SparkDraws(record, row_number, spans if row_number is None else None)
    kinds = [outcome[name].dataType.simpleString() for name in columns]
    fields = ", ".join(f"`{i}`: {kind}" for i, kind in enumerate(kinds))
    draw = map_columns(frame, task, kinds[0] if len(kinds) == 1 else f"struct<{fields}>")
    asked = [*columns] if row_number is None else [row_number, *columns]
    made = draw(*[F.col(quoted(name)) for name in asked])
    found = {name: F.col(quoted(both)).getField(str(i)) for i, name in enumerate(columns)}
    if len(kinds) == 1:
        found = dict.fromkeys(columns, F.col(quoted(both)))
    drawn = numbered.withColumn(both, made).withColumns(found).drop(both)
    size = partition_rows(len(frame.columns))
    moved = in_even_partitions(F, drawn, number, size=size, rows=sum(map(len, spans.values())))
    shown = {
        name: never_null(F, F.col(quoted(name)), columns[name])
        for name in columns
        if not outcome[name].nullable
    }
    return moved.select(
        *[shown.get(name, F.col(quoted(name))).alias(name) for name in frame.schema.names]
    )


def in_even_partitions(F: Any, frame: Any, number: str, *, size: int, rows: int) -> Any:
    """Return a frame in partitions of one size, in order, that follow from row numbers alone.

    Numbers that are spread widely share partitions: block :math:`b` goes to :math:`b` modulo their
    number.
    """
    parts = max(-(-rows // size), 1)
    place = F.expr(f"cast(pmod(cast({quoted(number)} as long) div {size}, {parts}) as int)")
    return frame.repartitionById(parts, place).sortWithinPartitions(quoted(number))


def numbers_of(spans: Mapping[int, range], first_row: int) -> str:
    """Return Spark's expression for the places of rows as they stand, from 0.

    Spark knows that it is not to be repeated, so that whatever is done to the outcome later, rows
    are numbered first. A partition that had no rows when they were counted has none to number.
    """
    firsts = ", ".join(
        f"{spans[part].start - first_row}L" if part in spans else "0L"
        for part in range(max(spans, default=0) + 1)
    )
    return (
        f"coalesce(get(array({firsts}), spark_partition_id()), 0L)"
        f" + (monotonically_increasing_id() & {IN_PARTITION}L)"
    )


def never_null(F: Any, values: Any, column: PlanColumn) -> Any:
    if any(one is None for one in column.outputs):
        return values
    return F.coalesce(values, F.lit(column.outputs[0]))


def partition_rows(columns: int) -> int:
    """Return how many rows a released partition has, by the number of its columns.

    >>> partition_rows(3), partition_rows(10), partition_rows(100)
    (1048576, 393216, 131072)
    """
    pieces = min(MOST_ROWS, MOST_CELLS // columns) // BATCH_ROWS
    return max(pieces, 1) * BATCH_ROWS


def outcome_schema(schema: Any, record: Record) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    randomised = StructType([field for field in schema if field.name in record.columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), record))
    changed = {field.name: field for field in drawn}
    return StructType([changed.get(field.name, field) for field in schema])


# Columns of more labels are checked when they are drawn.
MOST_LABELS = 1_000

WHOLE = ("byte", "short", "integer", "long")


def partition_spans(
    frame: Any, columns: Mapping[str, PlanColumn], *, first_row: int
) -> dict[int, range]:
    """Return the rows of each partition that has any; refuse values that were not declared."""
    F = functions_for(frame.sparkSession)
    strange = {
        name: undeclared_in_spark(F, frame.schema[name], own) for name, own in columns.items()
    }
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
        lines = rows_by_tasks(frame, next(iter(columns)))
    return spans_of(sorted(lines, key=itemgetter("partition")), first_row=first_row)


def undeclared_in_spark(F: Any, field: Any, column: PlanColumn) -> Any:
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


def rows_by_tasks(frame: Any, narrow: str) -> list[dict[str, int]]:
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

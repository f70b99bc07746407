"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called, by Spark itself in one pass over the
randomised columns, and each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers. They are drawn before they go there, so that no true value of a
randomised column is in a shuffle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.encode import SHOWN, UNDECLARED, Undeclared
from pramble.data.formats.base import BATCH_ROWS
from pramble.engine.block import PlanColumn
from pramble.engine.perturb import check_names, column_rows, perturbed_schema
from pramble.engine.record import BoundPlan
from pramble.errors import InvalidData
from pramble.spark.records import SparkRecords, counted, spans_of
from pramble.spark.workers import Batches, current_partition, functions_for, map_partitions, quoted
from pramble.values import frozen


@frozen(eq=False)
class SparkDraws:
    """Draws the columns of a plan in the batches of a partition, and numbers the rows: a task."""

    record: BoundPlan  # what draws
    names: tuple[str, ...]  # of the columns, which come by place
    # the rows of each partition that were counted, where rows are numbered as they stand
    spans: Mapping[int, range]
    number: str | None = None  # the column of row numbers, where there is one

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Yield what is drawn of each batch, with the numbers of its rows as the last column."""
        partition = current_partition()
        span = self.spans.get(partition, range(0))
        row = span.start
        if self.number is None:
            batches = counted(batches, len(span), partition)
        for batch in batches:
            columns = dict(zip(self.names, batch.columns, strict=True))
            row += batch.num_rows
            rows = (
                range(row - batch.num_rows, row)
                if self.number is None
                else column_rows(columns[self.number], self.number)
            )
            drawn = self.record.perturb({name: columns[name] for name in self.record.columns}, rows)
            numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
            arrays = [*(columns | drawn).values(), pa.array(numbers)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(map(str, range(len(arrays)))))


# A released partition has at most so many rows, and about so many cells.
MOST_ROWS = 1 << 20
MOST_CELLS = 1 << 22


def perturb_spark(frame: Any, record: BoundPlan, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    record = replace(record, threads=1)  # Spark itself fills the processors
    columns, F = record.columns, functions_for(frame.sparkSession)
    spans = partition_spans(frame, columns, first_row=first_row)
    names = frame.schema.names
    task = SparkDraws(record, tuple(names), spans, row_number)
    # Spark takes columns for a task by names that hold nothing odd: their places.
    plain = frame.toDF(*map(str, range(len(names))))
    drawn = map_partitions(plain, task, outcome_schema(frame.schema, record))
    number = str(len(names))
    size, rows = partition_rows(len(names)), sum(map(len, spans.values()))
    # Partitions of one size, in order, that follow from row numbers alone; numbers that are spread
    # widely share them.
    parts = max(-(-rows // size), 1)
    place = F.expr(f"cast(pmod({quoted(number)} div {size}, {parts}) as int)")
    moved = drawn.repartitionById(parts, place).sortWithinPartitions(quoted(number))
    return moved.select(*[F.col(str(i)).alias(name) for i, name in enumerate(names)])


def partition_rows(columns: int) -> int:
    """Return how many rows a released partition has, by the number of its columns.

    >>> partition_rows(3), partition_rows(10), partition_rows(100)
    (1048576, 393216, 131072)
    """
    pieces = min(MOST_ROWS, MOST_CELLS // columns) // BATCH_ROWS
    return max(pieces, 1) * BATCH_ROWS


def outcome_schema(schema: Any, record: BoundPlan) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    for field in schema:
        try:
            to_arrow_schema(StructType([field]), timezone="UTC")
        except (PySparkException, NotImplementedError, ValueError) as error:
            raise InvalidData(
                f"Column {field.name!r} is of type {field.dataType.simpleString()}, which Spark "
                "cannot hand to Python. Cast it, or leave it out."
            ) from error
    randomised = StructType([field for field in schema if field.name in record.columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), record))
    changed = {field.name: field for field in drawn}
    fields = [changed.get(field.name, field) for field in schema]
    fields.append(StructField("number", LongType(), nullable=False))
    return StructType(
        [StructField(str(i), own.dataType, own.nullable) for i, own in enumerate(fields)]
    )


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
    counts = sorted((one["partition"], one["rows"]) for one in lines)
    if [part for part, _ in counts] == [0]:  # Spark plans values at hand as one partition
        narrow = SparkRecords(frame.selectExpr(f"{quoted(next(iter(columns)))} as narrow"))
        counts = [(part, len(span)) for part, span in narrow.spans.items()]
    return spans_of(counts, first_row=first_row)


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

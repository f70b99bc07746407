"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called (over one column; the counts alone reach
the driver), and each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pyarrow as pa

from pramble.data.formats.base import BATCH_ROWS
from pramble.engine.frames import check_names, perturb_batches, perturbed_schema
from pramble.engine.record import Record
from pramble.errors import InvalidData

Batches = Iterable[Any]


def perturb_spark(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    outcome = outcome_schema(frame.schema, record)
    spans = partition_spans(frame, next(iter(record.columns)), first_row=first_row)
    rows = sum(met for _, met in spans.values())
    if row_number is not None:
        drawn = frame.mapInArrow(
            partial(perturb_batches, record=record, row_number=row_number), schema=outcome
        )
        return evenly(drawn, row_number, first_row=0, rows=rows)
    name = unused_name(frame.columns)
    numbered = outcome.__class__([*outcome.fields]).add(name, "long", nullable=False)
    drawn = frame.mapInArrow(by_position(record, spans, name), schema=numbered)
    return evenly(drawn, name, first_row=first_row, rows=rows).drop(name)


def evenly(frame: Any, number: str, *, first_row: int, rows: int) -> Any:
    """Return a frame in partitions of one size that follow from the numbers of the rows alone.

    Numbers that are spread widely share partitions: block :math:`b` goes to :math:`b` modulo their
    number.
    """
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    parts = max(-(-rows // BATCH_ROWS), 1)
    block = F.floor((F.col(f"`{number}`").cast("long") - first_row) / BATCH_ROWS)
    part = F.pmod(block, F.lit(parts)).cast("int")
    return frame.repartitionById(parts, part).sortWithinPartitions(F.col(f"`{number}`"))


def unused_name(names: Iterable[str]) -> str:
    """Return a name for the numbers of rows that no column has."""
    taken = {name.lower() for name in names}
    return next(name for i in count() if (name := f"row number {i}") not in taken)


def outcome_schema(schema: Any, record: Record) -> Any:
    """Return the Spark schema of the outcome; columns left alone keep their type."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    randomised = StructType([field for field in schema if field.name in record.columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), record))
    changed = {field.name: field for field in drawn}
    return StructType([changed.get(field.name, field) for field in schema])


def by_position(
    record: Record, spans: dict[int, tuple[int, int]], name: str
) -> Callable[[Batches], Iterator[Any]]:
    """Return the task for rows numbered by where they stand; it adds their numbers as a column."""

    def task(batches: Batches) -> Iterator[Any]:
        partition = current_partition()
        row, expected = spans.get(partition, (0, 0))
        met = counted(batches, expected, partition)
        for batch in perturb_batches(met, record, first_row=row):
            numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
            row += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, numbers], names=[*batch.schema.names, name]
            )

    return task


def counted(batches: Batches, expected: int, partition: int) -> Iterator[Any]:
    """Yield batches; raise before one that goes beyond the rows counted, or when some are gone."""
    met = 0
    for batch in batches:
        met += batch.num_rows
        if met > expected:
            break
        yield batch
    if met != expected:
        raise moved(partition, expected, met)


def moved(partition: int, expected: int, met: int) -> InvalidData:
    """Return the error for a partition that changed between counting and drawing."""
    return InvalidData(
        f"Rows must stand still to be numbered by position; partition {partition} had {expected} "
        f"rows when they were counted and {met} when they were drawn. Write the frame to files "
        "first, or give row_number= the name of a column that numbers the rows."
    )


def partition_spans(frame: Any, narrow: str, *, first_row: int) -> dict[int, tuple[int, int]]:
    """Return the first row number and the number of rows of each partition that has any."""
    counts = frame.select(narrow).mapInArrow(count_partition, "partition int, count long").collect()
    spans, row = {}, first_row
    for number, met in sorted((line["partition"], line["count"]) for line in counts):
        spans[number] = (row, met)
        row += met
    return spans


def count_partition(batches: Batches) -> Iterator[Any]:
    """Yield one line: the partition's number and how many rows it has."""
    met = sum(batch.num_rows for batch in batches)
    line = [pa.array([current_partition()], pa.int32()), pa.array([met], pa.int64())]
    yield pa.RecordBatch.from_arrays(line, names=["partition", "count"])


def current_partition() -> int:
    """Return the number of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context else 0

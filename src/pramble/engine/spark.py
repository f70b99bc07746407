"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called (over one column; the counts alone reach
the driver), and each task checks that it met as many rows as were counted.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from pramble.engine.frames import Columns, check_names, perturb_batches, perturbed_schema
from pramble.errors import InvalidData

Batches = Iterable[Any]


def perturb_spark(frame: Any, columns: Columns, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, columns, row_number)
    outcome = outcome_schema(frame.schema, columns)
    if row_number is not None:
        return frame.mapInArrow(
            partial(perturb_batches, columns=columns, row_number=row_number), schema=outcome
        )
    spans = partition_spans(frame, next(iter(columns)), first_row=first_row)
    return frame.mapInArrow(by_position(columns, spans), schema=outcome)


def outcome_schema(schema: Any, columns: Columns) -> Any:
    """Return the Spark schema of the outcome; columns left alone keep their type."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    randomised = StructType([field for field in schema if field.name in columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), columns))
    changed = {field.name: field for field in drawn}
    return StructType([changed.get(field.name, field) for field in schema])


def by_position(
    columns: Columns, spans: dict[int, tuple[int, int]]
) -> Callable[[Batches], Iterator[Any]]:
    """Return the task for rows numbered by where they stand."""

    def task(batches: Batches) -> Iterator[Any]:
        partition = current_partition()
        first, expected = spans.get(partition, (0, 0))
        return perturb_batches(counted(batches, expected, partition), columns, first_row=first)

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
    for number, count in sorted((line["partition"], line["count"]) for line in counts):
        spans[number] = (row, count)
        row += count
    return spans


def count_partition(batches: Batches) -> Iterator[Any]:
    """Yield one line: the partition's number and how many rows it has."""
    count = sum(batch.num_rows for batch in batches)
    line = [pa.array([current_partition()], pa.int32()), pa.array([count], pa.int64())]
    yield pa.RecordBatch.from_arrays(line, names=["partition", "count"])


def current_partition() -> int:
    """Return the number of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context else 0

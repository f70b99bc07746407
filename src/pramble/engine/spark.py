"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called (:mod:`pramble.engine.spark_spans`), and
each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers. Rows that are numbered as they stand go there in pieces of many rows,
each one value of a shuffle (:mod:`pramble.engine.spark_pieces`).
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from pramble.data.formats.base import BATCH_ROWS
from pramble.data.spark_chunks import unpacked
from pramble.data.spark_workers import map_partitions, quoted
from pramble.engine.frames import check_names, perturb_batches, perturbed_schema
from pramble.engine.record import Record
from pramble.engine.spark_pieces import PIECES, draw_pieces
from pramble.engine.spark_spans import partition_spans

MOST_ROWS = 1 << 20
MOST_CELLS = 1 << 22
"""A released partition has at most so many rows, and about so many cells."""


def perturb_spark(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    record = replace(record, threads=1)  # Spark itself fills the processors
    outcome = outcome_schema(frame.schema, record)
    spans = partition_spans(frame, record.columns, first_row=first_row)
    size = partition_rows(len(frame.columns))
    parts = max(-(-sum(span.rows for span in spans.values()) // size), 1)
    if row_number is not None:
        task = partial(perturb_batches, record=record, row_number=row_number)
        drawn = map_partitions(frame, task, outcome)
        return in_parts(drawn, quoted(row_number), first_row=0, size=size, parts=parts)
    block = min(size, BATCH_ROWS)
    task = partial(draw_pieces, record=record, spans=spans, first_row=first_row, block=block)
    pieces = map_partitions(frame, task, PIECES)
    sorted_pieces = in_parts(pieces, "number", first_row=first_row, size=size, parts=parts)
    return map_partitions(sorted_pieces, unpacked, outcome)


def in_parts(frame: Any, number: str, *, first_row: int, size: int, parts: int) -> Any:
    """Return a frame in partitions of one size, in order, that follow from numbers of rows alone.

    Numbers that are spread widely share partitions: block :math:`b` goes to :math:`b` modulo their
    number.
    """
    name = unused_name(frame.columns)
    block = f"(cast({number} as long) - {first_row}) div {size}"
    there = frame.selectExpr("*", f"cast(pmod({block}, {parts}) as int) as {quoted(name)}")
    return there.repartitionById(parts, name).sortWithinPartitions(number).drop(name)


def unused_name(names: Iterable[str]) -> str:
    """Return a name for a further column that no column has."""
    taken = {name.lower() for name in names}
    return next(name for i in count() if (name := f"part {i}") not in taken)


def partition_rows(columns: int) -> int:
    """Return how many rows a released partition has, by the number of its columns.

    >>> partition_rows(3), partition_rows(10), partition_rows(100)
    (1048576, 393216, 131072)
    """
    pieces = min(MOST_ROWS, MOST_CELLS // columns) // BATCH_ROWS
    return max(pieces, 1) * BATCH_ROWS


def outcome_schema(schema: Any, record: Record) -> Any:
    """Return the Spark schema of the outcome; columns left alone keep their type."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    randomised = StructType([field for field in schema if field.name in record.columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), record))
    changed = {field.name: field for field in drawn}
    return StructType([changed.get(field.name, field) for field in schema])

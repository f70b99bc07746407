"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called (:mod:`pramble.engine.spark_spans`), and
each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers. Only randomised columns pass through Python
(:mod:`pramble.engine.spark_draws`), before rows go there, so that no true value is in a shuffle.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from pramble.data.formats.base import BATCH_ROWS
from pramble.data.spark_workers import functions_for, map_columns, quoted
from pramble.engine.frames import check_names, perturbed_schema
from pramble.engine.record import Record
from pramble.engine.spark_draws import Draws, codes_in_spark, is_coded, never_null, texts_in_spark
from pramble.engine.spark_spans import Span, partition_spans

MOST_ROWS = 1 << 20
MOST_CELLS = 1 << 22
"""A released partition has at most so many rows, and about so many cells."""

IN_PARTITION = (1 << 33) - 1
"""The bits of Spark's increasing numbers that count within a partition."""


def perturb_spark(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    record = replace(record, threads=1)  # Spark itself fills the processors
    outcome = outcome_schema(frame.schema, record)
    spans = partition_spans(frame, record.columns, first_row=first_row)
    size = partition_rows(len(frame.columns))
    parts = max(-(-sum(span.rows for span in spans.values()) // size), 1)
    if row_number is not None:
        drawn = with_draws(frame, record, outcome, row_number, None)
        there = in_parts(drawn, row_number, first_row=0, size=size, parts=parts)
        return with_texts(there, record, frame.schema, outcome)
    number = next(unused_names(frame.columns))
    numbered = frame.selectExpr("*", f"{numbers_of(spans)} as {quoted(number)}")
    drawn = with_draws(numbered, record, outcome, number, spans)
    there = in_parts(drawn, number, first_row=first_row, size=size, parts=parts)
    return with_texts(there.drop(number), record, frame.schema, outcome)


def numbers_of(spans: Mapping[int, Span]) -> str:
    """Return Spark's expression for the numbers of rows as they stand.

    Spark knows that it is not to be repeated, so that whatever is done to the outcome later, rows
    are numbered first. A partition that had no rows when they were counted has none to number.
    """
    firsts = ", ".join(
        f"{spans[part].first}L" if part in spans else "0L"
        for part in range(max(spans, default=0) + 1)
    )
    return (
        f"coalesce(get(array({firsts}), spark_partition_id()), 0L)"
        f" + (monotonically_increasing_id() & {IN_PARTITION}L)"
    )


def with_draws(
    frame: Any, record: Record, outcome: Any, number: str, spans: Mapping[int, Span] | None
) -> Any:
    """Return a frame with the columns of a plan randomised, those of few texts as codes."""
    F = functions_for(frame.sparkSession)
    coded = frozenset(n for n, own in record.columns.items() if is_coded(frame.schema[n], own))
    kinds = ["short" if n in coded else outcome[n].dataType.simpleString() for n in record.columns]
    schema = f"struct<{', '.join(f'`{i}`: {kind}' for i, kind in enumerate(kinds))}>"
    given = [
        codes_in_spark(F, own) if name in coded else F.col(quoted(name))
        for name, own in record.columns.items()
    ]
    drawn = next(unused_names(frame.columns))
    task = Draws(record, coded, number, spans)
    made = frame.withColumn(drawn, map_columns(frame, task, schema)(F.col(quoted(number)), *given))
    return made.withColumns(
        {name: F.col(quoted(drawn)).getField(str(i)) for i, name in enumerate(record.columns)}
    ).drop(drawn)


def with_texts(frame: Any, record: Record, schema: Any, outcome: Any) -> Any:
    """Return a frame with drawn codes as texts again, and nulls where the outcome has some."""
    F = functions_for(frame.sparkSession)
    found = {}
    for name, own in record.columns.items():
        coded = is_coded(schema[name], own)
        values = texts_in_spark(F, own) if coded else F.col(quoted(name))
        found[name] = values if outcome[name].nullable else never_null(F, values, own)
    return frame.withColumns(found)


def in_parts(frame: Any, number: str, *, first_row: int, size: int, parts: int) -> Any:
    """Return a frame in partitions of one size, in order, that follow from numbers of rows alone.

    Numbers that are spread widely share partitions: block :math:`b` goes to :math:`b` modulo their
    number.
    """
    F = functions_for(frame.sparkSession)
    block = f"(cast({quoted(number)} as long) - {first_row}) div {size}"
    place = F.expr(f"cast(pmod({block}, {parts}) as int)")
    return frame.repartitionById(parts, place).sortWithinPartitions(quoted(number))


def unused_names(names: Iterable[str]) -> Iterator[str]:
    """Yield names for further columns that no column has."""
    taken = {name.lower() for name in names}
    yield from (name for i in count() if (name := f"part {i}") not in taken)


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

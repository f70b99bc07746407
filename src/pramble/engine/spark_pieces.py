"""Pieces of a release on Spark: runs of rows that a shuffle moves as one value.

A partition of the source is drawn piece by piece; a piece ends where a block of row numbers ends or
the partition does. It travels as an Arrow stream in a column of bytes beside its first number, so
that Spark sorts and moves a few large values in place of many rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pramble.data.spark_workers import Batches, current_partition, line
from pramble.engine.frames import perturb_batch
from pramble.engine.record import Record
from pramble.engine.spark_spans import Span
from pramble.errors import InvalidData

PIECES = "number long, piece binary"


def draw_pieces(
    batches: Batches, *, record: Record, spans: Mapping[int, Span], first_row: int, block: int
) -> Iterator[Any]:
    """Yield the pieces of a partition, drawn and packed, with the number of their first row."""
    partition = current_partition()
    span = spans.get(partition, Span(0, 0))
    row = span.first
    for piece in cut(counted(batches, span.rows, partition), row - first_row, block=block):
        drawn = perturb_batch(piece, record, range(row, row + piece.num_rows))
        yield line(number=(row, pa.int64()), piece=(packed(drawn), pa.binary()))
        row += piece.num_rows


def cut(batches: Batches, row: int, *, block: int) -> Iterator[Any]:
    """Yield batches, the first of which begins at a row, anew: they end with blocks of rows."""
    held: list[Any] = []
    left = block - row % block
    for batch in batches:
        start = 0
        while batch.num_rows - start >= left:
            yield pa.concat_batches([*held, batch.slice(start, left)])
            start, left, held = start + left, block, []
        if start < batch.num_rows:
            held.append(batch.slice(start))
            left -= held[-1].num_rows
    if held:
        yield pa.concat_batches(held)


def packed(batch: Any) -> bytes:
    """Return a batch as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(batches: Batches) -> Iterator[Any]:
    """Yield the batches that pieces hold, in their order."""
    for batch in batches:
        for piece in batch["piece"]:
            yield from pa.ipc.open_stream(piece.as_buffer())


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

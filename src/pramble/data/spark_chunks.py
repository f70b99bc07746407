"""Runs of rows that a shuffle of Spark moves as one value: Arrow streams in a column of bytes."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pramble.errors import InvalidData

Batches = Iterable[Any]


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
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def stream_of(piece: Any) -> Iterator[Any]:
    """Yield the batches that the bytes of a piece hold."""
    yield from pa.ipc.open_stream(piece)


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

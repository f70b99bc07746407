"""Pieces of a release on Spark: runs of rows that a shuffle moves as one value.

A partition of the source is drawn piece by piece; a piece ends where a block of row numbers ends or
the partition does. It travels as an Arrow stream in a column of bytes beside its first number, so
that Spark sorts and moves a few large values in place of many rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pramble.data.spark_chunks import counted, cut, packed
from pramble.data.spark_workers import Batches, current_partition, line
from pramble.engine.frames import perturb_batch
from pramble.engine.record import Record
from pramble.engine.spark_spans import Span

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

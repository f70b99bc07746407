"""Lazy polars frames: the key is fixed now, the drawing happens at each collect."""

import numpy as np
import polars as pl

from pramble.data import decode
from pramble.data.arrays import Rows
from pramble.data.crosstab import unused
from pramble.engine.frames import check_names, column_rows
from pramble.engine.record import Record


def perturb_lazy(
    frame: pl.LazyFrame, record: Record, *, row_number: str | None, first_row: int
) -> pl.LazyFrame:
    """Return a lazy frame whose every collect gives the same release.

    Rows carry their number along, so polars may split and reorder the work as it likes.
    """
    schema = frame.collect_schema()
    check_names(schema.names(), record.columns, row_number)
    number = row_number or unused("row number", schema.names())
    if row_number is None:
        frame = frame.with_row_index(number).with_columns(pl.col(number).cast(pl.Int64) + first_row)
    for part in record.parts:
        drawn = unused("drawn", [*schema.names(), number])
        frame = frame.with_columns(lazy_columns(part, number, schema=schema).alias(drawn))
        fields = [pl.col(drawn).struct.field(name) for name in part.columns]
        frame = frame.with_columns(fields).drop(drawn)
    return frame if row_number else frame.drop(number)


def lazy_columns(record: Record, number: str, *, schema: pl.Schema) -> pl.Expr:
    """Return the expression that draws columns together, from their values and row numbers."""
    names = list(record.columns)

    def draw(given: pl.Series) -> pl.Series:
        rows = consecutive(column_rows(given.struct.field(number).to_arrow(), number))
        drawn = record.perturb({name: given.struct.field(name) for name in names}, rows)
        return pl.DataFrame(list(drawn.values())).to_struct(given.name)

    kinds = {
        name: decode.polars_labels(column.outputs, dtype=schema[name]).dtype
        for name, column in record.columns.items()
    }
    given = pl.struct(*names, number)
    return given.map_batches(draw, return_dtype=pl.Struct(kinds), is_elementwise=True)


def consecutive(rows: Rows) -> Rows:
    """Return row numbers as a range if they follow each other."""
    if isinstance(rows, range) or not len(rows) or not (np.diff(rows) == 1).all():
        return rows
    return range(int(rows[0]), int(rows[-1]) + 1)

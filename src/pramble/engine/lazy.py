"""Lazy polars frames: the key is fixed now, the drawing happens at each collect."""

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pramble.data import decode
from pramble.data.crosstab import unused
from pramble.data.rows import Rows
from pramble.engine.columns import Column
from pramble.engine.frames import Columns, check_names, column_rows, perturb_series


def perturb_lazy(
    frame: pl.LazyFrame, columns: Columns, *, row_number: str | None, first_row: int
) -> pl.LazyFrame:
    """Return a lazy frame whose every collect gives the same release.

    Rows carry their number along, so polars may split and reorder the work as it likes.
    """
    schema = frame.collect_schema()
    check_names(schema.names(), columns, row_number)
    number = row_number or unused("row number", schema.names())
    if row_number is None:
        frame = frame.with_row_index(number).with_columns(pl.col(number).cast(pl.Int64) + first_row)
    drawn = [
        lazy_column(column, number, dtype=schema[name]).alias(name)
        for name, column in columns.items()
    ]
    frame = frame.with_columns(drawn)
    return frame if row_number else frame.drop(number)


def lazy_column(column: Column, number: str, *, dtype: Any) -> pl.Expr:
    """Return the expression that draws a column from its values and row numbers."""

    def draw(pair: pl.Series) -> pl.Series:
        rows = consecutive(column_rows(pair.struct.field(number).to_arrow(), number))
        values = nw.from_native(pair.struct.field(column.name), series_only=True)
        drawn: pl.Series = perturb_series(values, column, rows)
        return drawn

    result = decode.polars_labels(column.outputs, dtype=dtype).dtype
    pair = pl.struct(column.name, number)
    return pair.map_batches(draw, return_dtype=result, is_elementwise=True)


def consecutive(rows: Rows) -> Rows:
    """Return row numbers as a range if they follow each other."""
    if isinstance(rows, range) or not len(rows) or not (np.diff(rows) == 1).all():
        return rows
    return range(int(rows[0]), int(rows[-1]) + 1)

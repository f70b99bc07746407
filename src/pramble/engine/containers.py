"""Columns as they come: lists, NumPy arrays, Arrow arrays, Series of pandas and polars."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data.arrays import Rows
from pramble.data.encode import Codes
from pramble.engine.columns import Column
from pramble.errors import InvalidData


def codes_in(values: Any, column: Column, rows: Rows) -> Codes:
    """Return the codes of the values that a container holds; refuse an undeclared one."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidData(f"One column is needed; found an array of {values.ndim} dimensions.")
    if isinstance(values, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray):
        return column.encoder.codes(values, rows)
    series = as_series(values)
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuO"
    return column.encoder.codes(values.to_numpy() if plain else series.to_arrow(), rows)


def as_series(values: Any) -> Any:
    """Return values as a narwhals Series; refuse a container that no door is made for."""
    wrapped = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(wrapped, nw.Series):
        raise unknown(values, "one mechanism")
    return wrapped


def unknown(data: Any, plan: str) -> InvalidData:
    """Return the error for a type that no door is made for."""
    return InvalidData(
        f"{plan.capitalize()} cannot be applied to a {type(data).__name__}. One mechanism is for a "
        "list, NumPy array, Series or Arrow array; a mapping from column names to mechanisms for "
        "a frame of pandas, polars, pyarrow, DuckDB or Spark, or a mapping of columns. Files are "
        "for perturb_file, or for perturb with spark=."
    )

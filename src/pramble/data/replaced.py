"""Columns of any library: codes as labels in a column like another, and frames with new columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data import decode
from pramble.data.encode import Codes
from pramble.data.labels import Label


def labels_like(codes: Codes, labels: Sequence[Label], *, like: Any) -> Any:
    """Return codes as labels in a container like a given one.

    >>> labels_like(np.array([1, 0, 1]), ["no", "yes"], like=["yes"])
    ['yes', 'no', 'yes']
    """
    if isinstance(like, list | tuple):
        return type(like)([labels[code] for code in codes.tolist()])
    if isinstance(like, np.ndarray):
        return decode.numpy_values(codes, labels, like=like)
    if isinstance(like, pa.ChunkedArray):
        return decode.arrow_chunks(codes, labels, like=like)
    if isinstance(like, pa.Array):
        return decode.arrow_values(codes, labels, like=like.type)
    if nw.from_native(like, series_only=True).implementation.is_polars():
        return decode.polars_values(codes, labels, like=like)
    return decode.pandas_values(codes, labels, like=like)


def with_columns(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return an eager frame of pandas, polars or pyarrow with some columns replaced."""
    wrapped = nw.from_native(frame, eager_only=True)
    if wrapped.implementation.is_pyarrow():
        return replaced_in_table(frame, columns)
    if wrapped.implementation.is_polars():
        return frame.with_columns(list(columns.values()))
    return replaced_in_pandas(frame, columns)


def replaced_in_pandas(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return a pandas frame with some columns replaced; the one that came in is left alone."""
    outcome = frame.copy(deep=False)
    for name, values in columns.items():
        outcome[name] = values
    return outcome


def replaced_in_table(table: Any, columns: Mapping[str, Any]) -> Any:
    """Return a pyarrow table with some columns replaced and its metadata kept."""
    for name, values in columns.items():
        position = table.schema.get_field_index(name)
        field = table.schema.field(position).with_type(values.type)
        table = table.set_column(position, field, values)
    return table

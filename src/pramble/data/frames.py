"""Answers as tidy frames of the caller's own library."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw


def backend_of(series: Any) -> str:
    """Return the frame library that a one-dimensional value comes from."""
    library = type(series).__module__.split(".")[0]
    return library if library in {"pandas", "polars"} else "pyarrow"


def frame_of(columns: Mapping[str, list[Any]], *, backend: str) -> Any:
    """Return a frame; labels of several types become strings, since a column has one type."""
    uniform = {name: one_type(values) for name, values in columns.items()}
    library: Any = backend
    return nw.from_dict(uniform, backend=library).to_native()


def one_type(values: list[Any]) -> list[Any]:
    """Return values of one type: unchanged, or all as strings."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and tuple not in kinds:
        return values
    return [None if value is None else str(value) for value in values]

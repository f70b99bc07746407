"""Answers as tidy frames of the caller's own library."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw


def backend_of(series: Any) -> str:
    library = type(series).__module__.split(".")[0]
    return library if library in {"pandas", "polars"} else "pyarrow"


def tidy_frame(
    columns: Mapping[str, list[Any]],
    *,
    backend: str,
    orders: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """Return a frame; labels of several types become strings, since a column has one type.

    Columns of text that have an order keep it: categories in pandas, an enumeration in polars.
    """
    uniform = {name: one_type(values) for name, values in columns.items()}
    library: Any = backend
    frame = nw.from_dict(uniform, backend=library)
    if backend in {"pandas", "polars"}:
        ordered = {
            name: [str(label) for label in labels]
            for name, labels in (orders or {}).items()
            if name in uniform and all(isinstance(label, str) for label in uniform[name])
        }
        frame = frame.with_columns(
            nw.col(name).cast(nw.Enum(labels)) for name, labels in ordered.items()
        )
    return frame.to_native()


def one_type(values: list[Any]) -> list[Any]:
    """Return values of one type: unchanged, or all as strings."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and tuple not in kinds:
        return values
    return [None if value is None else str(value) for value in values]


class Tidy:
    """An answer that is a tidy table: ``columns()`` of equal length, in ``orders``.

    ``table`` is a frame of the library that the data came from, ``backend``.
    """

    backend: str = "pyarrow"

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        raise NotImplementedError

    @property
    def orders(self) -> Mapping[str, Sequence[Any]]:
        """The labels of columns that have an order."""
        return {}

    @cached_property
    def table(self) -> Any:
        """The answer as a tidy frame of the caller's library."""
        return tidy_frame(self.columns(), backend=self.backend, orders=self.orders)

    def to_pandas(self) -> Any:
        """Return the answer as a pandas frame, with categories in order."""
        return tidy_frame(self.columns(), backend="pandas", orders=self.orders)

    def to_polars(self) -> Any:
        """Return the answer as a polars frame, with categories in order."""
        return tidy_frame(self.columns(), backend="polars", orders=self.orders)

    def to_arrow(self) -> Any:
        """Return the answer as an Arrow table."""
        return tidy_frame(self.columns(), backend="pyarrow")

"""Columns out of any frame, and a tidy frame of the same kind back."""

from collections.abc import Iterable, Mapping
from typing import Any

from pramble.errors import InvalidData


def columns_of(frame: Any, names: Iterable[str]) -> tuple[dict[str, Any], str]:
    """Return the named columns as Arrow arrays, and the backend to answer in."""
    wanted = list(dict.fromkeys(names))
    if isinstance(frame, Mapping):
        refuse_missing(wanted, frame)
        return {name: frame[name] for name in wanted}, "pyarrow"
    import narwhals as nw

    try:
        data: Any = nw.from_native(frame)
    except TypeError:
        raise InvalidData(
            f"A frame is needed (pandas, polars, pyarrow or Spark); found {type(frame).__name__}."
        ) from None
    refuse_missing(wanted, data.collect_schema().names())
    data = data.select(wanted)
    backend = data.implementation.name.lower()
    if isinstance(data, nw.LazyFrame):
        data = data.collect(backend=None if backend == "polars" else "pyarrow")
    table = data.to_arrow()
    known = backend if backend in {"pandas", "polars"} else "pyarrow"
    return {name: table.column(name) for name in wanted}, known


def refuse_missing(wanted: Iterable[str], found: Iterable[str]) -> None:
    """Raise when a column is not in the frame."""
    present = list(found)
    for name in wanted:
        if name not in present:
            raise InvalidData(
                f"The file must have a column {name!r}; it has {', '.join(map(repr, present))}."
            )


def is_frame(data: Any) -> bool:
    """Whether data has named columns."""
    return isinstance(data, Mapping) or (
        hasattr(data, "columns") or hasattr(data, "column_names") or hasattr(data, "collect_schema")
    )


def backend_of(series: Any) -> str:
    """Return the frame library that a one-dimensional value comes from."""
    library = type(series).__module__.split(".")[0]
    return library if library in {"pandas", "polars"} else "pyarrow"


def frame_of(columns: Mapping[str, list[Any]], *, backend: str) -> Any:
    """Return a frame; labels of several types become strings, since a column has one type."""
    import narwhals as nw

    uniform = {name: one_type(values) for name, values in columns.items()}
    library: Any = backend
    return nw.from_dict(uniform, backend=library).to_native()


def one_type(values: list[Any]) -> list[Any]:
    """Return values of one type: unchanged, or all as strings."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and tuple not in kinds:
        return values
    return [None if value is None else str(value) for value in values]

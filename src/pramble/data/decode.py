"""Codes to values in the type and container that they came in, and frames with such columns.

Each function makes a short array of the declared outputs in the wanted type and takes from it by
code. The type is the input's where it can hold every output; where it cannot (an integer column
whose outputs are text) it is the type that the outputs have of themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data.encode import Codes
from pramble.data.labels import Label


def numpy_values(codes: Codes, outputs: Sequence[Label], *, like: NDArray[Any]) -> NDArray[Any]:
    kind = like.dtype.kind
    if isinstance(outputs, range) and kind in "iu" and len(outputs) - 1 <= np.iinfo(like.dtype).max:
        return codes.astype(like.dtype, copy=False)
    return numpy_labels(outputs, dtype=like.dtype)[codes]


def numpy_labels(outputs: Sequence[Label], *, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the outputs as an array of ``dtype`` if it holds them, else of their own type."""
    types = {type(label) for label in outputs}
    if dtype.kind in "iu" and types == {int}:
        limits = np.iinfo(dtype)
        if limits.min <= min(outputs) and max(outputs) <= limits.max:
            return np.array(outputs, dtype=dtype)
    if dtype.kind == "U" and types == {str}:
        labels = np.array(outputs)
        return labels.astype(np.result_type(labels.dtype, dtype))
    if dtype.kind in "iuf" and types == {int, type(None)}:
        return np.array(outputs, dtype=np.float64)  # whether or not anyone at hand is missing
    if dtype.kind == "f" and types == {int}:
        return np.array(outputs, dtype=dtype)
    if dtype.kind == "T" and types <= {str}:
        return np.array(outputs, dtype=dtype)
    if dtype.kind != "O" and types in ({int}, {str}, {bool}):
        return np.array(outputs)
    labels = np.empty(len(outputs), dtype=object)
    labels[:] = outputs
    return labels


def arrow_labels(outputs: Sequence[Label], *, like: Any) -> Any:
    """Return the outputs as an Arrow array of type ``like`` if it holds them, else of their own."""
    try:
        return pa.array(outputs, type=like)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return natural_arrow_labels(outputs)


def natural_arrow_labels(outputs: Sequence[Label]) -> Any:
    """Return the outputs as an Arrow array of their own type; as text where it has none."""
    try:
        return pa.array(outputs)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if label is None else str(label) for label in outputs])


def arrow_dictionary(
    codes: Codes, labels: Any, *, index_type: Any = None, ordered: bool = False
) -> Any:
    """Return a dictionary array whose dictionary is the labels, in their order, nulls aside."""
    if labels.null_count:
        filled = labels.is_valid().to_numpy(zero_copy_only=False)
        places = np.where(filled, np.cumsum(filled) - 1, -1).astype(np.int32)[codes]
        indices, labels = pa.array(places, mask=places < 0), labels.drop_null()
    else:
        indices = pa.array(codes)
    kind = pa.int32() if index_type is None else index_type
    if len(labels) - 1 < 2 ** (kind.bit_width - 1):
        indices = indices.cast(kind)
    return pa.DictionaryArray.from_arrays(indices, labels, ordered=ordered)


def arrow_values(codes: Codes, outputs: Sequence[Label], *, like: Any) -> Any:
    if pa.types.is_dictionary(like):
        labels = arrow_labels(outputs, like=like.value_type)
        kind, ordered = like.index_type, like.ordered
        return arrow_dictionary(codes, labels, index_type=kind, ordered=ordered)
    if isinstance(outputs, range) and pa.types.is_integer(like):
        return pa.array(codes).cast(like)
    if pa.types.is_string_view(like):  # Arrow does not take from views
        return arrow_values(codes, outputs, like=pa.large_string()).cast(like)
    return arrow_labels(outputs, like=like).take(pa.array(codes))


def holds(values: Iterable[Any], outputs: Sequence[Label]) -> bool:
    """Whether values that a library made of the outputs still are the outputs."""
    return all(
        label is None or (value == label and isinstance(value, str) == isinstance(label, str))
        for value, label in zip(values, outputs, strict=True)
    )


def pandas_values(codes: Codes, outputs: Sequence[Label], *, like: Any) -> Any:
    """Return a pandas Series with the name, index and dtype of the one that came in."""
    import pandas as pd

    dtype = like.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = pandas_categorical(codes, outputs, dtype=dtype)
    elif isinstance(dtype, np.dtype):
        values = numpy_values(codes, outputs, like=like.to_numpy())
    else:
        values = pandas_extension(outputs, dtype=dtype).take(codes.astype(np.int64))
    dtype_out = object if values.dtype == object else None
    return pd.Series(values, index=like.index, name=like.name, dtype=dtype_out, copy=False)


def pandas_categorical(codes: Codes, outputs: Sequence[Label], *, dtype: Any) -> Any:
    """Return a categorical of the declared outputs; an ordered one keeps its own order."""
    import pandas as pd

    declared = [label for label in outputs if label is not None]
    if dtype.ordered and set(dtype.categories) == set(declared):
        declared = list(dtype.categories)
    order = {label: code for code, label in enumerate(declared)}
    table = np.array([order.get(label, -1) for label in outputs])
    return pd.Categorical.from_codes(
        table[codes].tolist() if not len(codes) else table[codes],
        categories=pd.Index(declared),
        ordered=dtype.ordered,
    )


def pandas_extension(outputs: Sequence[Label], *, dtype: Any) -> Any:
    """Return the outputs as a pandas array of ``dtype`` if it holds them, else of their own."""
    import pandas as pd

    try:
        labels = pd.array(list(outputs), dtype=dtype)
    except (TypeError, ValueError, OverflowError, pa.ArrowInvalid):
        return pd.array(list(outputs))
    return labels if holds(labels.astype(object), outputs) else pd.array(list(outputs))


def polars_labels(outputs: Sequence[Label], *, dtype: Any) -> Any:
    """Return the outputs as a polars Series of ``dtype`` if it holds them, else of their own."""
    import polars as pl

    if isinstance(dtype, pl.Enum) and not set(outputs) <= {None, *dtype.categories}:
        declared = [label for label in outputs if isinstance(label, str)]
        if len(declared) + (None in outputs) == len(outputs):
            return pl.Series(list(outputs), dtype=pl.Enum(declared))
    own = pl.from_arrow(natural_arrow_labels(outputs))
    try:
        labels = pl.Series(list(outputs), dtype=dtype)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return own
    return labels if holds(labels, outputs) else own


def labels_like(codes: Codes, labels: Sequence[Label], *, like: Any) -> Any:
    """Return codes as labels in a container like a given one.

    >>> labels_like(np.array([1, 0, 1]), ["no", "yes"], like=["yes"])
    ['yes', 'no', 'yes']
    """
    if isinstance(like, list | tuple):
        return type(like)([labels[code] for code in codes.tolist()])
    if isinstance(like, np.ndarray):
        return numpy_values(codes, labels, like=like)
    if isinstance(like, pa.ChunkedArray):
        ends = np.cumsum([len(chunk) for chunk in like.chunks])[:-1]
        parts = np.split(codes, ends) if like.num_chunks else [codes]
        chunks = [arrow_values(part, labels, like=like.type) for part in parts]
        return pa.chunked_array(chunks)
    if isinstance(like, pa.Array):
        return arrow_values(codes, labels, like=like.type)
    if nw.from_native(like, series_only=True).implementation.is_polars():
        import polars as pl

        values = polars_labels(labels, dtype=like.dtype)
        return values.gather(pl.Series(codes, dtype=pl.UInt32)).alias(like.name)
    return pandas_values(codes, labels, like=like)


def with_columns(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return an eager frame of pandas, polars or pyarrow with some columns replaced."""
    wrapped = nw.from_native(frame, eager_only=True)
    if wrapped.implementation.is_polars():
        return frame.with_columns(list(columns.values()))
    if wrapped.implementation.is_pyarrow():
        for name, values in columns.items():
            position = frame.schema.get_field_index(name)
            field = frame.schema.field(position).with_type(values.type)  # keeps its metadata
            frame = frame.set_column(position, field, values)
        return frame
    outcome = frame.copy(deep=False)  # the caller's own frame must not change
    for name, values in columns.items():
        outcome[name] = values
    return outcome

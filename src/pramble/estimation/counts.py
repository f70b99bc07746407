"""Count released values: any 1-D data or column to codes in the order of a mechanism's outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.labels import label_key, plain_label
from pramble.errors import InvalidData
from pramble.values import Floats

Codes = NDArray[np.int64]


def distinct(values: Any) -> tuple[Codes, list[Any]]:
    """Return a code per row, and the distinct labels that the codes stand for."""
    column = as_arrow(values)
    if column is None:
        return distinct_of_mixed(values)
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    labels = column.dictionary.to_pylist()
    codes = column.indices
    if codes.null_count:
        codes, labels = codes.fill_null(len(labels)), [*labels, None]
    return codes.to_numpy().astype(np.int64, copy=False), labels


def as_arrow(values: Any) -> Any:
    """Return an Arrow array, or None for a sequence of several types, which Arrow cannot hold."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 or tuple in kinds:
            return None
    elif not hasattr(values, "__array__"):
        raise InvalidData(f"A column of values is needed; found {type(values).__name__}.")
    elif np.ndim(values) != 1:
        raise InvalidData(f"A column must have one dimension; found {np.ndim(values)}.")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def distinct_of_mixed(values: Any) -> tuple[Codes, list[Any]]:
    """Return codes and distinct labels of values of several types."""
    known: dict[Any, int] = {}
    labels: list[Any] = []
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        label = plain_label(value, position=row)
        code = known.setdefault(label_key(label), len(known))
        if code == len(labels):
            labels.append(label)
        codes[row] = code
    return codes, labels


def encode(values: Any, outputs: Sequence[Any], *, column: str | None = None) -> Codes:
    """Return the position of every value among ``outputs``; refuse a value that is not there."""
    codes, labels = distinct(values)
    position = {label_key(label): z for z, label in enumerate(outputs)}
    place = np.array([position.get(label_key(label), -1) for label in labels], dtype=np.int64)
    unknown = np.flatnonzero(place < 0)
    for code in unknown:
        rows = np.flatnonzero(codes == code)
        if rows.size:
            where = "" if column is None else f" of column {column!r}"
            raise InvalidData(
                f"Every released value must be an output of the mechanism; row {rows[0]}{where} "
                f"holds {labels[code]!r} ({type(labels[code]).__name__}). "
                "Use the plan this file was released with."
            )
    return np.asarray(place[codes])


def checked_counts(counts: ArrayLike, size: int) -> Floats:
    """Return counts as floats; refuse a wrong length, negative or non-finite ones, and all zero."""
    try:
        answer = np.array(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData("Counts must be a vector of numbers.") from None
    if answer.shape != (size,):
        raise InvalidData(
            f"Counts must be one number for each of the {size} outputs; found shape {answer.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(answer) & (answer >= 0)))
    if bad.size:
        raise InvalidData(f"Counts must not be negative; position {bad[0]} holds {answer[bad[0]]}.")
    if not answer.sum() > 0:
        raise InvalidData("Counts must not all be zero.")
    return answer

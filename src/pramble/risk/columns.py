"""Columns of any frame or file, as codes over their levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import label_key
from pramble.errors import InvalidData

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Coded:
    """One column: its distinct labels in sorted order (missing last), and a code per row."""

    labels: tuple[Any, ...]
    codes: Codes


def read_columns(data: Any, columns: Sequence[str], *, numeric: Sequence[str] = ()) -> Any:
    """Return the named columns of a frame or file as a ``pyarrow.Table``.

    In a CSV file every column is text but the ``numeric`` ones: key values are codes, and "01" is
    not "1".
    """
    wanted = list(dict.fromkeys((*columns, *numeric)))
    if isinstance(data, str | Path):
        return _read_file(Path(data), wanted, numeric=numeric)
    return _select(data, wanted)


def encode(column: Any) -> Coded:
    """Return the codes of an Arrow column over its sorted labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = _floats_as_labels(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    values = [*column.dictionary.to_pylist(), None]
    indices = np.asarray(column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False))
    return _sorted_codes(values, indices.astype(np.int64))


def as_floats(column: Any, *, name: str) -> NDArray[np.float64]:
    """Return an Arrow column as finite numbers, naming the first row that holds none."""
    import pyarrow as pa

    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidData(f"Column {name!r} must hold numbers; found type {column.type}.") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidData(f"Column {name!r} must hold numbers; row {bad[0]} holds none.")
    return values


def find_level(labels: Sequence[Any], value: Any) -> int | None:
    """Return where a label stands: by type and value, else by its text (files hold text)."""
    keys = [label_key(label) for label in labels]
    if label_key(value) in keys:
        return keys.index(label_key(value))
    texts = [str(label) for label in labels]
    found = value is not None and texts.count(str(value)) == 1
    return texts.index(str(value)) if found else None


def _read_file(path: Path, wanted: list[str], *, numeric: Sequence[str]) -> Any:
    import pyarrow.csv
    import pyarrow.parquet

    if not path.exists():
        raise InvalidData(f"There is no file {str(path)!r}.")
    kind = path.suffix.lower()
    if kind in {".parquet", ".pq"}:
        _refuse_unknown(wanted, pyarrow.parquet.read_schema(path).names)
        return pyarrow.parquet.read_table(path, columns=wanted)
    if kind not in {".csv", ".tsv", ".txt"}:
        raise InvalidData(f"A file must end in .csv, .tsv, .txt or .parquet; found {path.name!r}.")
    parse = pyarrow.csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ",")
    with pyarrow.csv.open_csv(path, parse_options=parse) as reader:
        _refuse_unknown(wanted, reader.schema.names)
    types = {name: pyarrow.string() for name in wanted if name not in numeric}
    convert = pyarrow.csv.ConvertOptions(
        include_columns=wanted, column_types=types, strings_can_be_null=True, null_values=["", "NA"]
    )
    return pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert)


def _select(data: Any, wanted: list[str]) -> Any:
    import narwhals as nw
    import pyarrow as pa

    if isinstance(data, Mapping):
        _refuse_unknown(wanted, list(data))
        return pa.table({name: pa.array(data[name]) for name in wanted})
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise InvalidData(
            "Data must be a pandas, polars or Spark frame, a pyarrow table, a mapping from names "
            "to columns, or the path of a CSV or Parquet file; found "
            f"{type(data).__name__}."
        ) from None
    _refuse_unknown(wanted, frame.collect_schema().names())
    chosen = frame.select(wanted)
    eager = chosen.collect("pyarrow") if isinstance(chosen, nw.LazyFrame) else chosen
    return eager.to_arrow()


def _refuse_unknown(wanted: Sequence[str], present: Sequence[str]) -> None:
    for name in wanted:
        if name not in present:
            shown = ", ".join(map(repr, list(present)[:12])) + (", …" if len(present) > 12 else "")
            raise InvalidData(f"There is no column {name!r}; the data has {shown}.")


def _floats_as_labels(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.if_else(pc.is_nan(column), None, column)
    whole = pc.all(pc.equal(column, pc.round(column))).as_py()
    return column.cast(pa.int64()) if whole else column


def _sorted_codes(values: list[Any], indices: NDArray[np.int64]) -> Coded:
    used = np.flatnonzero(np.bincount(indices, minlength=len(values)))
    labels: dict[tuple[Any, ...], Any] = {label_key(values[i]): values[i] for i in used}
    order = sorted(labels, key=lambda key: (labels[key] is None, _sortable(labels[key])))
    place = {key: code for code, key in enumerate(order)}
    lookup = np.zeros(len(values), dtype=np.int32)
    for i in used:
        lookup[i] = place[label_key(values[i])]
    return Coded(tuple(labels[key] for key in order), lookup[indices])


def _sortable(label: Any) -> tuple[str, Any]:
    if isinstance(label, bool | int | float):
        return "", label
    return type(label).__name__, label if isinstance(label, str) else str(label)

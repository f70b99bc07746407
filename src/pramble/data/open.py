"""One door for data: a path, any frame, a reader, a stream or a mapping becomes `Records`."""

import glob
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import pyarrow as pa

from pramble.data.arrays import number_of_rows, value_type
from pramble.data.formats.base import Format, Wanted, refuse_repeated, sound_file
from pramble.data.formats.registry import format_of, split_ending
from pramble.data.places import Place, is_address, path_or_place, shown_address
from pramble.data.recode import Reading, as_reading
from pramble.data.records import (
    FileRecords,
    LazyRecords,
    MixedRecords,
    Records,
    TableRecords,
    mixed,
)
from pramble.data.remote import SparkPath, is_spark, on_spark
from pramble.errors import InvalidData, with_values


def open_records(data: Any, reading: Reading | Mapping[str, Any] | None = None) -> Records:
    """Return the records of whatever holds them, read as said; what is not said is found out.

    Data is a file of any known format, a folder of files of one format, or a pattern such as
    ``"part-*.csv"``; a frame of pandas, polars (eager or lazy), pyarrow, DuckDB or Spark; an Arrow
    reader, or anything with ``__arrow_c_stream__``; or a mapping from names to columns.

    >>> open_records({"sex": ["f", "m"], "age": [30, 41]}).names
    ('sex', 'age')
    """
    read_as = as_reading(reading)
    if isinstance(data, Records):
        return data
    if isinstance(data, Place):
        return open_files(cast("Path", data), read_as)
    if is_address(data):
        raise InvalidData(
            f"An address is read with spark=; found {shown_address(data)!r}. Give spark=, "
            "or a path."
        )
    if isinstance(data, str | os.PathLike):
        return open_files(Path(data), read_as)
    if isinstance(data, SparkPath):
        return open_on_spark(data, read_as)
    if isinstance(data, Mapping):
        return open_columns(data, read_as)
    return open_frame(data, read_as)


def open_files(path: Path, reading: Reading) -> FileRecords:
    paths = files_of(path)
    forms = {form.name: form for form in (format_of(one, reading.format) for one in paths)}
    if len(forms) > 1:
        raise InvalidData(
            f"{str(path)!r} must hold files of one format; found {', '.join(sorted(forms))}."
        )
    form = next(iter(forms.values()))
    with sound_file(path, form.name):
        if form.settle is not None:
            reading = form.settle(paths[0], reading)
    schema, rows = peek(paths, form, reading)
    return FileRecords(paths, form, schema, reading, path.name, path, rows)


def open_on_spark(data: SparkPath, reading: Reading) -> Records:
    where = path_or_place(data.path).absolute()
    files = open_files(where, reading)
    if files.format.name != "parquet":
        raise InvalidData(
            f"With spark= the files must be Parquet; {str(where)!r} is {files.format.name}. "
            "Read it with Spark and release the frame, or leave spark= out."
        )
    found: Records = on_spark("SparkFileRecords").of(files, data.session)
    return found


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the data files that a path stands for, in the order of their names.

    A folder stands for its files with a known ending but .txt, which are often notes; a pattern
    takes those too. Hidden files, and those private to another program, are left out.
    """
    if path.is_file():
        if not path.stat().st_size:
            raise InvalidData(f"{str(path)!r} must hold data; it is empty.")
        return (path,)
    if path.is_dir():
        found = sorted(
            member
            for member in path.rglob("*")
            if member.is_file()
            and split_ending(member)[0] not in ("", ".txt")
            and not any(part.startswith((".", "_")) for part in member.relative_to(path).parts)
        )
        if not found:
            raise InvalidData(f"{str(path)!r} must hold data files; none has a known ending.")
        return tuple(found)
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
    if not found:
        raise InvalidData(f"There is no file {str(path)!r}.")
    return tuple(found)


def peek(paths: tuple[Path, ...], form: Format, reading: Reading) -> tuple[Any, int | None]:
    """Return the schema of all files, and the number of rows where every file tells it."""
    schemas: list[Any] = []
    rows: int | None = 0
    for path in paths:
        with sound_file(path, form.name), form.read(path, Wanted(reading)) as opened:
            schema = opened.schema.remove_metadata()
            rows = None if rows is None or opened.rows is None else rows + opened.rows
        refuse_repeated(schema.names, path)
        if schemas and set(schema.names) != set(schemas[0].names):
            other = InvalidData(
                f"Every file must have the same columns; {path.name} has others than "
                f"{paths[0].name}."
            )
            raise with_values(other, f"{list(schemas[0].names)} and {list(schema.names)}")
        schemas.append(schema)
    return (schemas[0] if len(paths) == 1 else common_schema(schemas)), rows


def common_schema(schemas: list[Any]) -> Any:
    """Return types that hold the values of every file: wider numbers, and no dictionaries."""
    fields = []
    for name in schemas[0].names:
        found = dict.fromkeys(value_type(schema.field(name).type) for schema in schemas)
        singles = [pa.schema([(name, one)]) for one in found]
        try:
            fields.append(pa.unify_schemas(singles, promote_options="permissive").field(0))
        except pa.ArrowException:
            raise InvalidData(
                f"Column {name!r} must have one type in every file; it has "
                f"{' and '.join(map(str, found))}."
            ) from None
    return pa.schema(fields)


def open_columns(data: Mapping[str, Any], reading: Reading) -> Records:
    for name, values in data.items():
        if not isinstance(name, str) or isinstance(values, str | bytes):
            raise InvalidData("Columns are a mapping from names to sequences of values.")
    is_mixed = any(mixed(values) for values in data.values())
    columns = {n: v if is_mixed else as_arrow(v, n) for n, v in data.items()}
    number_of_rows(columns)
    if is_mixed:
        return MixedRecords(columns, reading)
    return TableRecords(pa.table(columns), "pyarrow", reading)


def as_arrow(values: Any, name: str = "") -> Any:
    """Return a column of any library as Arrow; NaN of pandas is missing."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InvalidData(
            f"Column {name!r} must be a sequence of values of one type; it is not."
        ) from None


def open_frame(data: Any, reading: Reading) -> Records:
    if isinstance(data, pa.RecordBatch):
        return TableRecords(pa.table(data), "pyarrow", reading)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and is_spark(frame.implementation):
        found: Records = on_spark("SparkRecords")(frame.to_native(), "pyarrow", reading)
        return found
    if isinstance(frame, nw.LazyFrame):
        known = "polars" if frame.implementation.is_polars() else "pyarrow"
        return LazyRecords(frame, known, reading)
    if isinstance(frame, nw.DataFrame):
        return from_eager(frame, reading)
    if hasattr(data, "__arrow_c_stream__"):
        return TableRecords(pa.table(data), "pyarrow", reading)
    raise InvalidData(
        "Data is a path, a frame of pandas, polars, pyarrow, DuckDB or Spark, an Arrow stream, or "
        f"a mapping from names to columns; found {type(data).__name__}."
    )


def from_eager(frame: Any, reading: Reading) -> Records:
    backend = frame.implementation.name.lower()
    known = backend if backend in {"pandas", "polars"} else "pyarrow"
    if known != "pandas":
        return TableRecords(frame.to_arrow(), known, reading)
    native = frame.to_native()
    objects = [name for name in native.columns if native[name].dtype == object]
    if any(mixed(native[name].dropna().tolist()) for name in objects):
        return MixedRecords({str(n): native[n].tolist() for n in native.columns}, reading, known)
    columns = {str(name): as_arrow(native[name], str(name)) for name in native.columns}
    return TableRecords(pa.table(columns), known, reading)


def is_frame(data: Any) -> bool:
    """Whether data has named columns (a path does), rather than being one column."""
    named = ("columns", "column_names", "collect_schema")
    return isinstance(data, Mapping | str | os.PathLike | Records) or any(
        hasattr(data, name) for name in named
    )

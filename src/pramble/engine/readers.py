"""Data files as streams of Arrow batches."""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramble.engine.formats import is_text, source_format
from pramble.errors import InvalidData

BATCH_ROWS = 1 << 17
CSV_BLOCK = 1 << 22

READ_ERRORS = (pa.ArrowException, OSError, ValueError, EOFError)


@dataclass(frozen=True)
class Source:
    """An open file.

    Columns that will be randomised may come as dictionaries of the type that ``schema`` names.
    ``share_read`` tells how much of the file has been read, between 0 and 1. A file that is not
    ``typed`` holds nothing but text.
    """

    schema: Any
    batches: Iterable[Any]
    share_read: Callable[[], float]
    typed: bool = True
    compression: str = "snappy"


@contextmanager
def opened(path: Path, perturbed: Collection[str]) -> Iterator[Source]:
    """Open a data file; whatever is wrong with it is told in one sentence."""
    opener = OPENERS[source_format(path)]
    if not path.is_file():
        raise InvalidData(f"{path} does not exist or is no file.")
    if not path.stat().st_size:
        raise InvalidData(f"{path} must hold data; it is empty.")
    with ExitStack() as stack:
        try:
            source = stack.enter_context(opener(path, perturbed))
        except READ_ERRORS as error:
            raise unreadable(path, error) from error
        yield source


def unreadable(path: Path, error: Exception) -> InvalidData:
    """Return the error for a file that is not what its name says."""
    if isinstance(error, InvalidData):
        return error
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return InvalidData(
        f"{path} must be a sound {source_format(path)} file; reading it failed: {lines[0]}"
    )


def guarded(path: Path, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches, with every failure to read told in one sentence."""
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
        except READ_ERRORS as error:
            raise unreadable(path, error) from error
        if batch is None:
            return
        yield batch


@contextmanager
def open_parquet(path: Path, perturbed: Collection[str]) -> Iterator[Source]:
    """Open a Parquet file; text to be randomised is left in the file's own dictionaries."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    texts = [field.name for field in schema if field.name in perturbed and is_text(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        total, seen = max(file.metadata.num_rows, 1), [0]
        yield Source(
            schema,
            tallied(file.iter_batches(BATCH_ROWS), seen),
            lambda: seen[0] / total,
            compression=compression_of(file.metadata),
        )


def tallied(batches: Iterable[Any], seen: list[int]) -> Iterator[Any]:
    """Yield batches and count their rows."""
    for batch in batches:
        seen[0] += batch.num_rows
        yield batch


def compression_of(metadata: Any) -> str:
    """Return the compression of a Parquet file's first column, or the usual one."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    found = metadata.row_group(0).column(0).compression.lower()
    return "none" if found == "uncompressed" else found


@contextmanager
def open_csv(path: Path, _perturbed: Collection[str]) -> Iterator[Source]:
    """Open a CSV file, plain or gzipped, with every column as text, null where it is empty."""
    import pyarrow.csv as pc

    size = path.stat().st_size
    with pa.OSFile(str(path)) as raw:
        stream = pa.CompressedInputStream(raw, "gzip") if path.suffix == ".gz" else raw
        names = csv_header(path)
        reader = pc.open_csv(
            stream,
            read_options=pc.ReadOptions(block_size=CSV_BLOCK),
            parse_options=pc.ParseOptions(newlines_in_values=True),
            convert_options=pc.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        yield Source(reader.schema, reader, lambda: raw.tell() / size, typed=False)


def csv_header(path: Path) -> list[str]:
    """Return the names in the first line."""
    compression = "gzip" if path.suffix == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        line = next(csv.reader([first_record(stream)]), [])
    twice = {name for name in line if line.count(name) > 1}
    if twice:
        raise InvalidData(
            f"{path} must name each column once; {min(twice)!r} stands more than once."
        )
    return line


def first_record(stream: Any) -> str:
    """Return the first line of a stream, which may have quoted line breaks, as text."""
    head: bytes = b""
    while chunk := stream.read(1 << 16):
        head += chunk
        for end, byte in enumerate(head):
            if byte == ord("\n") and head[:end].count(b'"') % 2 == 0:
                return head[:end].decode("utf-8-sig").rstrip("\r")
    return head.decode("utf-8-sig")


@contextmanager
def open_arrow(path: Path, _perturbed: Collection[str]) -> Iterator[Source]:
    """Open an Arrow IPC file, or a stream of batches in a file."""
    with pa.memory_map(str(path)) as mapped:
        try:
            file = pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            reader = pa.ipc.open_stream(mapped)
            size = path.stat().st_size
            yield Source(reader.schema, sliced(reader), lambda: mapped.tell() / size)
            return
        count, seen = file.num_record_batches, [0]
        batches = (file.get_batch(i) for i in counting(count, seen))
        yield Source(file.schema, sliced(batches), lambda: seen[0] / max(count, 1))


def counting(count: int, seen: list[int]) -> Iterator[int]:
    """Yield 0, 1, …, count − 1 and note how far it has come."""
    for i in range(count):
        seen[0] = i + 1
        yield i


def sliced(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches in pieces of bounded size."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def stat_opener(function: str) -> Callable[..., AbstractContextManager[Source]]:
    """Return what opens a Stata, SPSS or SAS file by the pyreadstat function of that name."""

    @contextmanager
    def open_stat(path: Path, _perturbed: Collection[str]) -> Iterator[Source]:
        try:
            import pyreadstat
        except ImportError:
            raise InvalidData(
                f"{path} is read through pyreadstat: pip install pramble[statfiles]."
            ) from None
        read = getattr(pyreadstat, function)
        try:
            _, about = read(str(path), metadataonly=True)
            chunks = pyreadstat.read_file_in_chunks(read, str(path), chunksize=BATCH_ROWS)
            frames = (frame for frame, _ in chunks if len(frame))
            first = next(frames, None)
        except pyreadstat.ReadstatError as error:
            raise unreadable(path, error) from error
        if first is None:
            raise InvalidData(f"{path} must have rows; it has none.")
        total, seen = max(about.number_rows or len(first), 1), [0]
        schema = stat_schema(first)
        batches = stat_batches(first, frames, schema)
        yield Source(schema, tallied(batches, seen), lambda: min(1.0, seen[0] / total))

    return open_stat


def stat_schema(frame: Any) -> Any:
    """Return the Arrow schema of a chunk; columns without any value are text."""
    schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    fields = [
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema
    ]
    return pa.schema(fields)


def stat_batches(first: Any, others: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield chunks of a statistics file as batches of one schema."""
    yield pa.RecordBatch.from_pandas(first, schema=schema, preserve_index=False)
    for frame in others:
        yield pa.RecordBatch.from_pandas(frame, schema=schema, preserve_index=False)


OPENERS: dict[str, Callable[..., AbstractContextManager[Source]]] = {
    "parquet": open_parquet,
    "csv": open_csv,
    "csv.gz": open_csv,
    "arrow": open_arrow,
    "stata": stat_opener("read_dta"),
    "spss": stat_opener("read_sav"),
    "spss portable": stat_opener("read_por"),
    "sas": stat_opener("read_sas7bdat"),
    "sas transport": stat_opener("read_xport"),
}

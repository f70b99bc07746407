"""Streams of Arrow batches into data files."""

import base64
import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa

from pramble.engine.formats import is_text

ROW_GROUP_ROWS = 1 << 20
ROW_GROUP_BYTES = 1 << 27
GZIP_LEVEL = 4


class Writer(Protocol):
    """Takes batches whose columns have the schema's types, or are dictionaries of them."""

    def write(self, batch: Any) -> None:
        """Write one batch."""


@contextmanager
def writing(path: Path, kind: str, *, schema: Any, compression: str) -> Iterator[Writer]:
    """Open a file for writing in one of the written formats."""
    with path.open("wb") as raw:
        if kind == "parquet":
            with ParquetWriter(raw, schema, compression=compression) as parquet:
                yield parquet
        elif kind == "arrow":
            with pa.ipc.new_file(raw, schema) as ipc:
                yield PlainWriter(ipc, schema)
        elif kind == "csv.gz":
            with gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) as zipped:
                yield CSVWriter(zipped, schema)
        else:
            yield CSVWriter(raw, schema)


def plain(batch: Any, schema: Any) -> Any:
    """Return a batch with the schema's own types."""
    arrays = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class PlainWriter:
    """Writes batches as they are, for Arrow files."""

    def __init__(self, sink: Any, schema: Any) -> None:
        self.sink, self.schema = sink, schema

    def write(self, batch: Any) -> None:
        """Write one batch."""
        self.sink.write_batch(plain(batch, self.schema))


class ParquetWriter:
    """Gathers batches into row groups and writes dictionaries as dictionaries.

    Arrow would note in the file that such columns are dictionaries; the note is written here
    instead, with the types that the schema names.
    """

    def __init__(self, sink: Any, schema: Any, *, compression: str) -> None:
        self.sink, self.schema, self.compression = sink, schema, compression
        self.file: Any = None
        self.waiting: list[Any] = []

    def write(self, batch: Any) -> None:
        """Write one batch, or keep it until a row group is full."""
        self.waiting.append(batch)
        rows = sum(one.num_rows for one in self.waiting)
        if rows >= ROW_GROUP_ROWS or sum(one.nbytes for one in self.waiting) >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting as one row group."""
        import pyarrow.parquet as pq

        if not self.waiting:
            return
        table = pa.Table.from_batches(self.waiting)
        if self.file is None:
            self.file = pq.ParquetWriter(
                self.sink, table.schema, compression=self.compression, store_schema=False
            )
        self.file.write_table(table, row_group_size=len(table))
        self.waiting = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.complete()
        elif self.file is not None:
            with suppress(OSError, ValueError):  # the file is given up; its first error is told
                self.file.close()

    def complete(self) -> None:
        """Write what is left, and the note of the types."""
        self.flush()
        note = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        self.file.add_key_value_metadata({"ARROW:schema": note, **(self.schema.metadata or {})})
        self.file.close()


class CSVWriter:
    """Writes text with quotes where they are needed.

    Arrow either quotes every text or refuses one that needs quotes. Blocks are tried without;
    a block with a value that needs quotes (an empty text does, to be told from null) has all its
    text quoted.
    """

    def __init__(self, sink: Any, schema: Any) -> None:
        self.sink, self.schema = sink, schema
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        sink.write(header.getvalue().encode())

    def write(self, batch: Any) -> None:
        """Write one batch."""
        batch = plain(batch, self.schema)
        if len(self.schema) == 1:  # an empty line would be no row
            texts = batch.column(0).cast(pa.string()).fill_null("")
            batch = pa.RecordBatch.from_arrays([texts], names=self.schema.names)
        if has_empty_text(batch) or not self._written(batch, quotes="none"):
            self._written(batch, quotes="needed")

    def _written(self, batch: Any, *, quotes: str) -> bool:
        import pyarrow.csv as pc

        block = pa.BufferOutputStream()
        options = pc.WriteOptions(include_header=False, quoting_style=quotes)
        try:
            pc.write_csv(batch, block, options)
        except pa.ArrowInvalid:
            if quotes == "none":
                return False
            raise
        self.sink.write(block.getvalue())
        return True


def has_empty_text(batch: Any) -> bool:
    """Whether any value is text without a character."""
    import pyarrow.compute as pc

    texts = (column for column in batch.columns if is_text(column.type))
    return any(pc.min(pc.binary_length(column)).as_py() == 0 for column in texts)

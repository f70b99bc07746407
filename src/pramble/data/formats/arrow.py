"""Arrow files (Feather), streams of batches in a file, and Parquet."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

import pyarrow as pa

from pramble.data.arrays import Pile, is_text, value_type
from pramble.data.formats.base import (
    BATCH_ROWS,
    NOTE,
    Opened,
    RowProgress,
    Wanted,
    Writer,
    bare,
    refuse_repeated,
    sliced,
)
from pramble.data.places import arrow_input


@contextmanager
def read_arrow(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open an Arrow IPC file, or a stream of batches in a file."""
    with pa.memory_map(str(path)) as mapped:
        try:
            file = pa.ipc.open_file(mapped)
            found = (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            mapped.seek(0)
            file = found = pa.ipc.open_stream(mapped)
        columns = wanted.among(file.schema.names)
        schema = file.schema.empty_table().select(columns).schema
        tally = RowProgress(None)
        yield Opened(schema, tally(sliced(one.select(columns) for one in found)), tally.share)


class ArrowWriter:
    def __init__(self, sink: Any, schema: Any) -> None:
        self.sink, self.schema, self.pile = sink, schema, Pile(BATCH_ROWS)

    def write(self, batch: Any) -> None:
        pairs = zip(batch.columns, self.schema.types, strict=True)
        arrays = [one if one.type == kind else one.cast(kind) for one, kind in pairs]
        for full in self.pile.add(pa.RecordBatch.from_arrays(arrays, schema=self.schema)):
            self.put(full)

    def put(self, pile: list[Any]) -> None:
        """Write a pile as one batch.

        It is copied, also where it is a slice of one batch, whose buffers show how it was cut.
        """
        copied = pa.Table.from_batches([*pile, pile[0].slice(0, 0)]).combine_chunks()
        for batch in copied.to_batches():
            self.sink.write_batch(batch)


@contextmanager
def write_arrow(sink: IO[bytes], schema: Any) -> Iterator[Writer]:
    """Open an Arrow file for writing; dictionaries are written out as their values."""
    own = pa.schema([(field.name, value_type(field.type)) for field in schema])
    with pa.ipc.new_file(sink, own) as ipc:
        writer = ArrowWriter(ipc, own)
        yield writer
        if writer.pile.waiting:
            writer.put(writer.pile.waiting)


GROUP_ROWS = 1 << 20

# Row groups of so many columns or fewer have ``GROUP_ROWS`` rows; wider ones fewer.
GROUP_COLUMNS = 16


@contextmanager
def read_parquet(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open a file; coded columns of text are left in the file's own dictionaries."""
    import pyarrow.parquet as pq

    with arrow_input(path) as raw:
        about = pq.read_metadata(raw)
        schema = about.schema.to_arrow_schema()
        refuse_repeated(schema.names, path)
        columns = wanted.among(schema.names)
        coded = set(wanted.coded)
        texts = [f.name for f in schema if f.name in coded and is_text(f)]
        # Buffered ahead, all that was read of the file would be held until its end.
        file = pq.ParquetFile(raw, metadata=about, read_dictionary=texts, pre_buffer=False)
        tally = RowProgress(about.num_rows)
        batches = file.iter_batches(BATCH_ROWS, row_groups=wanted.groups, columns=columns)
        # Parquet gives columns in the file's order, not as asked for
        asked = (one if one.schema.names == columns else one.select(columns) for one in batches)
        narrow = schema.empty_table().select(columns).schema
        yield Opened(narrow, tally(asked), tally.share, tally.total)


def group_rows(columns: int) -> int:
    """Return the rows of a row group: by the number of columns alone, never by what they hold."""
    return GROUP_ROWS >> max(0, (-(-columns // GROUP_COLUMNS) - 1).bit_length())


class ParquetWriter:
    """Gathers batches into row groups of one size and writes dictionaries as dictionaries.

    Arrow would note in the file that such columns are dictionaries; the note is written here
    instead, with the types that the schema names.
    """

    def __init__(self, sink: IO[bytes], schema: Any) -> None:
        self.sink, self.schema = sink, bare(schema)
        notes = schema.metadata or {}
        self.notes = {key: text for key, text in notes.items() if key == NOTE}
        self.pile = Pile(group_rows(len(schema)))
        self.file: Any = None

    def write(self, batch: Any) -> None:
        for full in self.pile.add(batch):
            self.put(full)

    def put(self, pile: list[Any]) -> None:
        import pyarrow.parquet as pq

        kinds = pile[0].schema if pile else self.schema
        table = pa.Table.from_batches(pile, kinds).cast(bare(kinds)).unify_dictionaries()
        if self.file is None:
            self.file = pq.ParquetWriter(
                self.sink, table.schema, compression="zstd", store_schema=False
            )
        if len(table):
            self.file.write_table(table, row_group_size=len(table))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.complete()
        elif self.file is not None:
            with suppress(OSError, ValueError):  # the file is given up, and its first error raised
                self.file.close()

    def complete(self) -> None:
        """Write what is left, and the note of the types."""
        if self.pile.waiting or self.file is None:
            self.put(self.pile.waiting)
        note = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        self.file.add_key_value_metadata({"ARROW:schema": note, **self.notes})
        self.file.close()

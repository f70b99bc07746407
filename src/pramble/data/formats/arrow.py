"""Arrow files (Feather) and streams of batches in a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from pramble.data.arrays import value_type
from pramble.data.even import Pile
from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Wanted, Writer, plain, sliced


@contextmanager
def read(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open an Arrow IPC file, or a stream of batches in a file."""
    size = path.stat().st_size
    with pa.memory_map(str(path)) as mapped:
        try:
            file = pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            columns = wanted.among(stream.schema.names)
            narrow = (batch.select(columns) for batch in sliced(stream))
            schema = stream.schema.empty_table().select(columns).schema
            yield Opened(schema, narrow, lambda: mapped.tell() / size)
            return
        columns = wanted.among(file.schema.names)
        done = [0]

        def batches() -> Iterator[Any]:
            for i in range(file.num_record_batches):
                done[0] = i + 1
                yield file.get_batch(i).select(columns)

        schema = file.schema.empty_table().select(columns).schema
        count = max(file.num_record_batches, 1)
        yield Opened(schema, sliced(batches()), lambda: done[0] / count)


class ArrowWriter:
    """Writes batches of one size."""

    def __init__(self, sink: Any, schema: Any) -> None:
        self.sink, self.schema, self.pile = sink, schema, Pile(BATCH_ROWS)

    def write(self, batch: Any) -> None:
        """Write one batch, or keep it until there are enough rows."""
        for full in self.pile.add(plain(batch, self.schema)):
            self.put(full)

    def put(self, pile: list[Any]) -> None:
        """Write a pile as one batch.

        It is copied, also where it is a slice of one batch, whose buffers show how it was cut.
        """
        copied = pa.Table.from_batches([*pile, pile[0].slice(0, 0)]).combine_chunks()
        for batch in copied.to_batches():
            self.sink.write_batch(batch)


@contextmanager
def write(sink: IO[bytes], schema: Any) -> Iterator[Writer]:
    """Open an Arrow file for writing; dictionaries are written out as their values."""
    own = pa.schema([(field.name, value_type(field.type)) for field in schema])
    with pa.ipc.new_file(sink, own) as ipc:
        writer = ArrowWriter(ipc, own)
        yield writer
        if writer.pile.waiting:
            writer.put(writer.pile.waiting)


ARROW = Format("arrow", (".arrow", ".ipc", ".feather"), read, write)

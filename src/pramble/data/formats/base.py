"""What a format is: endings, how a file of it is read, and how it is written."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Protocol

from pramble.data.reading import Reading
from pramble.errors import InvalidData
from pramble.values import value

BATCH_ROWS = 1 << 17


@value(eq=False)
class Opened:
    """An open file: its schema, its batches, and how much of it has been read (0 to 1)."""

    schema: Any
    batches: Iterable[Any]
    share_read: Callable[[], float]
    rows: int | None = None


@value(eq=False)
class Wanted:
    """What is wanted of a file: how to read it, which columns, and which of them as codes.

    ``columns`` None are all; columns in ``coded`` may come as dictionaries where the file has them.
    """

    reading: Reading = field(default_factory=Reading)
    columns: tuple[str, ...] | None = None
    coded: Collection[str] = ()

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the columns to read, in their order; refuse one that the file does not have."""
        present = list(names)
        wanted = present if self.columns is None else list(self.columns)
        for name in wanted:
            if name not in present:
                raise missing_column(name, present)
        return wanted


class Writer(Protocol):
    """Takes batches whose columns have the schema's types, or are dictionaries of them."""

    def write(self, batch: Any) -> None:
        """Write one batch."""


@value(eq=False)
class Format:
    """A file format.

    Attributes
    ----------
    name : str
    endings : tuple of str
    read : callable
        From a path and what is wanted of it to a context that gives an `Opened`.
    write : callable or None
        From a binary file and a schema to a context that gives a `Writer`; None if only read.
    settle : callable or None
        From a path and a reading to the reading with all that was found out about the file.
    typed : bool
        Whether values have types; else all is text.
    packed : bool
        Whether files may be compressed whole (.gz, .zst, …).
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Wanted], AbstractContextManager[Opened]]
    write: Callable[[IO[bytes], Any], AbstractContextManager[Writer]] | None = None
    settle: Callable[[Path, Reading], Reading] | None = None
    typed: bool = True
    packed: bool = False


def missing_column(name: str, present: Iterable[str]) -> InvalidData:
    """Return the error for a column that is not there."""
    names = list(present)
    shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    return InvalidData(f"There is no column {name!r}; the data has {shown}.")


def sliced(batches: Iterable[Any], rows: int = BATCH_ROWS) -> Iterator[Any]:
    """Yield batches in pieces of bounded size."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class Tally:
    """Counts the rows of batches that pass, as a share of a total."""

    def __init__(self, total: int | None) -> None:
        self.total, self.seen = total, 0

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches."""
        for batch in batches:
            self.seen += batch.num_rows
            yield batch

    def share(self) -> float:
        """Return the share that has passed."""
        return min(1.0, self.seen / self.total) if self.total else 1.0


def plain(batch: Any, schema: Any) -> Any:
    """Return a batch with the schema's own types."""
    import pyarrow as pa

    arrays = [
        array if array.type == part.type else array.cast(part.type)
        for array, part in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)

"""What a format is: endings, how a file of it is read and written, and packing of whole files."""

import gzip
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from pramble.data.recode import Merge, Reading
from pramble.errors import InvalidData, with_values
from pramble.values import frozen
from pramble.words import hint_at, several

BATCH_ROWS = 1 << 17

READ_ERRORS = (OSError, ValueError, EOFError, KeyError, pa.ArrowException)

# What libraries say of a file that is none of its kind; other words may hold values.
KNOWN_REASONS = re.compile(
    r"(Row #\d+: )?Expected \d+ columns, got \d+|Parquet magic bytes not found in footer"
    r"|Not an Arrow file|File is not a zip file|Not a gzipped file|Invalid file, or file has "
    r"unsupported features|Compressed file ended before the end-of-stream marker was reached"
    r"|File is too small|Unexpected end of (stream|file)|Unable to read (from|file)"
    r"|Truncated compressed stream|incorrect header check"
)


@frozen(eq=False)
class Opened:
    """An open file: its schema, its batches, and how much of it has been read (0 to 1)."""

    schema: Any
    batches: Iterable[Any]
    share_read: Callable[[], float]
    rows: int | None = None


@frozen(eq=False)
class Wanted:
    """What is wanted of a file: how to read it, which columns, and which of them as codes.

    ``columns`` None are all; columns in ``coded`` may come as dictionaries where the file has them.
    ``groups`` are the row groups of a Parquet file that are wanted; None are all.
    """

    reading: Reading = field(default_factory=Reading)
    columns: tuple[str, ...] | None = None
    coded: Collection[str] = ()
    groups: tuple[int, ...] | None = None

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the columns to read, in their order; refuse one that the file does not have."""
        present = list(names)
        wanted = present if self.columns is None else list(self.columns)
        known = set(present)
        for name in wanted:
            if name not in known:
                raise missing_column(name, present)
        return wanted


@frozen
class FileLabels:
    """What a file says of its columns in words: titles, and what values and missing codes mean.

    No two values of a column have one label. ``missing`` are codes that the file declares missing:
    they are empty cells when read.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)  # in the order of values
    missing: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)

    @property
    def recodings(self) -> dict[str, tuple[Merge, ...]]:
        """What turns the codes of each column into their labels."""
        return {
            name: (Merge({label: (code,) for code, label in own.items()}),)
            for name, own in self.values.items()
            if own
        }


TITLE, LONGEST_TITLE = b"label", 1000


def titles_in(schema: Any) -> dict[str, str]:
    """Return the titles of columns, which stand in the metadata of their fields."""
    found = {part.name: (part.metadata or {}).get(TITLE, b"") for part in schema}
    texts = {name: own.decode(errors="replace").strip() for name, own in found.items()}
    return {name: text[:LONGEST_TITLE] for name, text in texts.items() if text}


def titled(part: Any, title: str | None) -> Any:
    """Return an Arrow field with a title."""
    return part.with_metadata({TITLE: title} if title else None)


class Writer(Protocol):
    """Takes batches whose columns have the schema's types, or are dictionaries of them."""

    def write(self, batch: Any) -> None:
        """Write one batch."""


@frozen(eq=False)
class Format:
    name: str
    endings: tuple[str, ...]
    # from a path and what is wanted of it to a context that gives an `Opened`
    read: Callable[[Path, Wanted], AbstractContextManager[Opened]]
    # from a binary file and a schema to a context that gives a `Writer`; None if only read
    write: Callable[[IO[bytes], Any], AbstractContextManager[Writer]] | None = None
    # from a path and a reading to the reading with all that was found out about the file
    settle: Callable[[Path, Reading], Reading] | None = None
    typed: bool = True  # whether values have types; else all is text
    packed: bool = False  # whether files may be compressed whole (.gz, .zst, …)
    # from a path to what the file says of its columns in words, but for titles
    labels: Callable[[Path], FileLabels] | None = None


def refuse_repeated(names: Sequence[str], path: Path) -> None:
    """Raise when a file has no columns, or a name stands twice."""
    if not names:
        raise InvalidData(f"{path.name} must have named columns; it has no columns.")
    name, times = Counter(names).most_common(1)[0]
    if times != 1:
        places = [place for place, found in enumerate(names, 1) if found == name]
        error = InvalidData(
            f"{path.name} must name each column once; columns {places} have one name. Rename them."
        )
        raise with_values(error, repr(name))


def missing_column(name: str, present: Iterable[str]) -> InvalidData:
    """Return the error for a column that is not there.

    Other names are not listed: where a file has no line of names, they are a record.
    """
    names = list(present)
    hint = hint_at(name, names)
    error = InvalidData(
        f"There is no column {name!r}{hint}; the data has {several(len(names), 'column')}."
    )
    return with_values(error, names)


@contextmanager
def sound_file(
    path: Path, kind: str, *, errors: tuple[type[Exception], ...] = READ_ERRORS
) -> Iterator[None]:
    """Say in one sentence that a file is not what its name says, without any value of it."""
    try:
        yield
    except InvalidData:
        raise
    except errors as error:
        said = f"{path.name} must be a sound {kind} file; reading it failed: {reason(error)}."
        raise with_values(InvalidData(said), error) from None


def reason(error: Exception) -> str:
    """Return the part of a library's message that is known to hold no value of the data.

    >>> reason(ValueError("CSV parse error: Row #5: Expected 3 columns, got 2: Ann;1970;HIV"))
    'Row #5: Expected 3 columns, got 2'
    >>> reason(ValueError("Failed to parse string: 'Ann'"))
    'ValueError'
    """
    if isinstance(error, OSError) and error.strerror and error.errno:
        return error.strerror
    known = KNOWN_REASONS.search(str(error))
    return known.group() if known else type(error).__name__


def sliced(batches: Iterable[Any], rows: int = BATCH_ROWS) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class RowProgress:
    """Counts the rows of batches that pass, as a share of a total."""

    def __init__(self, total: int | None) -> None:
        self.total, self.seen = total, 0

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            self.seen += batch.num_rows
            yield batch

    def share(self) -> float:
        return min(1.0, self.seen / self.total) if self.total else 1.0


# What a file says of itself: the one note of a schema that is written. Others may come from the
# source of the data, and say something of it.
NOTE = b"pramble"


def bare(schema: Any) -> Any:
    """Return names, types and titles: no note of where the data came from, and nulls allowed."""
    titles = titles_in(schema)
    return pa.schema(
        [titled(pa.field(part.name, part.type), titles.get(part.name)) for part in schema]
    )


PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
GZIP_LEVEL = 4


def packing_of(path: Path) -> str | None:
    """Return how a file is compressed, as Arrow calls it."""
    return PACKINGS.get(path.suffix.lower())


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading, unpacked; give the stream, and the raw file below it."""
    packing = packing_of(path)
    with pa.OSFile(str(path)) as raw:
        yield (pa.CompressedInputStream(raw, packing) if packing else raw), raw


@contextmanager
def packed(path: Path, raw: IO[bytes]) -> Iterator[Any]:
    """Give a file that packs what is written, as the path's ending says; no time stamp is kept."""
    packing = packing_of(path)
    if packing is None:
        yield raw
    elif packing == "gzip":
        with gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) as zipped:
            yield zipped
    else:
        with pa.CompressedOutputStream(pa.PythonFile(raw, "w"), packing) as zipped:
            yield zipped

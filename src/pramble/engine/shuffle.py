r"""Records in a secret order, however many there are, and where that order is cut into pieces.

Rows are sorted by secure random words that depend on key and row number alone. One pass over the
source distributes them over buckets by the leading bits of their words. Every row of a bucket sorts
before every row of the next, so the buckets one after the other, each sorted by all words, are the
order that sorting everything at once gives, bit for bit. A bucket that is itself too large is
distributed again, by the bits that follow.

The row that begins a piece of :math:`s` rows is the one of rank :math:`s, 2s, …`. It is found
without holding a row: one pass over the numbers of the rows counts them by leading bits of their
words; a second takes the words of the few rows in whose bins a piece begins. A row then belongs to
the piece before whose end it sorts, which can be said of every row by itself.
"""

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data.arrays import Rows, even_batches, is_text
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.recode import Reading
from pramble.data.records import Records, Watch
from pramble.engine.files import is_coded_text, plain_type
from pramble.engine.keystream import KeyStream, derived_key
from pramble.limits import MOST_CELLS_SHUFFLED
from pramble.values import Integers, frozen

# Words of 32 bits by which rows are sorted: two of a billion rows agree once in 10^11 files.
WORDS = 3

# The sorting words of some rows: 64 bits that go first, and 32 that decide where they agree.
Words = tuple[NDArray[np.uint64], NDArray[np.uint32]]


def sorting_words(rows: Rows, *, key: bytes) -> Words:
    """Return the words by which rows are sorted; the most significant is the last stream's."""
    words: list[Any] = [order_stream(part, key=key).words(rows) for part in range(WORDS)]
    return (words[2].astype(np.uint64) << np.uint64(32)) | words[1], words[0]


def leading_words(rows: range, *, key: bytes) -> NDArray[np.uint32]:
    """Return the 32 most significant bits by which rows are sorted."""
    return order_stream(WORDS - 1, key=key).words(rows)


def order_stream(part: int, *, key: bytes) -> KeyStream:
    return KeyStream(derived_key(key, "row order"), str(part))


def in_word_order(words: Words) -> Integers:
    """Return the places of rows sorted by their words; rows that agree in all stay as they were."""
    first, last = words
    order = np.argsort(first)
    agree = np.diff(first[order]) == 0
    return np.lexsort((last, first)) if agree.any() else order


WORD_BITS = 64

# A pass distributes over 2**7 buckets at most: so many files are open at once.
MOST_BITS = 7

# Buckets have a quarter of what is shuffled at once: one is sorted while another is drawn from,
# and the system's allocator keeps what earlier ones took.
BUCKETS_HELD = 4

# Values that are gathered before they are distributed, so that blocks on the disk are not tiny.
GATHERED_CELLS = 1 << 22

FIRST, LAST = "first word", "last word"


@frozen(eq=False)
class ShuffledRecords(Records):
    """Some columns of records, in the order of their :func:`sorting_words`.

    Memory is bounded, whatever the number of rows. Confidential rows touch the disk only in files
    without a name, in ``folder``: whatever ends the process, the system frees them, and nobody can
    open them meanwhile.
    """

    records: Records
    columns: tuple[str, ...]
    # the rows there are; decides over how many buckets they are distributed, and nothing else
    counted: int
    key: bytes = field(repr=False)
    folder: Path  # where the files without a name lie
    coded: Collection[str] = ()  # columns whose texts come as dictionaries
    watch: Watch | None = None  # told of every batch of the source while it is read
    reading: Reading = Reading()
    backend: str = "pyarrow"

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.records.name

    @property
    def typed(self) -> bool:
        return self.records.typed

    @property
    def raw_schema(self) -> Any:
        return pa.schema([self.records.schema.field(name) for name in self.columns])

    @property
    def rows(self) -> int:
        return self.counted

    def digest(self) -> str:
        return self.records.digest()

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        kinds = {one.name: one.type for one in self.records.schema}
        texts = {*self.coded, *coded, *(name for name in columns if is_coded_text(kinds[name]))}
        for table in rows_in_order(
            self.numbered(columns, watch or self.watch), self.counted, self.folder, used=0
        ):
            named = table.select(range(len(columns))).rename_columns(list(columns))
            for batch in named.to_batches(max_chunksize=BATCH_ROWS):
                yield with_dictionaries(batch, texts)

    def numbered(self, columns: Sequence[str], watch: Watch | None) -> Iterator[Any]:
        """Yield batches of the source with their sorting words, no dictionary and neutral names."""
        kinds = [plain_type(self.records.schema.field(name).type) for name in columns]
        names = [*map(str, range(len(columns))), FIRST, LAST]
        row = 0
        for batch in self.records.batches(list(columns), watch=watch):
            values = [
                array if array.type == kind else array.cast(kind)
                for array, kind in zip(batch.columns, kinds, strict=True)
            ]
            words = sorting_words(range(row, row + batch.num_rows), key=self.key)
            row += batch.num_rows
            yield pa.RecordBatch.from_arrays([*values, *map(pa.array, words)], names=names)


def rows_in_order(batches: Iterable[Any], rows: int, folder: Path, *, used: int) -> Iterator[Any]:
    """Yield rows, which agree in the leading bits that were used, in the order of their words."""
    found = iter(batches)
    first = next(found, None)
    if first is None:
        return
    limit = max(MOST_CELLS_SHUFFLED // BUCKETS_HELD // first.num_columns, 1)
    if rows <= limit or used == WORD_BITS:
        whole = pa.Table.from_batches([first, *found])
        yield taken(whole, in_word_order(sorting_words_in(whole)))
        return
    bits = min((rows // limit).bit_length() + 1, MOST_BITS, WORD_BITS - used)
    buckets = [Bucket(folder) for _ in range(1 << bits)]
    try:
        size = max(GATHERED_CELLS // first.num_columns, 1)
        for batch in even_batches(chain([first], found), size):
            table = pa.table(batch)
            leading = sorting_words_in(table)[0] >> np.uint64(WORD_BITS - used - bits)
            numbers = (leading & np.uint64(len(buckets) - 1)).astype(np.uint8)
            sorted_rows = taken(table, np.argsort(numbers, kind="stable"))
            ends = np.cumsum(np.bincount(numbers, minlength=len(buckets))).tolist()
            for bucket, start, end in zip(buckets, [0, *ends], ends, strict=False):
                if end > start:
                    bucket.add(sorted_rows.slice(start, end - start))
        while buckets:
            bucket = buckets.pop(0)
            yield from rows_in_order(bucket.batches(), bucket.rows, folder, used=used + bits)
            bucket.file.close()
    finally:
        for bucket in buckets:
            bucket.file.close()


class Bucket:
    def __init__(self, folder: Path) -> None:
        self.file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by its owner
        self.stream: Any = None
        self.rows = 0

    def add(self, table: Any) -> None:
        if self.stream is None:
            packed = pa.ipc.IpcWriteOptions(compression="lz4")
            self.stream = pa.ipc.new_stream(self.file, table.schema, options=packed)
        self.stream.write_table(table)
        self.rows += table.num_rows

    def batches(self) -> Iterator[Any]:
        if self.stream is not None:
            self.stream.close()
            self.file.seek(0)
            yield from pa.ipc.open_stream(self.file)


def sorting_words_in(table: Any) -> Words:
    return table[FIRST].to_numpy(), table[LAST].to_numpy()


def taken(table: Any, order: Any) -> Any:
    places = pa.array(order)
    columns = [column.combine_chunks().take(places) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def with_dictionaries(batch: Any, texts: Collection[str]) -> Any:
    columns = [
        column.dictionary_encode() if one.name in texts and is_text(column) else column
        for one, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


# Row numbers that are looked at together.
AT_ONCE = 1 << 22

# Leading bits to count by, and rows of a bin below which fewer bits do.
MOST_BIN_BITS, ROWS_OF_A_BIN = 20, 64


@frozen(eq=False)
class PieceBoundaries:
    """The words and numbers of the rows that begin a piece, but for the first piece."""

    first: NDArray[np.uint64]
    last: NDArray[np.uint32]
    row: Integers

    def pieces(self, words: Words, start: int) -> Integers:
        first, last = words
        found = np.searchsorted(self.first, first, side="left").astype(np.int64)
        for place in np.flatnonzero(np.isin(first, self.first)).tolist():
            own = (int(first[place]), int(last[place]), start + place)
            while found[place] < len(self.first) and self.at(int(found[place])) <= own:
                found[place] += 1
        return found

    def at(self, cut: int) -> tuple[int, int, int]:
        """Return by what the row that begins a piece is sorted."""
        return int(self.first[cut]), int(self.last[cut]), int(self.row[cut])


def piece_boundaries(rows: int, size: int, *, key: bytes) -> PieceBoundaries:
    """Return the rows at which the secret order of so many rows is cut into pieces of one size."""
    ranks = np.arange(size, rows, size)
    bits = min(max((rows // ROWS_OF_A_BIN).bit_length(), 1), MOST_BIN_BITS)
    shift = np.uint32(32 - bits)
    counts = np.zeros(1 << bits, dtype=np.int64)
    spans = [range(at, min(at + AT_ONCE, rows)) for at in range(0, rows, AT_ONCE)]
    if not len(ranks):
        spans = []
    for span in spans:
        counts += np.bincount(leading_words(span, key=key) >> shift, minlength=1 << bits)
    ends = np.cumsum(counts)
    bins = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(1 << bits, dtype=np.bool_)
    wanted[bins] = True
    chosen = [
        np.flatnonzero(wanted[leading_words(span, key=key) >> shift]) + span.start for span in spans
    ]
    row = np.fromiter(chain.from_iterable(chosen), dtype=np.int64)
    first, last = sorting_words(row, key=key)
    order = np.lexsort((row, last, first))
    before = np.cumsum(np.where(wanted, counts, 0)) - np.where(wanted, counts, 0)
    places = order[before[bins] + ranks - (ends - counts)[bins]]
    return PieceBoundaries(first[places], last[places], row[places])

r"""Records in a secret order, however many there are.

Rows are sorted by words that depend on key and row number alone (:mod:`pramble.engine.order`). One
pass over the source deals them into buckets by the leading bits of their words. Every row of a
bucket sorts before every row of the next, so the buckets one after the other, each sorted by all
words, are the order that sorting everything at once gives, bit for bit. A bucket that is itself too
large is dealt again, by the bits that follow.
"""

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.arrays import is_text
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.reading import Reading
from pramble.data.records import Records, Watch
from pramble.engine.canonical import is_coded_text, plain_type
from pramble.engine.order import Words, in_word_order, sorting_words
from pramble.limits import MOST_CELLS_SHUFFLED
from pramble.values import value

WORD_BITS = 64
MOST_BITS = 7
"""A pass deals into 2**7 buckets at most: so many files are open at once."""

BUCKETS_HELD = 4
"""Buckets have a quarter of what is shuffled at once: one is sorted while another is drawn from,
and the system's allocator keeps what earlier ones took."""

GATHERED_CELLS = 1 << 22
"""Values that are gathered before they are dealt, so that blocks on the disk are not tiny."""

FIRST, LAST = "first word", "last word"


@value(eq=False)
class DealtRecords(Records):
    """Some columns of records, in the order of `pramble.engine.order.random_order`.

    Memory is bounded, whatever the number of rows. Confidential rows touch the disk only in files
    without a name, in ``folder``: whatever ends the process, the system frees them, and nobody can
    open them meanwhile.

    Attributes
    ----------
    records : Records
    columns : tuple of str
    counted : int
        The rows there are; decides into how many buckets they are dealt, and nothing else.
    key : bytes
    folder : Path
        Where the files without a name lie.
    coded : collection of str
        Columns whose texts come as dictionaries.
    told : callable, optional
        Told of every batch of the source while it is dealt.
    """

    records: Records
    columns: tuple[str, ...]
    counted: int
    key: bytes = field(repr=False)
    folder: Path
    coded: Collection[str] = ()
    told: Watch | None = None
    reading: Reading = Reading()
    backend: str = "pyarrow"

    @property
    def name(self) -> str:  # type: ignore[override]
        """How messages call the data."""
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
        for table in in_order(
            self.numbered(columns, watch or self.told), self.counted, self.folder, used=0
        ):
            named = table.select(range(len(columns))).rename_columns(list(columns))
            for batch in named.to_batches(max_chunksize=BATCH_ROWS):
                yield with_codes(batch, texts)

    def numbered(self, columns: Sequence[str], watch: Watch | None) -> Iterator[Any]:
        """Yield tables of the source with their sorting words, no dictionary and neutral names."""
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
            yield pa.table([*values, *map(pa.array, words)], names=names)


def in_order(tables: Iterable[Any], rows: int, folder: Path, *, used: int) -> Iterator[Any]:
    """Yield rows, which agree in the leading bits that were used, in the order of their words."""
    found = iter(tables)
    first = next(found, None)
    if first is None:
        return
    limit = max(MOST_CELLS_SHUFFLED // BUCKETS_HELD // first.num_columns, 1)
    if rows <= limit or used == WORD_BITS:
        whole = pa.concat_tables([first, *found])
        yield taken(whole, in_word_order(words_of(whole)))
        return
    bits = min((rows // limit).bit_length() + 1, MOST_BITS, WORD_BITS - used)
    buckets = [Bucket(folder) for _ in range(1 << bits)]
    try:
        for table in gathered([first], found):
            deal(table, buckets, shift=WORD_BITS - used - bits)
        while buckets:
            bucket = buckets.pop(0)
            yield from in_order(bucket.tables(), bucket.rows, folder, used=used + bits)
            bucket.file.close()
    finally:
        for bucket in buckets:
            bucket.file.close()


class Bucket:
    """Rows in an Arrow stream in a file without a name."""

    def __init__(self, folder: Path) -> None:
        self.file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by its owner
        self.stream: Any = None
        self.rows = 0

    def add(self, table: Any) -> None:
        """Add some rows."""
        if self.stream is None:
            packed = pa.ipc.IpcWriteOptions(compression="lz4")
            self.stream = pa.ipc.new_stream(self.file, table.schema, options=packed)
        self.stream.write_table(table)
        self.rows += table.num_rows

    def tables(self) -> Iterator[Any]:
        """Yield the rows as they were added."""
        if self.stream is None:
            return
        self.stream.close()
        self.file.seek(0)
        for batch in pa.ipc.open_stream(self.file):
            yield pa.Table.from_batches([batch])


def gathered(first: list[Any], others: Iterator[Any]) -> Iterator[Any]:
    """Yield tables joined into larger ones."""
    pile = first
    for table in others:
        if sum(part.num_rows for part in pile) * table.num_columns >= GATHERED_CELLS:
            yield pa.concat_tables(pile)
            pile = []
        pile.append(table)
    yield pa.concat_tables(pile)


def deal(table: Any, buckets: Sequence[Bucket], *, shift: int) -> None:
    """Add every row to its bucket, in the order in which they stand."""
    first, _ = words_of(table)
    numbers = ((first >> np.uint64(shift)) & np.uint64(len(buckets) - 1)).astype(np.uint8)
    dealt = taken(table, np.argsort(numbers, kind="stable"))
    ends = np.cumsum(np.bincount(numbers, minlength=len(buckets))).tolist()
    for bucket, start, end in zip(buckets, [0, *ends], ends, strict=False):
        if end > start:
            bucket.add(dealt.slice(start, end - start))


def words_of(table: Any) -> Words:
    """Return the sorting words that stand beside rows."""
    return table[FIRST].to_numpy(), table[LAST].to_numpy()


def taken(table: Any, order: Any) -> Any:
    """Return a table in another order, column by column."""
    places = pa.array(order)
    columns = [column.combine_chunks().take(places) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def with_codes(batch: Any, texts: Collection[str]) -> Any:
    """Return a batch with the texts of some columns as dictionaries."""
    columns = [
        column.dictionary_encode() if one.name in texts and is_text(column) else column
        for one, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

"""Some of the rows of records, as a bit for each row."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data.formats.base import FileLabels
from pramble.data.labels import Label
from pramble.data.records import Records, Watch
from pramble.data.remote import on_spark
from pramble.errors import InvalidData
from pramble.values import Integers, frozen

# Rows whose bits are counted together, to find the place of a selected row: a multiple of 8.
BLOCK = 1 << 16


@frozen(eq=False)
class Selection:
    """Which rows of a file are selected, by their places.

    - ``marks``: Of rows that another engine holds, in parts: what each part with rows must show
      again (`PeopleJob.marks`), lest other rows have the places of those that were selected.

    Examples
    --------
    >>> some = Selection.of(np.array([True, False, True, True]))
    >>> some.selected, some.source(range(1, 3)), some.mask(range(1, 3)).tolist()
    (3, range(2, 4), [False, True])
    """

    bits: NDArray[np.uint8]
    rows: int
    marks: Sequence[bytes] = ()

    @staticmethod
    def of(mask: NDArray[np.bool_], marks: Sequence[bytes] = ()) -> "Selection":
        return Selection(np.packbits(mask), len(mask), tuple(marks))

    def mask(self, rows: range) -> NDArray[np.bool_]:
        first = rows.start // 8
        found = np.unpackbits(self.bits[first : -(-rows.stop // 8)])
        start = rows.start - 8 * first
        return found[start : start + len(rows)].astype(bool)

    @cached_property
    def before(self) -> Integers:
        """How many rows are selected before each block, and in all."""
        counts = np.bitwise_count(self.bits).astype(np.int64)
        blocks = np.add.reduceat(counts, np.arange(0, max(len(counts), 1), BLOCK // 8))
        return np.concatenate([[0], np.cumsum(blocks)]) if len(counts) else np.zeros(1, np.int64)

    @property
    def selected(self) -> int:
        return int(self.before[-1])

    def until(self, row: int) -> int:
        """Return how many rows are selected before a row."""
        block = row // BLOCK
        return int(self.before[block] + self.mask(range(block * BLOCK, row)).sum())

    def place(self, number: int) -> int:
        """Return the row behind the selected row with a number, and so where the next begins."""
        block = int(np.searchsorted(self.before, number, side="right")) - 1
        if block == len(self.before) - 1:
            return self.rows
        start = block * BLOCK
        within = np.flatnonzero(self.mask(range(start, min(start + BLOCK, self.rows))))
        return start + int(within[number - int(self.before[block])])

    def source(self, numbers: range) -> range:
        """Return the rows that some consecutive selected rows lie among."""
        if not numbers:
            return range(0)
        return range(self.place(numbers.start), self.place(numbers.stop - 1) + 1)

    def batches(self, batches: Iterable[Any], *, start: int = 0) -> Iterator[Any]:
        """Yield the selected rows of batches, of which the first begins at a row."""
        row = start
        for batch in batches:
            rows = range(row, row + batch.num_rows)
            if rows.stop > self.rows:
                raise rows_moved(self.rows)
            row = rows.stop
            mask = self.mask(rows)
            yield batch if mask.all() else batch.filter(pa.array(mask))


def selected_records(records: Records, selection: Selection, job: Any) -> Records:
    """Return records of some of the rows, in their order.

    ``job`` is one that marks rows, as it was before it saw any.
    """
    if records.rows_stay:
        found: Records = on_spark("selected_on_spark")(records, selection, job)
        return found
    return SelectedRecords(records, selection)


def rows_moved(rows: int) -> InvalidData:
    return InvalidData(
        f"The data had {rows:,} rows when those of each person were counted, and has others now, "
        "or in another order. Write it to files first, and release those while nobody writes to "
        "them. Nothing was released."
    )


@frozen(eq=False)
class SelectedRecords(Records):
    """The selected rows of records, in their order."""

    records: Records
    selection: Selection

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.records.name

    @property
    def reading(self) -> Any:  # type: ignore[override]
        return self.records.reading

    @property
    def backend(self) -> str:  # type: ignore[override]
        return self.records.backend

    @property
    def typed(self) -> bool:
        return self.records.typed

    @property
    def path(self) -> Any:
        return self.records.path

    @property
    def rows(self) -> int:
        return self.selection.selected

    @property
    def raw_schema(self) -> Any:
        return self.records.raw_schema

    def own_categories(self, column: str) -> tuple[Label, ...] | None:
        return self.records.own_categories(column)

    def file_labels(self) -> FileLabels:
        return self.records.file_labels()

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        yield from self.selection.batches(self.records.raw_batches(columns, coded, watch))

    def digest(self) -> str:
        return self.records.digest()

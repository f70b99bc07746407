"""Tables of the confidential file, counted in the scan that counts its columns."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pramble.data.encode import Codes
from pramble.errors import InvalidData
from pramble.information.distributions import Table
from pramble.values import Integers

MOST_TABLE_CELLS = 2_000_000
"""Tables of more cells are no prior: their noise would be larger than they are."""

MOST_COUNTED = 8 * MOST_TABLE_CELLS
"""Combinations of values as they stand in the file, of which several may be one label."""


class Coded(Protocol):
    """A job that codes the values of one column, batch by batch."""

    codes: Codes

    @property
    def size(self) -> int:
        """How many values it has met."""

    def places(self, later: Any) -> Integers:
        """Return the code here of each code of the rows that follow."""


class TableCounts:
    """Counts the cells of some tables: a job for a scan, after the jobs that code the columns.

    A table that grows too large is left out if its size is no secret, for it has a column whose
    categories are ``seen`` in the file and revealed; else it is refused.
    """

    def __init__(
        self, jobs: Mapping[str, Coded], tables: Sequence[Table], *, seen: Collection[str] = ()
    ) -> None:
        self.columns: list[str] = []
        self.jobs, self.seen = jobs, set(seen)
        self.counts: dict[Table, Integers] = {
            table: np.zeros((0,) * len(table), dtype=np.int64) for table in tables
        }

    def add(self, batch: Any) -> None:
        """Count one batch, which the columns' jobs have coded."""
        del batch
        for table, found in list(self.counts.items()):
            shape = self._shape(table)
            if shape is None:
                continue
            place = np.ravel_multi_index([self.jobs[name].codes for name in table], shape)
            cells = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
            cells[tuple(slice(size) for size in found.shape)] += found
            self.counts[table] = cells

    def _shape(self, table: Table) -> tuple[int, ...] | None:
        """Return how many values its columns have; None where it is left out for being large."""
        shape = tuple(self.jobs[name].size for name in table)
        if math.prod(shape) <= MOST_COUNTED:
            return shape
        if self.seen & set(table):
            del self.counts[table]
            return None
        raise InvalidData(
            f"Columns {', '.join(map(repr, table))} have too many values to be counted "
            'together. Recode them, or take prior = "uniform" or "public".'
        )

    def merge(self, later: "TableCounts") -> None:
        """Take the counts of the rows that follow; the columns' jobs have been merged."""
        for table, found in list(self.counts.items()):
            shape = self._shape(table) if table in later.counts else None
            if shape is None:
                self.counts.pop(table, None)
                continue
            cells = np.zeros(shape, dtype=np.int64)
            cells[tuple(slice(size) for size in found.shape)] = found
            added = later.counts[table]
            place = [self.jobs[name].places(later.jobs[name]) for name in table]
            cells[np.ix_(*(own[:size] for own, size in zip(place, added.shape, strict=True)))] += (
                added
            )
            self.counts[table] = cells

    def settled(self, places: Mapping[str, Integers], sizes: Mapping[str, int]) -> dict[Table, Any]:
        """Return the tables over labels: each value of a column has its place among them."""
        answer = {}
        for table, found in self.counts.items():
            cells = np.zeros(tuple(sizes[name] for name in table), dtype=np.int64)
            np.add.at(cells, np.ix_(*(places[name] for name in table)), found)
            answer[table] = cells
        return answer

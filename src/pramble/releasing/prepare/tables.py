"""Tables of the confidential file, counted in the scan that counts its columns."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pramble.data.encode import Codes
from pramble.errors import InvalidData
from pramble.information.records import Table
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
            jobs = [self.jobs[name] for name in table]
            shape = tuple(job.size for job in jobs)
            if math.prod(shape) > MOST_COUNTED and self.seen & set(table):
                del self.counts[table]
                continue
            if math.prod(shape) > MOST_COUNTED:
                raise InvalidData(
                    f"Columns {', '.join(map(repr, table))} have too many values to be counted "
                    'together. Recode them, or take prior = "uniform" or "public".'
                )
            place = np.ravel_multi_index([job.codes for job in jobs], shape)
            cells = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
            cells[tuple(slice(size) for size in found.shape)] += found
            self.counts[table] = cells

    def settled(self, places: Mapping[str, Integers], sizes: Mapping[str, int]) -> dict[Table, Any]:
        """Return the tables over labels: each value of a column has its place among them."""
        answer = {}
        for table, found in self.counts.items():
            cells = np.zeros(tuple(sizes[name] for name in table), dtype=np.int64)
            np.add.at(cells, np.ix_(*(places[name] for name in table)), found)
            answer[table] = cells
        return answer

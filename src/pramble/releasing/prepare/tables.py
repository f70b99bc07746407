"""Tables of the confidential file, counted in the scan that counts its columns."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pramble.data.encode import Codes
from pramble.information.records import Table
from pramble.values import Integers

MOST_TABLE_CELLS = 2_000_000
"""Tables of more cells are not counted: their noise would be larger than they are."""


class Coded(Protocol):
    """A job that codes the values of one column, batch by batch."""

    codes: Codes

    @property
    def size(self) -> int:
        """How many values it has met."""


class TableCounts:
    """Counts the cells of some tables: a job for a scan, after the jobs that code the columns."""

    def __init__(self, jobs: Mapping[str, Coded], tables: Sequence[Table]) -> None:
        self.columns: list[str] = []
        self.jobs = jobs
        self.counts: dict[Table, Integers] = {
            table: np.zeros((0,) * len(table), dtype=np.int64) for table in tables
        }

    def add(self, batch: Any) -> None:
        """Count one batch, which the columns' jobs have coded."""
        del batch
        for table, found in list(self.counts.items()):
            jobs = [self.jobs[name] for name in table]
            shape = tuple(job.size for job in jobs)
            if math.prod(shape) > MOST_TABLE_CELLS:
                del self.counts[table]
                continue
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

"""One pass over records for several jobs at once, on one machine or on many."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

from pramble.data.records import Records, Watch


class Job(Protocol):
    """Something that wants to see some columns of every batch.

    Jobs must be small and can be pickled: where rows are on many machines, each part of them gets
    copies of its own. What a job makes of rows must not depend on how they are split into batches
    and parts, beyond the rounding of sums.
    """

    @property
    def columns(self) -> Sequence[str]:
        """The columns that it wants to see."""

    def add(self, batch: Any) -> None:
        """Take a batch, which has the columns among others."""

    def merge(self, later: Self) -> None:
        """Take what a job of the same kind made of the rows that follow.

        A job that relies on others is merged after them.
        """


def scan(records: Records, jobs: Sequence[Job], *, watch: Watch | None = None) -> int:
    """Show every batch to every job, reading once; return the number of rows."""
    return records.scanned(jobs, watch)

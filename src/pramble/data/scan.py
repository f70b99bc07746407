"""One pass over records for several jobs at once."""

from collections.abc import Sequence
from typing import Any, Protocol

from pramble.data.records import Records, Watch


class Job(Protocol):
    """Something that wants to see some columns of every batch."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that it wants to see."""

    def add(self, batch: Any) -> None:
        """Take a batch, which has the columns among others."""


def scan(records: Records, jobs: Sequence[Job], *, watch: Watch | None = None) -> int:
    """Show every batch to every job, reading once; return the number of rows."""
    named = list(dict.fromkeys(name for job in jobs for name in job.columns))
    wanted = named or list(records.names[:1])
    rows = 0
    for batch in records.batches(wanted, coded=wanted, watch=watch):
        rows += batch.num_rows
        for job in jobs:
            job.add(batch)
    return rows

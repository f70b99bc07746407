"""Records, whatever holds them: columns by name, read in batches, in one pass for several jobs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa

from pramble.data.arrays import decimal_points
from pramble.data.formats.base import missing_column
from pramble.data.labels import Label
from pramble.data.reading import Reading
from pramble.data.recode import apply_all, categories_after

Watch = Callable[[int, float], object]
"""Told, after every batch, how many rows it had and which share of the data has been read."""


class Records(ABC):
    """Records with named columns; `pramble.data.open.open_records` makes one."""

    name: str  # how messages call the data: the file's name, or "The data"
    reading: Reading  # how it is read, with all that was found out
    backend: str  # the frame library to answer in: "pyarrow", "pandas" or "polars"

    @property
    def typed(self) -> bool:
        """Whether values have types; else they are texts, which stand for their labels."""
        return True

    @property
    def rows_stay(self) -> bool:
        """Whether rows stay on other machines, so that nothing is to be had for each row."""
        return False

    @property
    def path(self) -> Path | None:
        """The file or folder; None for records in memory."""
        return None

    @property
    @abstractmethod
    def raw_schema(self) -> Any:
        """The Arrow schema before recoding."""

    @abstractmethod
    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns before recoding."""

    @abstractmethod
    def digest(self) -> str:
        """Return a SHA-256 of the content."""

    @property
    def rows(self) -> int | None:
        """Number of rows, where it is known without reading."""
        return None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.raw_schema.names)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the batches."""
        columns = [pa.nulls(0, field.type) for field in self.raw_schema]
        empty = pa.RecordBatch.from_arrays(columns, schema=self.raw_schema)
        return self._recoded(empty).schema

    def refuse_missing(self, names: Iterable[str]) -> None:
        present = set(self.names)
        for name in names:
            if name not in present:
                raise missing_column(name, self.names)

    def declared(self, column: str) -> tuple[Label, ...] | None:
        """Return the categories that a recoding or the column's own type declares, in order."""
        stated = categories_after(self.reading.recode.get(column, ()))
        return self.own_categories(column) if stated is None else stated

    def own_categories(self, column: str) -> tuple[Label, ...] | None:
        """Return the categories that the column's own type declares, in order."""
        del column
        return None

    def listed_values(self) -> Mapping[str, Mapping[Label, str]]:
        """Return the values that the file itself lists for some columns, with their meanings."""
        return {}

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        coded: Collection[str] = (),
        watch: Watch | None = None,
    ) -> Iterator[Any]:
        """Yield batches in order, recoded.

        ``coded`` columns may come as dictionaries; ``watch`` is told of every batch.
        """
        wanted = list(self.names if columns is None else columns)
        self.refuse_missing(wanted)
        for batch in self.raw_batches(wanted, coded, watch):
            yield self._recoded(batch) if self.reading.recode else batch

    def _recoded(self, batch: Any) -> Any:
        """Return a batch after the recodings of its columns."""
        return recoded(batch, self.reading)

    def here(self, columns: Sequence[str], *, rows: int | None = None) -> "Records":
        """Return records with these columns whose rows are, or come, to this machine.

        Where they come, it is so many of the first rows, or all.
        """
        del columns, rows
        return self

    def most_of_a_value(self, column: str) -> int | None:
        """Return how many rows share a value of a column, where others than this machine count."""
        del column
        return None

    def scanned(self, jobs: "Sequence[Job]", watch: Watch | None) -> int:
        """Show every batch to every job, reading once; return the number of rows."""
        wanted, rows = columns_for(jobs, self.names), 0
        for batch in self.batches(wanted, coded=wanted, watch=watch):
            rows += batch.num_rows
            for job in jobs:
                job.add(batch)
        return rows


def columns_for(jobs: "Sequence[Job]", names: Sequence[str]) -> list[str]:
    """Return the columns that some jobs want to see; one at least, so that rows are counted."""
    return list(dict.fromkeys(name for job in jobs for name in job.columns)) or list(names[:1])


def recoded(batch: Any, reading: Reading) -> Any:
    """Return a batch of Arrow columns after their recodings."""
    arrays, fields = list(batch.columns), list(batch.schema)
    for place, field in enumerate(batch.schema):
        steps = reading.recode.get(field.name, ())
        if steps:
            found = decimal_points(arrays[place]) if reading.decimal == "," else arrays[place]
            arrays[place] = apply_all(steps, found, column=field.name)
            fields[place] = field.with_type(arrays[place].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


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

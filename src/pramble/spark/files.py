"""Parquet files that tasks on Spark read themselves, so that no row passes through the JVM.

The driver reads how many rows each row group has; every task then reads the row groups that its
rows lie in, as one machine would.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Self

import pyarrow.parquet as pq

from pramble.data.arrays import as_schema
from pramble.data.formats.base import Wanted
from pramble.data.places import arrow_input, is_address
from pramble.data.recode import Reading
from pramble.data.records import (
    FileRecords,
    Records,
    Watch,
    changes_values,
    file_batches,
    needed_columns,
    recoded,
)
from pramble.data.remote import PartTask
from pramble.data.selection import SelectedRecords, Selection
from pramble.spark.records import SparkRecords, counted
from pramble.spark.workers import Batches, map_partitions, quoted
from pramble.values import frozen

# Row groups are read together until they have so many rows.
PART_ROWS = 1 << 20


@frozen(eq=False)
class SparkFileRecords(SparkRecords):
    """Records of Parquet files that driver and workers see under the same paths.

    ``frame`` is any of the session, ``files`` what one machine would read, and ``groups`` the rows
    of each row group of each file; ``selection`` says which rows these are, if not all.
    """

    frame: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"
    files: Any = None
    groups: tuple[tuple[int, ...], ...] = ()
    selection: Selection | None = None

    @classmethod
    def of(cls, files: Records, session: Any) -> Self:
        assert isinstance(files, FileRecords), "tasks read files"
        groups = []
        for path in files.paths:
            with arrow_input(path) as raw:
                about = pq.read_metadata(raw)
            groups.append(tuple(about.row_group(i).num_rows for i in range(about.num_row_groups)))
        none = session.range(0, numPartitions=1)
        return cls(none, files.backend, files.reading, files.name, files, tuple(groups))

    @property
    def typed(self) -> bool:
        return bool(self.files.typed)

    @property
    def path(self) -> Any:
        return self.files.path

    @property
    def rows(self) -> int:
        every = sum(map(sum, self.groups))
        return every if self.selection is None else self.selection.selected

    def selected(self, selection: Selection, job: Any) -> SparkRecords:
        del job  # files stand still
        return replace(self, selection=selection)

    @property
    def those_here(self) -> Records:
        """The rows as this machine reads them."""
        files: Records = self.files
        return files if self.selection is None else SelectedRecords(files, self.selection)

    @property
    def raw_schema(self) -> Any:
        return self.files.raw_schema

    def declared(self, column: str) -> Any:
        return self.files.declared(column)

    @cached_property
    def spans(self) -> Mapping[int, range]:
        """The numbers of the rows of each part: row groups together, of one file or several."""
        ends: Iterator[int] = accumulate(rows for groups in self.groups for rows in groups)
        if self.selection is not None:
            ends = map(self.selection.until, ends)
        starts, start = [0], 0
        for end in ends:
            if end - start >= PART_ROWS or end == self.rows:
                starts, start = [*starts, end], end
        found = dict.fromkeys(pairwise(starts))
        return {part: range(*span) for part, span in enumerate(found)}

    def sent(
        self, task: PartTask, columns: Sequence[str], schema: Any, *, coded: Collection[str] = ()
    ) -> Any:
        return self._on(list(self.spans.values()), task, columns, schema, coded=coded)

    def runs(
        self,
        task: PartTask,
        columns: Sequence[str],
        schema: Any,
        *,
        size: int,
        rows: int,
        coded: Collection[str] = (),
    ) -> Any:
        runs = [range(start, min(start + size, rows)) for start in range(0, rows, size)]
        return self._on(runs, task, columns, schema, coded=coded)

    def _on(
        self,
        ranges: Sequence[range],
        task: PartTask,
        columns: Sequence[str],
        schema: Any,
        *,
        coded: Collection[str],
    ) -> Any:
        numbers = self.session.range(len(ranges), numPartitions=max(len(ranges), 1))
        read = partial(
            rows_between,
            self.files,
            self.groups,
            tuple(columns),
            tuple(coded),
            selection=self.selection,
        )

        def on_ranges(batches: Batches) -> Iterator[Any]:
            for batch in batches:
                for number in batch["id"].to_pylist():
                    rows = ranges[number]
                    yield from task(counted(read(rows), len(rows), number), number)

        return map_partitions(numbers, on_ranges, schema)

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        yield from self.those_here.raw_batches(columns, coded, watch)

    def here(self, columns: Sequence[str], *, rows: int | None = None) -> Any:
        del columns, rows
        return self.those_here

    def rows_in_spark(self) -> Any:
        """Return a frame of the rows before recoding."""
        if is_address(self.path):
            return self.frame_by_tasks()
        return self.session.read.parquet(*map(str, self.files.paths))

    def frame_by_tasks(self) -> Any:
        """Return a frame of the rows before recoding, which tasks read."""
        from pyspark.sql.pandas.types import from_arrow_schema

        def as_they_come(batches: Iterator[Any], part: int) -> Iterator[Any]:
            del part
            yield from batches

        # Spark may not know the store, or open it with other rights than Python.
        found = replace(self, files=replace(self.files, reading=Reading()))
        names = list(self.files.names)
        return found.sent(as_they_come, names, from_arrow_schema(found.files.schema))

    def digest(self) -> str:
        return str(self.files.digest())


def rows_between(
    files: FileRecords,
    groups: Sequence[Sequence[int]],
    columns: tuple[str, ...],
    coded: tuple[str, ...],
    rows: range,
    selection: Selection | None = None,
) -> Iterator[Any]:
    """Yield recoded batches of consecutive rows of some files, or of those that are selected."""
    if selection is not None:
        there = selection.source(rows)
        found = rows_between(files, groups, columns, coded, there)
        yield from selection.batches(found, start=there.start)
        return
    reading, needed = files.reading, tuple(needed_columns(files.reading, columns))
    schema = None if len(files.paths) == 1 else files.schema_of(needed, coded)
    start = 0
    for path, sizes in zip(files.paths, groups, strict=True):
        places = list(accumulate(sizes, initial=start))
        start = places[-1]
        own = [
            i for i, size in enumerate(sizes)
            if places[i] < rows.stop and places[i] + size > rows.start
        ]  # fmt: skip
        if not own:
            continue
        wanted = Wanted(reading, needed, coded, groups=tuple(own))
        at = places[own[0]]
        for batch, _ in file_batches(path, files.format, wanted):
            first, last = max(rows.start - at, 0), min(rows.stop - at, batch.num_rows)
            at += batch.num_rows
            if first < last:
                few = batch.slice(first, last - first)
                even = few if schema is None else as_schema(few, schema, path)
                yield recoded(even, reading, columns) if changes_values(reading) else even
            if at >= rows.stop:
                break


def read_frame(session: Any, path: Path, files: Records) -> Any:
    if is_address(path):
        return SparkFileRecords.of(files, session).frame_by_tasks()
    return session.read.parquet(str(path)).select(*map(quoted, files.names))

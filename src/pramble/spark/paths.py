"""Parquet files randomised on Spark: a frame whose tasks read the rows that they draw.

Every task reads a run of consecutive rows by their numbers and draws them, as one machine would. No
row is counted or moved by Spark, no true value is in its memory or on its disks, and partitions
follow from the numbers of rows alone, wherever the blocks of the files end.

A frame reads its files whenever it is evaluated, with the same bits. Were they others by then, two
outcomes side by side would tell what changed; so tasks refuse files that have changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pramble.data.arrays import cast, even_batches
from pramble.data.crosstab import Tabulation
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.open import open_records
from pramble.data.records import Records, scan
from pramble.data.remote import spark_source
from pramble.engine.canonical import Canonical
from pramble.engine.columns import Column
from pramble.engine.frames import check_names
from pramble.engine.record import Record
from pramble.errors import InvalidData
from pramble.spark.files import SparkFileRecords
from pramble.spark.frames import partition_rows
from pramble.values import value


def perturb_spark_path(source: Any, record: Record, *, session: Any, first_row: int) -> Any:
    """Return a Spark frame of randomised files; its types are those of `pramble.perturb_file`."""
    from pyspark.sql.pandas.types import to_arrow_schema

    records = open_records(spark_source(source, session))
    assert isinstance(records, SparkFileRecords), "tasks read files"
    check_names(records.names, record.columns, None)
    refuse_undeclared(records, record.columns)
    work = Canonical(records.schema, record)
    schema = spark_schema(work.schema)
    size = partition_rows(len(work.names))
    task = Runs(work, to_arrow_schema(schema, timezone="UTC"), size, first_row, seen_files(records))
    return records.runs(
        task, work.names, schema, size=size, rows=records.rows, coded=tuple(record.columns)
    )


def refuse_undeclared(records: Records, columns: Mapping[str, Column]) -> None:
    """Refuse values that were not declared, in one job over the columns that are randomised."""
    jobs = [Tabulation(records, (n,), labels={n: own.labels}) for n, own in columns.items()]
    scan(records, jobs)
    for job in jobs:
        job.result()


class Seen(NamedTuple):
    """A file as it was when it was opened: its rows among all, its size, when it was written."""

    path: Path
    rows: range
    stamp: tuple[int, int]

    @classmethod
    def of(cls, path: Path, rows: range) -> "Seen":
        """Return a file as it is now."""
        found = path.stat()
        return cls(path, rows, (found.st_size, found.st_mtime_ns))


def seen_files(records: SparkFileRecords) -> tuple[Seen, ...]:
    ends = list(accumulate(map(sum, records.groups), initial=0))
    return tuple(
        Seen.of(path, range(*span))
        for path, span in zip(records.files.paths, pairwise(ends), strict=True)
    )


@value(eq=False)
class Runs:
    """Draws runs of consecutive rows: a task for parts of the rows."""

    work: Canonical  # what draws
    schema: Any  # the types in which Spark takes what is drawn
    size: int  # how many rows a run has, and the number of the first of all
    first_row: int
    files: tuple[Seen, ...]  # what is read

    def __call__(self, batches: Iterable[Any], run: int) -> Iterator[Any]:
        """Yield the batches of a run with the columns of the plan randomised."""
        row = self.first_row + run * self.size
        self.refuse_changed(run)
        for batch in even_batches(batches, BATCH_ROWS):
            rows = range(row, row + batch.num_rows)
            found = self.work.released(batch, rows).columns
            arrays = [fitted(one, field) for one, field in zip(found, self.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            row = rows.stop
        self.refuse_changed(run)

    def refuse_changed(self, run: int) -> None:
        start, stop = run * self.size, (run + 1) * self.size
        for file in self.files:
            is_read = file.rows.start < stop and file.rows.stop > start
            if is_read and Seen.of(file.path, file.rows) != file:
                raise InvalidData(
                    f"{file.path.name} was written again after perturb was called: the same bits "
                    "would tell what changed. Call perturb again, under another key."
                )


def fitted(values: Any, field: Any) -> Any:
    """Return values in the type that Spark takes; refuse what it cannot hold."""
    try:
        return cast(values, field.type)
    except pa.ArrowInvalid:
        raise InvalidData(
            f"Column {field.name!r} has values that do not fit into {field.type}, which is what "
            "Spark has for them: times finer than microseconds, say. Round them, or leave the "
            "column out."
        ) from None


def spark_schema(schema: Any) -> Any:
    """Return Spark's schema for Arrow types; refuse a type that Spark has none for."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in schema:
        try:
            kind = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        except PySparkException:
            raise InvalidData(
                f"Column {field.name!r} is of type {field.type}, which Spark has no type for. Read "
                "the files with Spark and randomise the frame, or leave the column out."
            ) from None
        fields.append(StructField(field.name, kind, nullable=True))
    return StructType(fields)

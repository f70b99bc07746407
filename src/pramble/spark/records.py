"""The records of a Spark frame: jobs go to the rows, and only what they made of them comes here.

A shuffle moves runs of rows as one value each: as Arrow streams in a column of bytes.
"""

import hashlib
import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa

from pramble.data.arrays import even_batches
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.recode import Reading
from pramble.data.records import (
    Job,
    Records,
    TableRecords,
    Watch,
    changes_values,
    columns_for,
    needed_columns,
    recoded,
)
from pramble.data.remote import PartTask
from pramble.data.selection import Selection, rows_moved
from pramble.errors import InvalidData, PrambleError, rows_later
from pramble.spark.workers import (
    ANSWERS,
    Batches,
    answer_line,
    answers_in,
    current_partition,
    functions_for,
    map_partitions,
    quoted,
)
from pramble.values import frozen


def counted(
    batches: Batches,
    expected: int,
    partition: int,
    *,
    rows_of: Callable[[Any], int] = attrgetter("num_rows"),
) -> Iterator[Any]:
    """Yield batches; raise before one that goes beyond the rows counted, or when some are gone."""
    met = 0
    for batch in batches:
        met += rows_of(batch)
        if met > expected:
            break
        yield batch
    if met != expected:
        raise InvalidData(
            f"Rows must stand still to be numbered by position; partition {partition} had "
            f"{expected} rows when they were counted and {met} when they were drawn. Write the "
            "frame to files first, or give row_number= the name of a column that numbers the rows."
        )


LANES = ("one", "two", "three")

# Some rows on their way to the run that they belong to, with the number of the first.
CHUNKS = "run int, number long, chunk binary"


@frozen(eq=False)
class SparkRecords(Records):
    """Records on a cluster, whose rows stay where they are: tasks go to them.

    ``frame`` is Spark's own. A scan sends copies of its jobs to every partition and merges what
    they bring back in the order of the partitions, as if one job had seen all rows in turn.
    """

    frame: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"

    @cached_property
    def raw_schema(self) -> Any:
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self.frame.schema, timezone="UTC").remove_metadata()

    @property
    def rows_stay(self) -> bool:
        return True

    @property
    def session(self) -> Any:
        return self.frame.sparkSession

    def sent(
        self, task: PartTask, columns: Sequence[str], schema: Any, *, coded: Collection[str] = ()
    ) -> Any:
        del coded
        frame = self.frame.select(*map(quoted, needed_columns(self.reading, columns)))
        shown = partial(on_partition, task=task, reading=self.reading, columns=list(columns))
        return map_partitions(frame, shown, schema)

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
        move = partial(cut_part, spans=self.spans, size=size)
        chunks = self.sent(move, columns, CHUNKS, coded=coded)
        return gathered_runs(chunks, task, schema, runs=-(-rows // size))

    @cached_property
    def spans(self) -> Mapping[int, range]:
        """The numbers of the rows of each part, as the first scan met them."""
        self.scanned([], None)
        found: Mapping[int, range] = vars(self)["spans"]
        return found

    def scanned(self, jobs: Sequence[Job], watch: Watch | None) -> int:
        """Show every batch to copies of every job where it is; return the number of rows."""
        wanted = columns_for(jobs, self.names)
        self.refuse_missing(wanted)
        task = partial(run_jobs, packed=pickle.dumps(list(jobs)))
        found = answers_in(self.sent(task, wanted, ANSWERS, coded=wanted))
        rows = 0
        for _, count, later in found:
            if isinstance(later, PrambleError):
                raise rows_later(later, rows)
            for job, other in zip(jobs, later, strict=True):
                job.merge(other)
            rows += count
        vars(self).setdefault("spans", spans_of([(part, count) for part, count, _ in found]))
        if watch is not None:
            watch(rows, 1.0)
        return rows

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        yield from self.here(columns).raw_batches(columns, coded, watch)

    def here(self, columns: Sequence[str], *, rows: int | None = None) -> Records:
        wanted = list(dict.fromkeys(columns)) or list(self.names[:1])
        self.refuse_missing(wanted)
        frame = self.frame.select(*map(quoted, needed_columns(self.reading, wanted)))
        table = (frame if rows is None else frame.limit(rows)).toArrow()
        return TableRecords(table, self.backend, self.reading, self.name)

    def selected(self, selection: Selection, job: Any) -> "SparkRecords":
        parts = [part for part, span in self.spans.items() if span]
        marks = dict(zip(parts, selection.marks, strict=True))
        task = partial(
            selected_rows, selection=selection, spans=self.spans, marks=marks, job=job,
            reading=self.reading,
        )  # fmt: skip
        frame = map_partitions(self.frame, task, self.frame.schema)
        return SparkRecords(frame, self.backend, self.reading, self.name)

    def rows_in_spark(self) -> Any:
        """Return a frame of the rows before recoding."""
        return self.frame

    def gathered_by(self, key: Sequence[str], columns: Sequence[str]) -> "SparkRecords":
        """Return some columns with all rows of one key in one part; their order is another."""
        frame = self.rows_in_spark().select(*map(quoted, needed_columns(self.reading, columns)))
        F = functions_for(self.session)
        # Coarser than any two spellings of one person (`person_texts`), who must be in one part.
        texts = (F.lower(F.col(quoted(name)).cast("string")) for name in key)
        places = [F.regexp_replace(text, "[^1-9a-z]", "") for text in texts]
        return SparkRecords(frame.repartition(*places), reading=self.reading)

    def digest(self) -> str:
        F = functions_for(self.frame.sparkSession)
        texts = [F.col(quoted(name)).cast("string") for name in self.names]
        lanes = [F.xxhash64(F.lit(lane), *texts).cast("decimal(20)") for lane in LANES]
        sums = [F.sum(lane).cast("string").alias(str(i)) for i, lane in enumerate(lanes)]
        found = self.frame.agg(F.count(F.lit(1)).alias("rows"), *sums).toArrow().to_pylist()
        summed = repr((self.names, sorted(found[0].items())))
        return hashlib.sha256(summed.encode("utf-8", "surrogatepass")).hexdigest()


def selected_on_spark(records: SparkRecords, selection: Selection, job: Any) -> SparkRecords:
    return records.selected(selection, job)


def on_partition(
    batches: Batches, *, task: PartTask, reading: Reading, columns: Sequence[str]
) -> Iterator[Any]:
    if changes_values(reading):
        batches = (recoded(batch, reading, columns) for batch in batches)
    yield from task(iter(batches), current_partition())


def selected_rows(
    batches: Batches,
    *,
    selection: Selection,
    spans: Mapping[int, range],
    marks: Mapping[int, bytes],
    job: Any,
    reading: Reading,
) -> Iterator[Any]:
    """Yield the selected rows of a part, which must be those that were there when it was marked."""
    part = current_partition()
    span, again = spans.get(part, range(0)), pickle.loads(pickle.dumps(job))  # noqa: S301 (our own)

    def seen() -> Iterator[Any]:
        for batch in counted(batches, len(span), part):
            again.add(recoded(batch, reading, again.columns))
            yield batch

    yield from selection.batches(seen(), start=span.start)
    if again.rows and again.mark.digest() != marks[part]:
        raise rows_moved(selection.rows)


def spans_of(counts: Iterable[tuple[int, int]], *, first_row: int = 0) -> dict[int, range]:
    """Return the numbers of the rows of each partition, from how many each has, in order."""
    spans, row = {}, first_row
    for partition, rows in counts:
        spans[partition] = range(row, row + rows)
        row += rows
    return spans


def cut_part(
    batches: Iterable[Any], part: int, *, spans: Mapping[int, range], size: int
) -> Iterator[Any]:
    """Yield the rows of a part in chunks that end with blocks of rows, each bound for its run."""
    span = spans.get(part, range(0))
    number = span.start
    block = min(size, BATCH_ROWS)
    # chunks end with blocks, so the first fills the block in which the part begins
    rows = counted(batches, len(span), part)
    for chunk in even_batches(rows, block, first=block - number % block):
        yield chunk_line(number // size, number, chunk)
        number += chunk.num_rows


def chunk_line(run: int, number: int, rows: Any) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    kinds = {"run": pa.int32(), "number": pa.int64(), "chunk": pa.binary()}
    chunk = {"run": run, "number": number, "chunk": sink.getvalue().to_pybytes()}
    return pa.RecordBatch.from_pylist([chunk], schema=pa.schema(kinds))


def gathered_runs(chunks: Any, task: PartTask, schema: Any, *, runs: int) -> Any:
    """Return the frame of what a task makes of each run, whose chunks come in order."""
    there = chunks.repartitionById(max(runs, 1), "run").sortWithinPartitions("run", "number")
    return map_partitions(there, partial(on_runs, task=task), schema)


def on_runs(batches: Batches, *, task: PartTask) -> Iterator[Any]:
    lines = (
        (run.as_py(), chunk)
        for batch in batches
        for run, chunk in zip(batch["run"], batch["chunk"], strict=True)
    )
    for run, own in groupby(lines, key=itemgetter(0)):
        streams = (pa.ipc.open_stream(chunk.as_buffer()) for _, chunk in own)
        yield from task((rows for stream in streams for rows in stream), run)


def run_jobs(batches: Iterable[Any], part: int, *, packed: bytes) -> Iterator[Any]:
    """Yield one line: what jobs made of a part of the rows, or the error that they raised."""
    made: Any = pickle.loads(packed)  # noqa: S301 (our own, from the driver)
    rows = 0
    try:
        for batch in batches:
            for job in made:
                job.add(batch)
            rows += batch.num_rows
    except PrambleError as error:
        made = error
    yield answer_line(part, made, rows=rows)

"""The records of a Spark frame: jobs go to the rows, and only what they made of them comes here."""

import hashlib
import pickle
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from pramble.data.frame_records import TableRecords
from pramble.data.reading import Reading
from pramble.data.records import Records, Watch, columns_for, recoded
from pramble.data.scan import Job
from pramble.data.spark_progress import collect
from pramble.data.spark_workers import (
    Batches,
    current_partition,
    functions_for,
    line,
    map_partitions,
    quoted,
)
from pramble.errors import PrambleError, rows_later
from pramble.values import value

LANES = ("one", "two", "three")
STATES = "partition int, rows long, state binary"


@value(eq=False)
class SparkRecords(Records):
    """Records on a cluster.

    ``frame`` is Spark's own. A scan sends copies of its jobs to every partition and merges what
    they bring back in the order of the partitions, as if one job had seen all rows in turn.
    """

    frame: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"

    @property
    def rows_stay(self) -> bool:
        """Whether rows stay on other machines: they do."""
        return True

    @cached_property
    def raw_schema(self) -> Any:
        """The Arrow schema."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self.frame.schema, timezone="UTC").remove_metadata()

    def scanned(self, jobs: Sequence[Job], watch: Watch | None) -> int:
        """Show every batch to copies of every job where it is; return the number of rows."""
        wanted = columns_for(jobs, self.names)
        self.refuse_missing(wanted)
        packed = pickle.dumps(list(jobs))
        task = partial(run_jobs, packed=packed, reading=self.reading)
        frame = self.frame.select(*map(quoted, wanted))
        found = collect(map_partitions(frame, task, STATES), watch)
        return merged(jobs, sorted(found.to_pylist(), key=lambda one: int(one["partition"])))

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns, for what needs the rows themselves: they come here."""
        yield from self.here(columns).raw_batches(columns, coded, watch)

    def here(self, columns: Sequence[str]) -> TableRecords:
        """Return the records in memory."""
        wanted = list(dict.fromkeys(columns)) or list(self.names[:1])
        self.refuse_missing(wanted)
        table = self.frame.select(*map(quoted, wanted)).toArrow()
        return TableRecords(table, self.backend, self.reading, self.name)

    def digest(self) -> str:
        """Return a SHA-256 of sums of hashes over the rows, in any order, as Spark makes them."""
        F = functions_for(self.frame.sparkSession)
        texts = [F.col(quoted(name)).cast("string") for name in self.names]
        lanes = [F.xxhash64(F.lit(lane), *texts).cast("decimal(20)") for lane in LANES]
        sums = [F.sum(lane).cast("string").alias(str(i)) for i, lane in enumerate(lanes)]
        found = self.frame.agg(F.count(F.lit(1)).alias("rows"), *sums).toArrow().to_pylist()
        told = repr((self.names, sorted(found[0].items())))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def run_jobs(batches: Batches, *, packed: bytes, reading: Reading) -> Iterator[Any]:
    """Yield one line: what jobs made of a partition, or the error that they raised."""
    jobs: list[Job] = pickle.loads(packed)  # noqa: S301 (our own, from the driver)
    rows, state = 0, b""
    try:
        for batch in batches:
            shown = recoded(batch, reading) if reading.recode else batch
            for job in jobs:
                job.add(shown)
            rows += batch.num_rows
        state = pickle.dumps(jobs)
    except PrambleError as error:
        state = pickle.dumps(error)
    yield line(
        partition=(current_partition(), pa.int32()),
        rows=(rows, pa.int64()),
        state=(state, pa.binary()),
    )


def merged(jobs: Sequence[Job], found: Sequence[dict[str, Any]]) -> int:
    """Merge what came back into the jobs; raise the first error as on one machine."""
    rows = 0
    for part in found:
        state = pickle.loads(part["state"])  # noqa: S301 (our own, from our workers)
        if isinstance(state, PrambleError):
            raise rows_later(state, rows)
        for job, later in zip(jobs, state, strict=True):
            job.merge(later)
        rows += part["rows"]
    return rows

"""Writing the released file: batches of the source through the engine into Parquet or CSV."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidPlan
from pramble.releasing.source import prepared, without_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pramble.mechanisms.base import Mechanism
    from pramble.releasing.plan import ReleasePlan
    from pramble.releasing.source import Source

    Progress = Callable[[int, int], None]

GROUP_ROWS = 1 << 20
PASSES = 3
"""Writing takes about this many times as long as one pass: reading, writing and comparing."""


def kept_columns(source: Source, plan: ReleasePlan) -> list[str]:
    """Return the columns of the source that the release has, in order."""
    return [name for name in source.names if name not in plan.drop]


def prepared_reader(source: Source, plan: ReleasePlan) -> Any:
    """Return the source as a batch reader: dropped columns gone, randomised ones ready."""
    import pyarrow as pa

    plans = {column.name: column for column in plan.columns}
    names = kept_columns(source, plan)
    found = source.schema()

    def ready(name: str, values: Any) -> Any:
        if name not in plans:
            return without_unused(values)
        return prepared(values, plans[name], csv=source.format == "csv")

    def empty_type(name: str) -> Any:
        return ready(name, pa.array([], found.field(name).type)).type

    schema = pa.schema([pa.field(name, empty_type(name)) for name in names])

    def batches() -> Iterator[Any]:
        for batch in source.batches(names):
            columns = [ready(name, v) for name, v in zip(names, batch.columns, strict=True)]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def write_release(
    source: Source,
    path: Path,
    *,
    plan: ReleasePlan,
    mechanisms: Mapping[str, Mechanism],
    key: bytes,
    rows: int,
    progress: Progress | None = None,
) -> None:
    """Randomise the source into a file.

    Parameters
    ----------
    source : Source
    path : Path
        The file to write; its format is the plan's output.
    plan : ReleasePlan
    mechanisms : mapping from column to Mechanism
    key : bytes
        32 secret bytes.
    rows : int
        Rows of the source, for the progress.
    progress : callable, optional
        Called with (rows done, rows in all).
    """
    from pramble.engine.perturb import perturb

    released = perturb(prepared_reader(source, plan), dict(mechanisms), key=key)
    done = 0
    with writer(path, plan.output, schema=released.schema) as write:
        for table in even_tables(released, GROUP_ROWS):
            write(table)
            done += table.num_rows
            if progress is not None:
                progress(done, rows)


def rehearse(
    source: Source, plan: ReleasePlan, *, mechanisms: Mapping[str, Mechanism], rows: int
) -> tuple[int, float]:
    """Return about how large the file will be and how many seconds writing will take.

    The first batch is randomised into memory, with a key that is thrown away.
    """
    import pyarrow as pa

    from pramble.engine.perturb import perturb

    reader = prepared_reader(source, plan)
    first = pa.Table.from_batches([next(iter(reader))])
    perturb(first, dict(mechanisms))
    started = time.perf_counter()
    sink = pa.BufferOutputStream()
    released = perturb(first, dict(mechanisms))
    with writer(sink, plan.output, schema=released.schema) as write:
        write(released)
    scale = rows / max(first.num_rows, 1)
    return int(sink.tell() * scale), (time.perf_counter() - started) * scale * PASSES


def even_tables(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Gather batches into tables of ``rows`` rows each, the last one shorter.

    Row groups that followed the batches would show how the source was cut into files, and two
    readers can be compared only in tables that are cut alike.
    """
    import pyarrow as pa

    waiting: list[Any] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        while held >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows)
            waiting = table.slice(rows).to_batches()
            held -= rows
    if held:
        yield pa.Table.from_batches(waiting)


@contextmanager
def writer(path: Any, output: str, *, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Give a function that appends a table to a Parquet or CSV file."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    if output == "parquet":
        with pq.ParquetWriter(path, schema, compression="zstd") as parquet:
            yield parquet.write_table
        return
    options = csv.WriteOptions(quoting_style="needed")
    with csv.CSVWriter(path, text_schema(schema), write_options=options) as text:
        yield lambda table: text.write_table(as_text(table))


def text_schema(schema: Any) -> Any:
    """Return the schema of a table written as text."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.string()) for name in schema.names])


def as_text(table: Any) -> Any:
    """Return a table whose values are the text that a CSV file holds."""
    import pyarrow as pa

    def text(name: str) -> Any:
        column = table[name]
        is_coded = pa.types.is_dictionary(column.type)
        try:
            return (column.cast(column.type.value_type) if is_coded else column).cast(pa.string())
        except pa.ArrowNotImplementedError:
            raise InvalidPlan(
                f"Column {name!r} of type {column.type} cannot be written as CSV; drop it, or "
                'write output = "parquet".'
            ) from None

    return pa.table(list(map(text, table.column_names)), schema=text_schema(table.schema))


def check_output(source: Source, plan: ReleasePlan) -> None:
    """Refuse a plan whose output cannot hold the types of the file."""
    import pyarrow as pa

    if plan.output == "csv":
        kept = [source.schema().field(name) for name in kept_columns(source, plan)]
        as_text(pa.schema(kept).empty_table())

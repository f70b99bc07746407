"""Records, whatever holds them: columns by name, read in batches, in one pass for several jobs."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from pramble.data.arrays import as_schema, decimal_points, is_text
from pramble.data.formats.base import (
    BATCH_ROWS,
    FileLabels,
    Format,
    Wanted,
    missing_column,
    sound_file,
    titles_in,
)
from pramble.data.labels import Label
from pramble.data.recode import Reading, apply_all, categories_after
from pramble.data.repair import repaired, rule_columns
from pramble.errors import InvalidData
from pramble.values import frozen

# Told, after every batch, how many rows it had and which share of the data has been read.
Watch = Callable[[int, float], object]


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
        return self._recoded(empty, self.names).schema

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

    def file_labels(self) -> FileLabels:
        """Return what the data itself says of its columns in words."""
        return FileLabels(titles_in(self.raw_schema))

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
        for batch in self.raw_batches(needed_columns(self.reading, wanted), coded, watch):
            yield self._recoded(batch, wanted) if changes_values(self.reading) else batch

    def _recoded(self, batch: Any, columns: Sequence[str]) -> Any:
        return recoded(batch, self.reading, columns, typed=self.typed)

    def here(self, columns: Sequence[str], *, rows: int | None = None) -> "Records":
        """Return records with these columns whose rows are, or come, to this machine.

        Where they come, it is so many of them, or all.
        """
        del columns, rows
        return self

    def scanned(self, jobs: "Sequence[Job]", watch: Watch | None) -> int:
        wanted, rows = columns_for(jobs, self.names), 0
        for batch in self.batches(wanted, coded=wanted, watch=watch):
            rows += batch.num_rows
            for job in jobs:
                job.add(batch)
        return rows


def columns_for(jobs: "Sequence[Job]", names: Sequence[str]) -> list[str]:
    """Return the columns that some jobs want to see; one at least, so that rows are counted."""
    return list(dict.fromkeys(name for job in jobs for name in job.columns)) or list(names[:1])


def changes_values(reading: Reading) -> bool:
    return bool(reading.recode or reading.repairs)


def needed_columns(reading: Reading, columns: Sequence[str]) -> list[str]:
    """Return some columns, and those that their repairs look at."""
    if not any(set(rule["repair"]) & set(columns) for rule in reading.repairs):
        return list(columns)
    # A repair may follow from what another one repairs, so all are made.
    others = set().union(*map(rule_columns, reading.repairs))
    return [*columns, *sorted(others.difference(columns))]


def recoded(batch: Any, reading: Reading, columns: Sequence[str], *, typed: bool = True) -> Any:
    """Return some columns of a batch, recoded and repaired."""
    arrays, fields = list(batch.columns), list(batch.schema)
    for place, field in enumerate(batch.schema):
        steps = reading.recode.get(field.name, ())
        if steps:
            found = decimal_points(arrays[place]) if reading.decimal == "," else arrays[place]
            arrays[place] = apply_all(steps, found, column=field.name)
            fields[place] = field.with_type(arrays[place].type)
    found = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    for rule in reading.repairs:
        if rule_columns(rule) <= set(found.schema.names):
            found = repaired(found, rule, typed=typed)
    return found.select(list(columns))


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


@frozen(eq=False)
class TableRecords(Records):
    """Records in memory: an Arrow table."""

    table: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"
    has_types: bool = True

    @property
    def typed(self) -> bool:
        return self.has_types

    @property
    def raw_schema(self) -> Any:
        return self.table.schema

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def own_categories(self, column: str) -> tuple[Label, ...] | None:
        kind = self.table.schema.field(column).type
        if not (pa.types.is_dictionary(kind) and kind.ordered):
            return None
        chunks = self.table.column(column).unify_dictionaries().chunks
        return tuple(chunks[0].dictionary.to_pylist()) if chunks else None

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        del coded
        done = 0
        for batch in self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS):
            done += batch.num_rows
            if watch is not None:
                watch(batch.num_rows, done / max(self.rows, 1))
            yield batch

    def digest(self) -> str:
        sink = pa.BufferOutputStream()
        whole = self.table.combine_chunks().replace_schema_metadata(None)
        with pa.ipc.new_stream(sink, whole.schema) as stream:
            stream.write_table(whole)
        return hashlib.sha256(sink.getvalue()).hexdigest()


@frozen(eq=False)
class MixedRecords(Records):
    """Records in memory whose columns Arrow cannot hold: labels of several types in one column."""

    columns: Mapping[str, Any]
    reading: Reading = Reading()
    backend: str = "pyarrow"
    name: str = "The data"

    @property
    def raw_schema(self) -> Any:
        return MixedBatch(self.columns).schema

    @property
    def rows(self) -> int:
        return MixedBatch(self.columns).num_rows

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        del coded
        if watch is not None:
            watch(self.rows, 1.0)
        yield MixedBatch({name: self.columns[name] for name in columns})

    def _recoded(self, batch: Any, columns: Sequence[str]) -> Any:
        """Return a batch after the recodings of its columns, which must be of one type."""
        del columns

        def recoded(name: str, values: Any) -> Any:
            steps = self.reading.recode.get(name, ())
            if steps and mixed(values):
                raise InvalidData(f"Column {name!r} must hold values of one type to be recoded.")
            found = pa.array(values, from_pandas=True) if steps else values
            return apply_all(steps, found, column=name) if steps else found

        return MixedBatch({name: recoded(name, values) for name, values in batch.items()})

    @property
    def schema(self) -> Any:
        return self.raw_schema

    def digest(self) -> str:
        written = repr([(name, list(values)) for name, values in self.columns.items()])
        return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


class MixedBatch(dict[str, Any]):
    """Columns of Python values, with the two names that consumers of batches use."""

    @property
    def num_rows(self) -> int:
        return max(map(len, self.values()), default=0)

    @property
    def schema(self) -> Any:
        return pa.schema([pa.field(name, pa.null()) for name in self])


@frozen(eq=False)
class LazyRecords(Records):
    """Records that another engine holds: a lazy frame of polars or DuckDB."""

    frame: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"

    @cached_property
    def raw_schema(self) -> Any:
        return self.collect(self.frame.head(0)).schema

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        table = self.collect(self.frame.select(list(columns)))
        yield from TableRecords(table).raw_batches(columns, coded, watch)

    def own_categories(self, column: str) -> tuple[Label, ...] | None:
        own = getattr(self.frame.collect_schema()[column], "categories", None)
        return tuple(own) if own else None

    def collect(self, frame: Any) -> Any:
        return frame.collect(backend="pyarrow").to_native()

    def digest(self) -> str:
        return TableRecords(self.collect(self.frame)).digest()


def mixed(values: Any) -> bool:
    """Whether a sequence holds values that Arrow cannot hold in one column as they are."""
    if isinstance(values, np.ndarray):
        return bool(values.dtype.kind == "O") and mixed(values.tolist())
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return False
    kinds = {type(one) for one in values if one is not None}
    return len(kinds) > 1 or tuple in kinds


@frozen(eq=False)
class FileRecords(Records):
    """Records of one or more files of one format, read one after the other."""

    paths: tuple[Path, ...]
    format: Format
    file_schema: Any
    reading: Reading
    name: str
    root: Path
    counted: int | None = None
    backend: str = "pyarrow"

    @property
    def raw_schema(self) -> Any:
        return self.file_schema

    @property
    def typed(self) -> bool:
        return self.format.typed

    @property
    def path(self) -> Path:
        return self.root

    @property
    def rows(self) -> int | None:
        return self.counted

    def file_labels(self) -> FileLabels:
        plain = super().file_labels()
        if self.format.labels is None:
            return plain
        return replace(self.format.labels(self.paths[0]), titles=plain.titles)

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        sizes = [path.stat().st_size or 1 for path in self.paths]
        done = 0
        schema = None if len(self.paths) == 1 else self.schema_of(columns, coded)
        wanted = Wanted(self.reading, tuple(columns), coded)
        for path, size in zip(self.paths, sizes, strict=True):
            for batch, share in file_batches(path, self.format, wanted):
                if watch is not None:
                    watch(batch.num_rows, (done + share * size) / sum(sizes))
                yield batch if schema is None else as_schema(batch, schema, path)
            done += size

    def schema_of(self, columns: Sequence[str], coded: Collection[str]) -> Any:
        """Return the schema that batches of all files have, where there are several."""

        def kind(name: str) -> Any:
            own = self.raw_schema.field(name)
            as_codes = self.format.typed and name in coded and is_text(own)
            return pa.dictionary(pa.int32(), own.type) if as_codes else own.type

        return pa.schema([pa.field(name, kind(name)) for name in columns])

    def digest(self) -> str:
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(path.stat().st_size.to_bytes(8, "big"))
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def file_batches(path: Path, form: Format, wanted: Wanted) -> Iterator[tuple[Any, float]]:
    """Yield the batches of a file with the share read; every failure becomes one sentence."""
    with ExitStack() as stack:
        with sound_file(path, form.name):
            opened = stack.enter_context(form.read(path, wanted))
            batches = iter(opened.batches)
        while True:
            # around each batch alone, so that nothing of whoever takes it is caught
            with sound_file(path, form.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch, opened.share_read()

"""The records of a file, a frame or a stream, whatever it is: columns by name, read in batches."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pramble.data.arrays import as_schema, is_text, points
from pramble.data.formats.base import BATCH_ROWS, Format, Wanted, missing_column, unreadable
from pramble.data.labels import Label
from pramble.data.reading import Reading
from pramble.data.recode import apply_all, categories_after
from pramble.errors import InvalidData
from pramble.values import value

Watch = Callable[[int, float], object]
"""Told, after every batch, how many rows it had and which share of the data has been read."""


class Records(ABC):
    """Records with named columns; `pramble.data.open.open_records` makes one.

    Attributes
    ----------
    name : str
        How messages call the data: the file's name, or "The data".
    reading : Reading
        How it is read, with all that was found out.
    backend : str
        The frame library to answer in: "pyarrow", "pandas" or "polars".
    """

    name: str
    reading: Reading
    backend: str

    @property
    def typed(self) -> bool:
        """Whether values have types; else they are texts, which stand for their labels."""
        return True

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
        """The columns, in order."""
        return tuple(self.raw_schema.names)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the batches."""
        import pyarrow as pa

        empty = pa.RecordBatch.from_pylist([], schema=self.raw_schema)
        return self._recoded(empty).schema

    def refuse_missing(self, names: Iterable[str]) -> None:
        """Raise when a column is not there."""
        present = set(self.names)
        for name in names:
            if name not in present:
                raise missing_column(name, self.names)

    def declared(self, column: str) -> tuple[Label, ...] | None:
        """Return the categories that a recoding or the column's own type declares, in order."""
        return categories_after(self.reading.recode.get(column, ()))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        coded: Collection[str] = (),
        watch: Watch | None = None,
    ) -> Iterator[Any]:
        """Yield batches in order, recoded.

        Parameters
        ----------
        columns : sequence of str, optional
            In this order; all by default.
        coded : collection of str
            Columns that may come as dictionaries.
        watch : callable, optional
            Told of every batch: its rows and the share read so far.
        """
        wanted = list(self.names if columns is None else columns)
        self.refuse_missing(wanted)
        for batch in self.raw_batches(wanted, coded, watch):
            yield self._recoded(batch) if self.reading.recode else batch

    def _recoded(self, batch: Any) -> Any:
        """Return a batch after the recodings of its columns."""
        import pyarrow as pa

        arrays, fields = list(batch.columns), list(batch.schema)
        for place, field in enumerate(batch.schema):
            steps = self.reading.recode.get(field.name, ())
            if steps:
                found = points(arrays[place]) if self.reading.decimal == "," else arrays[place]
                arrays[place] = apply_all(steps, found, column=field.name)
                fields[place] = field.with_type(arrays[place].type)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


READ_ERRORS = (OSError, ValueError, EOFError, KeyError)


@value(eq=False)
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
        """The Arrow schema before recoding."""
        return self.file_schema

    @property
    def typed(self) -> bool:
        """Whether values have types."""
        return self.format.typed

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self.root

    @property
    def rows(self) -> int | None:
        """Number of rows, where the file tells it."""
        return self.counted

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns before recoding."""
        sizes = [path.stat().st_size or 1 for path in self.paths]
        done = 0
        schema = None if len(self.paths) == 1 else self._schema_of(columns, coded)
        wanted = Wanted(self.reading, tuple(columns), coded)
        for path, size in zip(self.paths, sizes, strict=True):
            for batch, share in file_batches(path, self.format, wanted):
                if watch is not None:
                    watch(batch.num_rows, (done + share * size) / sum(sizes))
                yield batch if schema is None else as_schema(batch, schema, path)
            done += size

    def _schema_of(self, columns: Sequence[str], coded: Collection[str]) -> Any:
        import pyarrow as pa

        def kind(name: str) -> Any:
            own = self.raw_schema.field(name)
            as_codes = self.format.typed and name in coded and is_text(own)
            return pa.dictionary(pa.int32(), own.type) if as_codes else own.type

        return pa.schema([pa.field(name, kind(name)) for name in columns])

    def digest(self) -> str:
        """Return the SHA-256 of the file, or of the files in order, each after its length."""
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(path.stat().st_size.to_bytes(8, "big"))
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def file_batches(path: Path, form: Format, wanted: Wanted) -> Iterator[tuple[Any, float]]:
    """Yield the batches of a file with the share read; every failure is told in one sentence."""
    import pyarrow as pa

    with ExitStack() as stack:
        try:
            opened = stack.enter_context(form.read(path, wanted))
            batches = iter(opened.batches)
        except (*READ_ERRORS, pa.ArrowException) as error:
            raise unreadable(path.name, form.name, error) from None
        while True:
            try:
                batch = next(batches, None)
            except (*READ_ERRORS, pa.ArrowException) as error:
                raise unreadable(path.name, form.name, error) from None
            if batch is None:
                return
            yield batch, opened.share_read()


@value(eq=False)
class TableRecords(Records):
    """Records in memory: an Arrow table."""

    table: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"
    has_types: bool = True

    @property
    def typed(self) -> bool:
        """Whether values have types."""
        return self.has_types

    @property
    def raw_schema(self) -> Any:
        """The Arrow schema before recoding."""
        return self.table.schema

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def declared(self, column: str) -> tuple[Label, ...] | None:
        """Return what a recoding declares, or the categories of an ordered column."""
        import pyarrow as pa

        stated = categories_after(self.reading.recode.get(column, ()))
        kind = self.table.schema.field(column).type
        if stated is not None or not (pa.types.is_dictionary(kind) and kind.ordered):
            return stated
        chunks = self.table.column(column).unify_dictionaries().chunks
        return tuple(chunks[0].dictionary.to_pylist()) if chunks else None

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns."""
        del coded
        done = 0
        for batch in self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS):
            done += batch.num_rows
            if watch is not None:
                watch(batch.num_rows, done / max(self.rows, 1))
            yield batch

    def digest(self) -> str:
        """Return the SHA-256 of the table as an Arrow stream of one batch."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        whole = self.table.combine_chunks().replace_schema_metadata(None)
        with pa.ipc.new_stream(sink, whole.schema) as stream:
            stream.write_table(whole)
        return hashlib.sha256(sink.getvalue()).hexdigest()


@value(eq=False)
class MixedRecords(Records):
    """Records in memory whose columns Arrow cannot hold: labels of several types in one column."""

    columns: Mapping[str, Any]
    reading: Reading = Reading()
    backend: str = "pyarrow"
    name: str = "The data"

    @property
    def raw_schema(self) -> Any:
        """The Arrow schema, without types."""
        import pyarrow as pa

        return pa.schema([pa.field(name, pa.null()) for name in self.columns])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return max(map(len, self.columns.values()), default=0)

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield all rows as one batch."""
        del coded
        if watch is not None:
            watch(self.rows, 1.0)
        yield MixedBatch({name: self.columns[name] for name in columns})

    def _recoded(self, batch: Any) -> Any:
        """Return a batch after the recodings of its columns, which must be of one type."""
        import pyarrow as pa

        def recoded(name: str, values: Any) -> Any:
            steps = self.reading.recode.get(name, ())
            if steps and mixed(values):
                raise InvalidData(f"Column {name!r} must hold values of one type to be recoded.")
            found = pa.array(values, from_pandas=True) if steps else values
            return apply_all(steps, found, column=name) if steps else found

        return MixedBatch({name: recoded(name, values) for name, values in batch.items()})

    @property
    def schema(self) -> Any:
        """The Arrow schema, without types."""
        return self.raw_schema

    def digest(self) -> str:
        """Return the SHA-256 of the values as Python writes them."""
        written = repr([(name, list(values)) for name, values in self.columns.items()])
        return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


class MixedBatch(dict[str, Any]):
    """Columns of Python values, with the two names that consumers of batches use."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return max(map(len, self.values()), default=0)

    @property
    def schema(self) -> Any:
        """The Arrow schema, without types."""
        import pyarrow as pa

        return pa.schema([pa.field(name, pa.null()) for name in self])


@value(eq=False)
class LazyRecords(Records):
    """Records that another engine holds: a lazy frame of polars, DuckDB or Spark."""

    frame: Any
    backend: str = "pyarrow"
    reading: Reading = Reading()
    name: str = "The data"

    @cached_property
    def raw_schema(self) -> Any:
        """The Arrow schema, from no rows."""
        return self.collect(self.frame.head(0)).schema

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        """Yield batches of some columns, collected by their engine."""
        table = self.collect(self.frame.select(list(columns)))
        yield from TableRecords(table).raw_batches(columns, coded, watch)

    def declared(self, column: str) -> tuple[Label, ...] | None:
        """Return what a recoding declares, or the categories of an enumeration."""
        stated = categories_after(self.reading.recode.get(column, ()))
        own = getattr(self.frame.collect_schema()[column], "categories", None)
        return stated if stated is not None or not own else tuple(own)

    def collect(self, frame: Any) -> Any:
        """Return a lazy frame as an Arrow table."""
        return frame.collect(backend="pyarrow").to_native()

    def digest(self) -> str:
        """Return the SHA-256 of the collected table."""
        return TableRecords(self.collect(self.frame)).digest()


def mixed(values: Any) -> bool:
    """Whether a sequence holds values that Arrow cannot hold in one column as they are."""
    if isinstance(values, np.ndarray):
        return bool(values.dtype.kind == "O") and mixed(values.tolist())
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return False
    kinds = {type(one) for one in values if one is not None}
    return len(kinds) > 1 or tuple in kinds

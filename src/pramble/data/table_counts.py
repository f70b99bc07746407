"""Contingency tables of declared categories, all in one pass, or counted by an engine of its own.

Where an engine holds the rows, only groups with their counts come here. Their values pass through
the same encoders as those of rows, so that labels, missing values and refusals are the same
wherever the rows are.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.crosstab import unused
from pramble.data.encode import SHOWN, Encoder, Undeclared, UndeclaredValues
from pramble.data.labels import Labels
from pramble.data.records import Records, Watch
from pramble.data.sources import LazyRecords
from pramble.errors import InvalidData
from pramble.values import Integers

Columns = tuple[str, ...]

SPARSE = 4
"""A table of a part of the rows is sent as its filled cells where fewer than one in so many are."""


class TableCounts:
    """Exact counts of every cell of some tables: a job for `pramble.data.records.scan`.

    Tables that lie within others are left out: they are margins.
    """

    def __init__(
        self,
        tables: Sequence[Columns],
        labels: Mapping[str, Labels],
        *,
        typed: bool,
        nulls: Mapping[str, Any] | None = None,
    ) -> None:
        sets = {frozenset(table): table for table in tables}
        self.tables = tuple(t for one, t in sets.items() if not any(one < other for other in sets))
        self.columns: list[str] = list(
            dict.fromkeys(name for table in self.tables for name in table)
        )
        empty = nulls or {}
        self.encoders = {
            name: Encoder(labels[name], name, from_text=not typed, null_label=empty.get(name))
            for name in self.columns
        }
        self.shapes = {t: tuple(len(labels[name]) for name in t) for t in self.tables}
        self.sums: dict[Columns, Integers] = {}
        self.undeclared = UndeclaredValues()
        self.rows = 0

    def add(self, batch: Any) -> None:
        self.add_codes(self.codes(batch))

    def codes(self, batch: Any, times: Integers | None = None) -> dict[str, Integers]:
        """Return the codes of a batch of rows, or of groups of so many rows; it counts as seen."""
        if times is not None:
            self.rows += int(times.sum())
            return {name: self._group_codes(name, batch[name], times) for name in self.columns}
        rows = range(self.rows, self.rows + batch.num_rows)
        self.rows = rows.stop
        return {
            name: self.undeclared.codes(self.encoders[name], batch[name], rows)
            for name in self.columns
        }

    def add_codes(self, codes: Mapping[str, Integers], times: Integers | None = None) -> None:
        for table in self.tables:
            self._tally(table, [codes[name] for name in table], times)

    def _tally(self, table: Columns, codes: Sequence[Any], times: Integers | None) -> None:
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for own, size in zip(codes, self.shapes[table], strict=True):
            place *= size
            place += own
        sums = self._sums(table)
        if times is None and len(sums) <= len(place):
            sums += np.bincount(place, minlength=len(sums))
        else:  # a large table is not gone through for each batch
            np.add.at(sums, place, 1 if times is None else times)

    def _sums(self, table: Columns) -> Integers:
        """Return the counts of a table, made when they are first needed: jobs travel empty."""
        if table not in self.sums:
            self.sums[table] = np.zeros(math.prod(self.shapes[table]), dtype=np.int64)
        return self.sums[table]

    def add_groups(self, table: Columns, groups: Sequence[Any], times: Integers) -> None:
        """Count groups of one table alone: columns of values, and how many rows have them."""
        codes = [
            self._group_codes(name, values, times, first=table == self._first_with(name))
            for name, values in zip(table, groups, strict=True)
        ]
        self._tally(table, codes, times)

    def _group_codes(
        self, name: str, values: Any, times: Integers, *, first: bool = True
    ) -> Integers:
        """Return the codes of groups; undeclared values are noted once for all tables."""
        flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        codes = np.asarray(self.encoders[name].places(flat), dtype=np.int64)
        bad = np.flatnonzero(codes < 0)
        if not bad.size:
            return codes
        if first:
            shown = pc.unique(flat.take(pa.array(bad)))[:SHOWN].to_pylist()
            labels = self.encoders[name].labels.values[: SHOWN + 1]
            self.undeclared.add(Undeclared(name, [], shown, int(times[bad].sum()), labels))
        return np.maximum(codes, 0)

    def _first_with(self, name: str) -> Columns:
        return next(table for table in self.tables if name in table)

    def merge(self, later: "TableCounts") -> None:
        """Take the counts of the rows that follow."""
        for table, sums in later.sums.items():
            self._sums(table)[:] += sums
        self.undeclared.merge(later.undeclared, self.rows)
        self.rows += later.rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: narrow counts, and of a table that is hardly filled the cells."""
        return {
            **self.__dict__,
            "sums": {table: sparse_counts(own) for table, own in self.sums.items()},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        sums = {
            table: dense_counts(own, math.prod(state["shapes"][table]))
            for table, own in state["sums"].items()
        }
        self.__dict__.update(state, sums=sums)

    def refuse_undeclared(self) -> None:
        self.undeclared.refuse(self.columns)

    @property
    def counts(self) -> dict[Columns, Integers]:
        """The counts of each table, one axis a column in the order of its declared labels."""
        self.refuse_undeclared()
        return {table: self._sums(table).reshape(self.shapes[table]) for table in self.tables}


def sparse_counts(sums: Integers) -> tuple[Any, Any]:
    """Return the places and counts of filled cells; all counts and no places if many are filled."""
    filled = np.flatnonzero(sums)
    some = len(filled) * SPARSE < len(sums)
    counts = sums[filled] if some else sums
    narrow = np.min_scalar_type(int(counts.max(initial=0)))
    return filled if some else None, counts.astype(narrow)


def dense_counts(found: tuple[Any, Any], cells: int) -> Integers:
    """Return what :func:`sparse_counts` was given.

    >>> dense_counts(sparse_counts(np.array([0, 0, 0, 0, 0, 7])), 6).tolist()
    [0, 0, 0, 0, 0, 7]
    """
    places, counts = found
    if places is None:
        return np.asarray(counts, dtype=np.int64)
    sums = np.zeros(cells, dtype=np.int64)
    sums[places] = counts
    return sums


Groups = tuple[Columns, list[Any], Integers]
"""A table, the values of its columns in each group, and the number of rows of each group."""

MASK_BITS = 30
"""Columns that one GROUPING() tells of: its bits must fit an integer of 32 bits with a sign."""

SETS = ("duckdb", "postgres", "snowflake", "bigquery", "trino", "databricks", "mssql", "oracle")
"""Databases that know GROUPING SETS; others group once for each table."""


def counted_by_engine(records: Records, job: TableCounts, watch: Watch | None) -> bool:
    """Count tables where the rows are, if an engine holds them that can; return whether."""
    if not isinstance(records, LazyRecords) or records.reading.recode:
        return False
    way = way_for(records)
    if way is None:
        return False
    for table, values, times in way(records, job.tables, job.columns):
        job.add_groups(table, values, times)
    job.rows = same_total(job)
    if watch is not None:
        watch(job.rows, 1.0)
    return True


def way_for(records: LazyRecords) -> Callable[..., Iterator[Groups]] | None:
    """Return how an engine counts; None if it does not."""
    implementation = records.frame.implementation
    if implementation.is_polars():
        return polars_groups
    if implementation.is_duckdb():
        return duckdb_groups
    return database_groups if implementation.is_ibis() else None


def same_total(job: TableCounts) -> int:
    """Return the number of rows; refuse rows that changed between the counts of tables."""
    totals = {int(own.sum()) for own in job.sums.values()} or {0}
    if len(totals) > 1:
        raise InvalidData(
            "The rows changed while they were counted: tables have different totals. Count a "
            "snapshot, such as a copy of the table."
        )
    return totals.pop()


def polars_groups(
    records: LazyRecords, tables: Sequence[Columns], columns: Sequence[str]
) -> Iterator[Groups]:
    """Yield the groups of each table by polars, which reads what they share once."""
    import polars as pl

    count = unused("count", columns)
    frame = records.frame.to_native().select(columns)
    groups = [frame.group_by(list(table)).agg(pl.len().alias(count)) for table in tables]
    for table, found in zip(tables, pl.collect_all(groups), strict=True):
        arrow = found.to_arrow()
        yield table, [arrow[name] for name in table], as_counts(arrow[count])


def duckdb_groups(
    records: LazyRecords, tables: Sequence[Columns], columns: Sequence[str]
) -> Iterator[Groups]:
    names = plain_names(columns)
    quoted = ('"' + name.replace('"', '""') + '"' for name in columns)
    relation = records.frame.to_native().project(
        ", ".join(f"{own} AS {names[name]}" for own, name in zip(quoted, columns, strict=True))
    )
    found = relation.query("pramble_rows", grouping_query("pramble_rows", tables, names))
    yield from taken_apart(found.to_arrow_table(), tables, names)


def database_groups(
    records: LazyRecords, tables: Sequence[Columns], columns: Sequence[str]
) -> Iterator[Groups]:
    """Yield the groups of each table by a database that ibis speaks to: by one query if it can."""
    import ibis

    names = plain_names(columns)
    native = records.frame.to_native()
    rows = native.select(**{own: native[name] for name, own in names.items()})
    backend = native.get_backend()
    if backend.name not in SETS:
        for table in tables:
            keys = [names[name] for name in table]
            found = rows.group_by(keys).aggregate(n=rows.count()).to_pyarrow()
            yield table, [found[key] for key in keys], as_counts(found["n"])
        return
    query = grouping_query(f"({ibis.to_sql(rows, dialect=backend.name)}) AS t", tables, names)
    masks = {f"m{i}": "int64" for i in range(len(mask_parts(names)))}
    kinds = {own: rows.schema()[own].copy(nullable=True) for own in names.values()}
    schema = ibis.schema({**masks, **kinds, "n": "int64"})
    found = backend.sql(query, schema=schema, dialect=backend.name).to_pyarrow()
    yield from taken_apart(found, tables, names)


def plain_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column that no query must quote."""
    return {name: f"c{i}" for i, name in enumerate(columns)}


def mask_parts(names: Mapping[str, str]) -> list[list[str]]:
    """Return the columns in runs that one GROUPING() tells of."""
    listed = list(names.values())
    return [listed[i : i + MASK_BITS] for i in range(0, len(listed), MASK_BITS)]


def grouping_query(rows: str, tables: Sequence[Columns], names: Mapping[str, str]) -> str:
    """Return the query that counts the groups of all tables in one pass.

    >>> grouping_query("t", [("a", "b"), ("b", "c")], {"a": "c0", "b": "c1", "c": "c2"})
    'SELECT GROUPING(c0, c1, c2) AS m0, c0, c1, c2, COUNT(*) AS n FROM t
     GROUP BY GROUPING SETS ((c0, c1), (c1, c2))'
    """
    masks = ", ".join(
        f"GROUPING({', '.join(part)}) AS m{i}" for i, part in enumerate(mask_parts(names))
    )
    sets = ", ".join("(" + ", ".join(names[name] for name in table) + ")" for table in tables)
    columns = ", ".join(names.values())
    return f"SELECT {masks}, {columns}, COUNT(*) AS n FROM {rows} GROUP BY GROUPING SETS ({sets})"  # noqa: S608 - names are ours


def taken_apart(
    found: Any, tables: Sequence[Columns], names: Mapping[str, str]
) -> Iterator[Groups]:
    """Yield the groups of each table from the answer to a query for all of them."""
    times = as_counts(found["n"])
    parts = mask_parts(names)
    masks = [as_counts(found[f"m{i}"]) for i in range(len(parts))]
    for table in tables:
        inside = {names[name] for name in table}
        own = np.ones(len(times), dtype=bool)
        for part, mask in zip(parts, masks, strict=True):
            # the first column is the highest bit, which is set where the column is left out
            own &= mask == int("".join("01"[name not in inside] for name in part), 2)
        here = pa.array(np.flatnonzero(own))
        yield table, [found[names[name]].take(here) for name in table], times[own]


def as_counts(values: Any) -> Integers:
    """Return whole numbers of an Arrow column."""
    return np.asarray(values.cast(pa.int64()).to_numpy(), dtype=np.int64)

"""Tables counted by the engine that holds the rows: only groups with their counts come here.

The values of the groups pass through the same encoders as those of rows, so that labels, missing
values and refusals are the same wherever the rows are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.crosstab import unused
from pramble.data.frame_records import LazyRecords
from pramble.data.records import Records, Watch
from pramble.data.table_counts import Columns, TableCounts
from pramble.errors import InvalidData
from pramble.values import Integers

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

"""The columns that take part in a synthetic file, and the release in memory, read once."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.file_records import FileRecords
from pramble.data.frame_records import LazyRecords, TableRecords
from pramble.data.labels import object_key
from pramble.data.records import Records
from pramble.errors import InvalidInput
from pramble.limits import MOST_SYNTHETIC_VALUES
from pramble.mechanisms.plan import Plan

WIDE = f"has more than {MOST_SYNTHETIC_VALUES:,} values, too many for categories"


def chosen_columns(
    records: Records, plan: Plan, named: Sequence[str] | None, needed: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns that take part, and notes on those left out.

    They are the named ones; else those of the plan, and all others with few values. ``needed``
    columns must be among them.
    """
    if named is not None:
        wanted = list(dict.fromkeys([*named, *needed]))
    else:
        wanted = list(dict.fromkeys([*plan.columns, *records.names]))
    records.refuse_missing([*wanted, *needed])
    wide = wide_columns(records, [name for name in wanted if name not in plan.columns])
    for name in wide:
        if named is not None or name in needed:
            raise InvalidInput(f"Column {name!r} {WIDE}. Band or merge them, or leave it out.")
    order = [name for name in records.names if name in wanted and name not in wide]
    if not order:
        raise InvalidInput("Synthetic records need a column with categories; there is none.")
    return order, [f"Column {name!r} is left out: it {WIDE}." for name in wide]


def wide_columns(records: Records, names: Sequence[str]) -> list[str]:
    """Return the columns, of those given, that have too many values to be categories."""
    found = distinct_values(records, names, most=MOST_SYNTHETIC_VALUES)
    return [name for name, values in found.items() if values is None]


def distinct_values(
    records: Records, names: Sequence[str], *, most: int
) -> dict[str, set[Any] | None]:
    """Return the keys of the values of each column; None of more than ``most``, or of lists."""
    found: dict[str, set[Any] | None] = {name: set() for name in names}
    for batch in records.batches(list(names)) if names else ():
        for name, known in found.items():
            if known is None:
                continue
            values = batch[name]
            if isinstance(values, pa.Array | pa.ChunkedArray):
                values = None if pa.types.is_nested(values.type) else pc.unique(values)
                values = None if values is None or len(values) > 2 * most else values.to_pylist()
            if values is not None:
                known.update(map(object_key, values))
            if values is None or len(known) > most:
                found[name] = None
    return found


def in_memory(records: Records, columns: Sequence[str]) -> Records:
    """Return records that many tables can be counted from: files and lazy frames are read once."""
    records = records.here(columns)
    if isinstance(records, LazyRecords):
        table = records.collect(records.frame.select(list(columns)))
        return TableRecords(coded(table), records.backend, records.reading, records.name)
    if isinstance(records, FileRecords):
        batches = list(records.raw_batches(list(columns), (), None))
        table = coded(pa.Table.from_batches(batches))
        return TableRecords(table, records.backend, records.reading, records.name, records.typed)
    if isinstance(records, TableRecords):
        table = coded(records.table.select(list(columns)))
        return TableRecords(table, records.backend, records.reading, records.name, records.typed)
    return records


def coded(table: Any) -> Any:
    """Return a table whose texts are dictionaries, which are counted faster."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(place, field.name, table[field.name].dictionary_encode())
    return table

"""The columns that take part in a synthetic file, and the release in memory, read once.

The untouched columns that originals are drawn given: categories, or classes of numbers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, numbers, plain
from pramble.data.labels import object_key
from pramble.data.records import Records
from pramble.data.sources import FileRecords, LazyRecords, MixedRecords, TableRecords
from pramble.errors import InvalidData, InvalidInput
from pramble.limits import MOST_SYNTHETIC_VALUES
from pramble.mechanisms.plan import Plan
from pramble.values import value

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


FEW = 10
"""Values of a column of numbers up to which each is a category of its own."""

MOST_GIVEN = 50
"""Categories of a column up to which it is taken without being named."""

CLASSES = 8
"""Classes that a column of more numbers goes into, equally many records in each."""


@value(eq=False)
class Given:
    """The untouched columns that are taken, those left out, and records to count.

    Attributes
    ----------
    columns : tuple of str
    classes : tuple of str
        Those of numbers, which enter through classes.
    records : Records
        With classes in place of numbers.
    notes : tuple of str
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    records: Records
    notes: tuple[str, ...]


def gathered(records: Records) -> Records:
    """Return all columns in memory, recoded."""
    plainly = replace(records.reading, recode={})
    if isinstance(records, MixedRecords):
        (batch,) = records.batches()
        return MixedRecords(dict(batch), plainly, records.backend, records.name)
    table = pa.Table.from_batches(list(records.batches()), schema=records.schema)
    return TableRecords(table, records.backend, plainly, records.name, records.typed)


def given_columns(records: Records, plan: Plan, using: Sequence[str] | None) -> Given:
    """Return which untouched columns originals are drawn given."""
    records.refuse_missing([*plan.columns, *(using or ())])
    refuse_randomised_given(plan, using or ())
    wanted = [n for n in records.names if n not in plan.columns and (using is None or n in using)]
    most = MOST_GIVEN if using is None else MOST_SYNTHETIC_VALUES
    taken, notes, classes = [], [], {}
    for name, values in distinct_values(records, wanted, most=most).items():
        found = None
        if values is None or len(values) > FEW:
            found = classes_of(records, name)
        if found is not None:
            classes[name] = found
        elif values is None and using is None:
            notes.append(left_out(name, most))
            continue
        elif values is None:
            raise InvalidInput(f"Column {name!r} {WIDE}. Band or merge them, or leave it out.")
        if found is not None or len(values or ()) > 1:
            taken.append(name)
    counted = replaced(records, [*taken, *plan.columns], classes)
    return Given(tuple(taken), tuple(classes), counted, tuple(notes))


def left_out(name: str, most: int) -> str:
    """Return the note on a column that is not taken by itself."""
    return (
        f"Column {name!r} is left out of the law: it has more than {most} values. What is drawn is "
        "unrelated to it beyond the other columns."
    )


def refuse_randomised_given(plan: Plan, using: Sequence[str]) -> None:
    """Refuse a randomised column among those that are to be untouched."""
    for name in using:
        if name in plan.columns:
            raise InvalidInput(
                f"using= names untouched columns; {name!r} is randomised, and in the law anyway."
            )


def classes_of(records: Records, name: str) -> Any:
    """Return the class of each number of a column as an Arrow array; None if it holds others."""
    if isinstance(records, MixedRecords):
        return None
    column = records.table[name].combine_chunks()  # type: ignore[attr-defined]
    if pa.types.is_boolean(column.type) or (records.typed and is_text(column)):
        return None
    try:
        found = numbers(plain(column), column=name).cast(pa.float64())
    except (InvalidData, pa.ArrowException):
        return None
    filled = found.is_valid().to_numpy(zero_copy_only=False)
    values = found.to_numpy(zero_copy_only=False)
    shares = np.arange(1, CLASSES) / CLASSES
    edges = np.unique(np.quantile(values[filled], shares, method="inverted_cdf"))
    codes = np.searchsorted(edges, values, side="left")
    return pa.array(codes, mask=~filled)


def replaced(records: Records, columns: Sequence[str], classes: dict[str, Any]) -> Records:
    """Return the columns that take part, with classes in place of numbers."""
    if isinstance(records, MixedRecords):
        own = {name: records.columns[name] for name in columns}
        return MixedRecords(own, records.reading, records.backend, records.name)
    assert isinstance(records, TableRecords)
    table = coded(records.table.select(list(columns)))
    for name, codes in classes.items():
        table = table.set_column(table.schema.get_field_index(name), name, codes)
    return TableRecords(table, records.backend, records.reading, records.name, records.typed)

"""Classes: which records share all their key values, and whom each cannot be told apart from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.crosstab import Crosstab, crosstab, refuse_empty, reordered
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import Watch
from pramble.errors import InvalidInput
from pramble.values import names_of, read_only

# The power of the weight whose sums are needed.
WEIGHT = (1, 0)


def cross_classify(
    data: Any,
    keys: Sequence[str],
    *,
    weights: str | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Crosstab:
    """Return counts by the keys, over the levels that occur, with the class of each record.

    ``data`` is anything that `pramble.data.open.open_records` takes, or a `Crosstab` with its rows.
    Rows of a Spark frame have no class. Weights are summed for each class. A missing key value is a
    category of its own.
    """
    names = tuple(names_of(keys))
    if not names:
        raise InvalidInput("At least one key is needed; found none.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Keys must be distinct; {twice!r} is named more than once.")
    if isinstance(data, Crosstab):
        return without_empty_levels(reordered(data, names))
    records = open_records(data, reading)
    table = crosstab(
        records,
        names,
        weights=weights,
        least_weight=1.0,  # a record stands for itself
        powers=() if weights is None else (WEIGHT,),
        keep_rows=not records.rows_stay,
        watch=watch,
    )
    refuse_empty(table, records.name)
    return without_empty_levels(table)


def without_empty_levels(table: Crosstab) -> Crosstab:
    used = [np.unique(codes) for codes in table.cells.T]
    levels = zip(table.levels, used, strict=True)
    codes = [np.searchsorted(u, c) for u, c in zip(used, table.cells.T, strict=True)]
    return replace(
        table,
        levels=tuple(tuple(labels[i] for i in u.tolist()) for labels, u in levels),
        cells=np.stack(codes, axis=1),
    )


Columns = Mapping[str, NDArray[Any]]


def record_array(columns: Columns) -> Any:
    """Return a read-only record array: ``a["r1"]`` or ``a.r1``, and a frame library takes it whole.

    >>> a = record_array({"r1": np.array([0.5]), "class_size": np.array([1])})
    >>> a.r1, a["class_size"]
    (array([0.5]), array([1]))
    """
    length = len(next(iter(columns.values())))
    kinds = [(name, values.dtype) for name, values in columns.items()]
    records: Any = np.empty(length, dtype=kinds).view(np.recarray)
    for name, values in columns.items():
        records[name] = values
    return read_only(records)


def by_record(table: Crosstab, by_class: Columns) -> dict[str, NDArray[Any]]:
    """Return figures of the classes for each record.

    Where rows stay on other machines: one line for each class, with its number of ``rows``.
    """
    if table.cell_of is None:
        return {**by_class, "rows": table.counts}
    return {name: values[table.cell_of] for name, values in by_class.items()}


def rows_each(records: Any) -> NDArray[np.int64]:
    if "rows" in records.dtype.names:
        return np.asarray(records["rows"])
    return np.ones(len(records), dtype=np.int64)

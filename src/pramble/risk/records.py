"""One row of figures per record of a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.table import Crosstab
from pramble.values import read_only

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
    """Return how many records each line stands for."""
    if "rows" in records.dtype.names:
        return np.asarray(records["rows"])
    return np.ones(len(records), dtype=np.int64)

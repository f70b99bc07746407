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
    """Return figures of the classes for each record."""
    assert table.cell_of is not None, "the rows were kept"
    return {name: values[table.cell_of] for name, values in by_class.items()}

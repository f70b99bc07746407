"""Classes: which records share all their key values, and whom each cannot be told apart from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pramble.data.crosstab import Crosstab, crosstab, group, refuse_empty, reordered
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import Watch
from pramble.errors import InvalidInput
from pramble.values import Floats, Integers, read_only, value

Missing = Literal["category", "wildcard"]
WEIGHT = (1, 0)
"""The power of the weight whose sums are needed."""


@value(eq=False)
class CrossClassification:
    """The records of a file by class: one class per combination of key values that occurs.

    - ``table``: Counts by the keys, over the levels that occur, with the class of each record,
      but not of a Spark frame; and the summed weights of each class, if there are weights.
    - ``sizes``: Records that cannot be told from the class: its counts, or more with wildcards.
    - ``missing``: What a missing key value means.
    - ``households``: A number for each record's household.
    """

    table: Crosstab
    sizes: Integers
    missing: Missing = "category"
    households: Integers | None = None

    @property
    def weights(self) -> Floats | None:
        """The summed weights of each class."""
        return self.table.sums.get(WEIGHT)


def cross_classify(
    data: Any,
    keys: Sequence[str],
    *,
    weights: str | None = None,
    household: str | None = None,
    missing: Missing = "category",
    reading: Reading | Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> CrossClassification:
    """Return the records of whatever holds them by their combination of key values.

    ``data`` is anything that `pramble.data.open.open_records` takes, or a `Crosstab` with its rows.
    A missing key value is a category of its own, or agrees with every value (a wildcard).
    """
    names = distinct_names(keys)
    if missing not in get_args(Missing):
        raise InvalidInput(f'missing must be "category" or "wildcard"; found {missing!r}.')
    if isinstance(data, Crosstab):
        table = without_empty_levels(reordered(data, names))
        return CrossClassification(table, table.counts)
    records = open_records(data, reading)
    if records.rows_stay and household is not None:
        raise InvalidInput(
            "Household risk is a figure of each row, and the rows of a Spark frame stay where they "
            "are. Assess without household=, or a sample of the households in memory."
        )
    columns = list(names) if household is None else list(dict.fromkeys([*names, household]))
    whole = crosstab(
        records,
        columns,
        weights=weights,
        least_weight=1.0,  # a record stands for itself
        powers=() if weights is None else (WEIGHT,),
        keep_rows=not records.rows_stay,
        watch=watch,
    )
    refuse_empty(whole, records.name)
    table = without_empty_levels(reordered(whole, names))
    sizes = table.counts if missing == "category" else wildcard_sums(table, table.counts)
    homes = None if household is None else whole.cells[whole.cell_of, columns.index(household)]
    return CrossClassification(table, sizes, missing, homes)


def distinct_names(keys: Sequence[str]) -> tuple[str, ...]:
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names:
        raise InvalidInput("At least one key is needed; found none.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Keys must be distinct; {twice!r} is named more than once.")
    return names


def without_empty_levels(table: Crosstab) -> Crosstab:
    """Return the table without declared levels that no record has."""
    used = [np.unique(codes) for codes in table.cells.T]
    levels = zip(table.levels, used, strict=True)
    codes = [np.searchsorted(u, c) for u, c in zip(used, table.cells.T, strict=True)]
    return replace(
        table,
        levels=tuple(tuple(labels[i] for i in u.tolist()) for labels, u in levels),
        cells=np.stack(codes, axis=1),
    )


def wildcard_sums(table: Crosstab, values: NDArray[Any]) -> NDArray[Any]:
    """Return, per class, the sum of ``values`` over the classes that agree with it.

    Two patterns of missing keys at a time are joined on the keys that neither lacks.
    """
    classes, shape = table.cells, table.shape
    absent = np.array([labels.index(None) if None in labels else -1 for labels in table.levels])
    lacks = classes == absent
    pattern_of, first = group(list(lacks.T.astype(np.int64)), [2] * len(shape), rows=len(classes))
    members = [np.flatnonzero(pattern_of == p) for p in range(len(first))]
    totals = np.zeros(len(classes), dtype=np.result_type(values, np.int64))
    for one in members:
        for two in members:
            shared = np.flatnonzero(~(lacks[one[0]] | lacks[two[0]])).tolist()
            rows = np.concatenate([one, two])
            codes = list(classes[rows][:, shared].T)
            joined, _ = group(codes, [shape[axis] for axis in shared], rows=len(rows))
            sums = np.zeros(joined.max() + 1, dtype=totals.dtype)
            np.add.at(sums, joined[len(one) :], values[two])
            totals[one] += sums[joined[: len(one)]]
    return totals


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

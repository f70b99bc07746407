"""Cross-classification: which records share all their key values, and how many."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidData, InvalidInput
from pramble.risk.columns import Coded, as_floats, encode, read_columns
from pramble.values import read_only

Missing = Literal["category", "wildcard"]
LARGEST_INDEX = 2**62


@dataclass(frozen=True)
class CrossClassification:
    """The records of a file by class: one class per combination of key values that occurs.

    Attributes
    ----------
    keys : tuple of str
        The key columns.
    levels : tuple of tuples
        The labels of each key that occur, sorted; missing (None) last.
    classes : (C, d) array of int32
        The codes of each class, in lexicographic order.
    counts : (C,) array of int64
        Records in each class.
    sizes : (C,) array of int64
        Records that cannot be told from the class: ``counts``, or more with wildcards.
    class_of : (n,) array of int64
        The class of each record.
    weights : (n,) array of float64 or None
        The sampling weight of each record.
    missing : {"category", "wildcard"}
        What a missing key value means.
    """

    keys: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    classes: NDArray[np.int32]
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    class_of: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    missing: Missing = "category"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                read_only(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.class_of)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each key."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def cells(self) -> int:
        """Number of possible combinations of the levels that occur."""
        return math.prod(self.shape)

    @property
    def sample_uniques(self) -> int:
        """Number of records that are alone in their class."""
        return int((self.sizes == 1).sum())

    def below(self, k: int) -> int:
        """Return how many records stand in classes of fewer than k."""
        return int(self.counts[self.sizes < k].sum())

    def labels_of(self, cell: int) -> tuple[Any, ...]:
        """Return the key values of a class."""
        codes = self.classes[cell]
        return tuple(levels[code] for levels, code in zip(self.levels, codes, strict=True))

    def margin(self, axes: Sequence[int]) -> NDArray[np.float64]:
        """Return the counts over some of the keys, as an array with one axis for each."""
        shape = tuple(self.shape[axis] for axis in axes)
        index = np.ravel_multi_index([self.classes[:, axis] for axis in axes], shape)
        totals = np.bincount(index, weights=self.counts, minlength=math.prod(shape))
        return np.asarray(totals, dtype=np.float64).reshape(shape)

    def class_weights(self) -> NDArray[np.float64]:
        """Return the summed weights of the records of each class."""
        assert self.weights is not None
        totals = np.bincount(self.class_of, weights=self.weights, minlength=len(self.counts))
        return np.asarray(totals, dtype=np.float64)


def cross_classify(
    data: Any,
    keys: Sequence[str],
    *,
    weights: str | None = None,
    missing: Missing = "category",
) -> CrossClassification:
    """Return the records of a frame or file by their combination of key values.

    Parameters
    ----------
    data : frame, table, mapping or path
    keys : sequence of str
        The columns an intruder may know.
    weights : str, optional
        The column of sampling weights.
    missing : {"category", "wildcard"}
        A missing key value is a category of its own, or agrees with every value.
    """
    names = checked_keys(keys)
    if missing not in {"category", "wildcard"}:
        raise InvalidInput(f'missing must be "category" or "wildcard"; found {missing!r}.')
    table = read_columns(data, names, numeric=[weights] if weights else [])
    if not table.num_rows:
        raise InvalidData("The data holds no rows; risk needs at least one record.")
    columns = [encode(table[name]) for name in names]
    class_of, first = group([column.codes for column in columns], [len(c.labels) for c in columns])
    classes = np.stack([column.codes[first] for column in columns], axis=1)
    counts = np.bincount(class_of)
    sizes = counts if missing == "category" else _wildcard_sums(columns, classes, counts)
    return CrossClassification(
        names,
        tuple(column.labels for column in columns),
        classes,
        counts,
        np.asarray(sizes, dtype=np.int64),
        class_of,
        _checked_weights(table[weights], weights) if weights else None,
        missing,
    )


def checked_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the key names, at least one and all distinct."""
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names:
        raise InvalidInput("At least one key is needed; found none.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Keys must be distinct; {twice!r} is named more than once.")
    return names


def group(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each row, numbered in lexicographic order, and a row of each group."""
    rows = len(columns[0]) if columns else 0
    index, radix = np.zeros(rows, dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if radix * size > LARGEST_INDEX:
            distinct, index = np.unique(index, return_inverse=True)
            radix = len(distinct)
        index = index * size + codes
        radix *= size
    _, first, member = np.unique(index, return_index=True, return_inverse=True)
    return member.astype(np.int64), first.astype(np.int64)


def _checked_weights(column: Any, name: str) -> NDArray[np.float64]:
    values = as_floats(column, name=name)
    bad = np.flatnonzero(values < 1)
    if bad.size:
        raise InvalidData(
            f"Weights must be at least 1 (a record stands for itself); column {name!r} holds "
            f"{values[bad[0]]:g} in row {bad[0]}."
        )
    return values


def wildcard_sums(table: CrossClassification, values: NDArray[Any]) -> NDArray[Any]:
    """Return, per class, the sum of ``values`` over the classes that agree with it."""
    columns = [Coded(levels, np.zeros(0, dtype=np.int32)) for levels in table.levels]
    return _wildcard_sums(columns, table.classes, values)


def _wildcard_sums(
    columns: Sequence[Coded], classes: NDArray[np.int32], values: NDArray[Any]
) -> NDArray[Any]:
    """Sum over agreeing classes: two patterns of missing keys at a time, joined on the rest."""
    absent = np.array([c.labels.index(None) if None in c.labels else -1 for c in columns])
    pattern_of, first = group(list((classes == absent).T.astype(np.int64)), [2] * len(columns))
    members = [np.flatnonzero(pattern_of == p) for p in range(len(first))]
    lacking = [(classes[row] == absent) for row in first]
    totals = np.zeros(len(classes), dtype=np.result_type(values, np.int64))
    for one, lacking_one in zip(members, lacking, strict=True):
        for two, lacking_two in zip(members, lacking, strict=True):
            shared = np.flatnonzero(~(lacking_one | lacking_two)).tolist()
            rows = np.concatenate([one, two])
            if not shared:
                totals[one] += values[two].sum()
                continue
            joined, _ = group(
                list(classes[rows][:, shared].T), [len(columns[axis].labels) for axis in shared]
            )
            sums = np.zeros(joined.max() + 1, dtype=totals.dtype)
            np.add.at(sums, joined[len(one) :], values[two])
            totals[one] += sums[joined[: len(one)]]
    return totals

"""A table of counts: how many records have each combination of values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.errors import InvalidData
from pramble.values import Floats, Integers, value

LARGEST_INDEX = 2**62
DENSE = 1 << 20
Powers = tuple[int, int]
"""The powers of the weight and of the measure whose product is summed."""


@value(eq=False)
class Crosstab:
    r"""Counts of records by the combination of their values in some columns."""

    columns: tuple[str, ...]
    # the labels of each column: as declared, else those that occur in natural order, missing last
    levels: tuple[tuple[Label, ...], ...]
    cells: Integers  # the codes of every combination that occurs, in lexicographic order
    counts: Integers  # records in each cell
    # :math:`\sum_i w_i^a y_i^b` over the records of each cell, for the powers asked for
    sums: Mapping[Powers, Floats] = field(default_factory=dict)
    cell_of: Integers | None = None  # the cell of each record, if asked for

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(map(len, self.levels))

    def array(self, values: Any = None, axes: Sequence[int] | None = None) -> Floats:
        """Return counts, or other values of the cells, as an array with one axis per column.

        With ``axes``, over these columns alone: a margin.
        """
        wanted = range(len(self.columns)) if axes is None else axes
        shape = tuple(self.shape[axis] for axis in wanted)
        weights = self.counts if values is None else values
        if not shape:
            return np.asarray(weights.sum(), dtype=np.float64)
        index = np.ravel_multi_index([self.cells[:, axis] for axis in wanted], shape)
        flat = np.bincount(index, weights=weights, minlength=math.prod(shape))
        return np.asarray(flat, dtype=np.float64).reshape(shape)

    def labels_of(self, cell: int) -> tuple[Label, ...]:
        codes = self.cells[cell]
        return tuple(labels[code] for labels, code in zip(self.levels, codes, strict=True))


def totals(member: Integers, values: Any, size: int) -> Floats:
    """Return the sum of values (1 each by default) in every group."""
    return np.asarray(np.bincount(member, values, size), dtype=np.float64)


def group(
    columns: Sequence[Integers], sizes: Sequence[int], *, rows: int
) -> tuple[Integers, Integers]:
    """Return the group of each row, numbered in lexicographic order, and a row of each group."""
    index, radix = np.zeros(rows, dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if radix * size > LARGEST_INDEX:
            distinct, index = np.unique(index, return_inverse=True)
            radix = len(distinct)
        index = index * size + codes
        radix *= size
    if radix > DENSE:
        _, first, member = np.unique(index, return_index=True, return_inverse=True)
        return member.astype(np.int64), first.astype(np.int64)
    where = np.full(radix, -1, dtype=np.int64)
    where[index[::-1]] = np.arange(rows - 1, -1, -1)
    used = np.flatnonzero(where >= 0)
    place = np.zeros(radix, dtype=np.int64)
    place[used] = np.arange(len(used))
    return place[index], where[used]


class Cells(NamedTuple):
    """Cells of a table, by their codes, with the counts and sums of their records."""

    cells: Integers
    counts: Integers
    sums: list[Floats]


def summed(
    member: Integers, counts: Any, terms: Sequence[Floats], *, size: int
) -> tuple[Integers, list[Floats]]:
    """Return the counts of groups (of 1 each by default), and the sums of terms in them."""
    own = totals(member, counts, size).astype(np.int64)
    return own, [totals(member, term, size) for term in terms]


def joined_cells(parts: Sequence[Cells]) -> Cells:
    return Cells(
        np.concatenate([part.cells for part in parts]),
        np.concatenate([part.counts for part in parts]),
        [np.concatenate(each) for each in zip(*(part.sums for part in parts), strict=True)],
    )


def regrouped(found: Cells, sizes: Sequence[int]) -> tuple[Cells, Integers]:
    """Return each cell once, in order, and where every given cell is among them."""
    member, first = group(list(found.cells.T), sizes, rows=len(found.cells))
    counts, sums = summed(member, found.counts, found.sums, size=len(first))
    return Cells(found.cells[first], counts, sums), member


def merged_cells(parts: Sequence[Cells]) -> Cells:
    found = joined_cells(parts)
    return regrouped(found, (found.cells.max(axis=0, initial=0) + 1).tolist())[0]


def reordered(table: Crosstab, columns: Sequence[str]) -> Crosstab:
    """Return the table with its columns in another order, or fewer of them."""
    axes = [table.columns.index(name) for name in columns]
    given = Cells(table.cells[:, axes], table.counts, list(table.sums.values()))
    (cells, counts, sums), member = regrouped(given, [table.shape[axis] for axis in axes])
    return replace(
        table,
        columns=tuple(columns),
        levels=tuple(table.levels[axis] for axis in axes),
        cells=cells,
        counts=counts,
        sums=dict(zip(table.sums, sums, strict=True)),
        cell_of=None if table.cell_of is None else member[table.cell_of],
    )


def refuse_empty(table: Crosstab, name: str) -> None:
    if not table.n:
        raise InvalidData(f"{name} must have at least one row; it has none.")


def fill_missing(table: Crosstab, column: str, label: Label) -> Crosstab:
    """Return the table with the missing values of a column counted as a label."""
    axis = table.columns.index(column)
    labels = table.levels[axis]
    if None not in labels:
        return table
    gone = labels.index(None)
    known = [label_key(one) for one in labels]
    place = known.index(label_key(label)) if label_key(label) in known else gone
    cells = table.cells.copy()
    cells[cells[:, axis] == gone, axis] = place
    if place == gone:
        labels = (*labels[:gone], label, *labels[gone + 1 :])
    levels = (*table.levels[:axis], labels, *table.levels[axis + 1 :])
    return reordered(replace(table, cells=cells, levels=levels), table.columns)

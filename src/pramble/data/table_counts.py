"""Contingency tables of declared categories, all in one pass."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.encode import Encoder, UndeclaredValues
from pramble.data.labels import Labels
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

    def add(self, batch: Any, times: Integers | None = None) -> None:
        """Count a batch of rows, or of groups that stand for so many rows each."""
        self.add_codes(self.codes(batch, times), times)

    def codes(self, batch: Any, times: Integers | None = None) -> dict[str, Integers]:
        """Return the codes of a batch, whose rows count as seen."""
        rows = range(self.rows, self.rows + batch.num_rows)
        self.rows += batch.num_rows if times is None else int(times.sum())
        return {
            name: self.undeclared.codes(own, batch[name], rows)
            if times is None
            else self.undeclared.codes_of_groups(own, batch[name], times)
            for name, own in self.encoders.items()
        }

    def add_codes(self, codes: Mapping[str, Integers], times: Integers | None = None) -> None:
        for table in self.tables:
            place = codes[table[0]].astype(np.int64)
            for name, size in zip(table[1:], self.shapes[table][1:], strict=True):
                place *= size  # several times as fast as np.ravel_multi_index
                place += codes[name]
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

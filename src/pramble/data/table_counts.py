"""Contingency tables of declared categories, all in one pass over the rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.encode import Encoder
from pramble.data.labels import Labels
from pramble.data.strays import SHOWN, Strays
from pramble.errors import InvalidData
from pramble.values import Integers

Columns = tuple[str, ...]

SPARSE = 4
"""A table of a part of the rows is sent as its filled cells where fewer than one in so many are."""


class TableCounts:
    """Exact counts of every cell of some tables: a job for `pramble.data.scan.scan`.

    Tables that lie within others are left out: they are margins.

    Attributes
    ----------
    tables : tuple of tuples of columns
    counts : dict from table to array
        One axis for each column; the codes are the places of the declared labels.
    rows : int
        How many rows were seen.
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
        self.strays: dict[str, Strays] = {}
        self.rows = 0

    def add(self, batch: Any) -> None:
        self.add_codes(self.codes(batch))

    def codes(self, batch: Any, times: Integers | None = None) -> dict[str, Integers]:
        """Return the codes of a batch of rows, or of groups of so many rows; it counts as seen."""
        if times is not None:
            self.rows += int(times.sum())
            return {name: self._group_codes(name, batch[name], times) for name in self.columns}
        rows = range(self.rows, self.rows + batch.num_rows)
        self.rows = rows.stop
        return {name: self._codes(name, batch[name], rows) for name in self.columns}

    def _codes(self, name: str, values: Any, rows: range) -> Integers:
        try:
            return np.asarray(self.encoders[name].codes(values, rows), dtype=np.int64)
        except InvalidData as error:
            if error.strays is None:
                raise
            self._meet(error.strays)
            return np.zeros(len(rows), dtype=np.int64)

    def _meet(self, found: Strays, *, rows: int = 0) -> None:
        """Take values that were not declared; they are refused when all have been counted."""
        none = found._replace(rows=[], values=[], many=0)
        self.strays[found.column] = self.strays.get(found.column, none).joined(found, rows=rows)

    def add_codes(self, codes: Mapping[str, Integers], times: Integers | None = None) -> None:
        """Count rows by their codes, each so many times."""
        for table in self.tables:
            self._tally(table, [codes[name] for name in table], times)

    def _tally(self, table: Columns, codes: Sequence[Any], times: Integers | None) -> None:
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for own, size in zip(codes, self.shapes[table], strict=True):
            place *= size
            place += own
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

    def add_groups(self, table: Columns, groups: Sequence[Any], times: Integers) -> None:
        """Count groups of one table alone: columns of values, and how many rows have them."""
        codes = [
            self._group_codes(name, values, times, first=table == self._first_with(name))
            for name, values in zip(table, groups, strict=True)
        ]
        self._tally(table, codes, times)

    def _group_codes(
        self, name: str, values: Any, times: Integers, *, first: bool = True
    ) -> Integers:
        """Return the codes of groups; their undeclared values are told of once for all tables."""
        flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        codes = np.asarray(self.encoders[name].places(flat), dtype=np.int64)
        bad = np.flatnonzero(codes < 0)
        if not bad.size:
            return codes
        if first:
            shown = pc.unique(flat.take(pa.array(bad)))[:SHOWN].to_pylist()
            labels = self.encoders[name].labels.values[: SHOWN + 1]
            self._meet(Strays(name, [], shown, int(times[bad].sum()), labels))
        return np.maximum(codes, 0)

    def _first_with(self, name: str) -> Columns:
        return next(table for table in self.tables if name in table)

    def merge(self, later: "TableCounts") -> None:
        """Take the counts of the rows that follow."""
        for table, sums in later.sums.items():
            self._sums(table)[:] += sums
        for found in later.strays.values():
            self._meet(found, rows=self.rows)
        self.rows += later.rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: narrow counts, and of a table that is hardly filled the cells."""
        return {**self.__dict__, "sums": {table: packed(own) for table, own in self.sums.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sums = {
            table: unpacked(own, math.prod(state["shapes"][table]))
            for table, own in state["sums"].items()
        }
        self.__dict__.update(state, sums=sums)

    def refuse_strays(self) -> None:
        """Raise if some value was not declared."""
        for name in self.columns:
            if name in self.strays:
                raise self.strays[name].error()

    @property
    def counts(self) -> dict[Columns, Integers]:
        """The counts of each table, if every value was declared."""
        self.refuse_strays()
        return {table: self._sums(table).reshape(self.shapes[table]) for table in self.tables}


def packed(sums: Integers) -> tuple[Any, Any]:
    """Return the places and counts of filled cells; all counts and no places if many are filled."""
    filled = np.flatnonzero(sums)
    some = len(filled) * SPARSE < len(sums)
    counts = sums[filled] if some else sums
    narrow = np.min_scalar_type(int(counts.max(initial=0)))
    return filled if some else None, counts.astype(narrow)


def unpacked(found: tuple[Any, Any], cells: int) -> Integers:
    """Return what :func:`packed` was given.

    >>> unpacked(packed(np.array([0, 0, 0, 0, 0, 7])), 6).tolist()
    [0, 0, 0, 0, 0, 7]
    """
    places, counts = found
    if places is None:
        return np.asarray(counts, dtype=np.int64)
    sums = np.zeros(cells, dtype=np.int64)
    sums[places] = counts
    return sums

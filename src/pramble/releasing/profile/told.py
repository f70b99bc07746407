"""Which columns tell others: copies among those to randomise, and why dropped ones stay dropped."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.levels import Levels
from pramble.releasing.prepare.links import FUNCTION, Links, likeness
from pramble.releasing.prepare.value_sample import MOST_KEPT
from pramble.values import Integers

MOST_COMPARED = 50
"""Dropped columns that are looked at; a note on them is a courtesy, and costs time for each."""

MOST_CELLS, LEAST_KEPT = 1 << 23, 1 << 10
"""Cells that are kept of a file with many columns, and rows that are kept in any case."""


class FirstRows:
    """Counts rows while a file is scanned, and keeps the first: as a sample holds, or as fit."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self.left = max(min(MOST_KEPT, MOST_CELLS // max(len(self.columns), 1)), LEAST_KEPT)
        self.kept: list[pa.RecordBatch] = []
        self.rows = 0

    def add(self, batch: Any) -> None:
        """Take a batch."""
        self.rows += batch.num_rows
        if self.left and isinstance(batch, pa.RecordBatch):
            self.kept.append(batch.slice(0, self.left).select(self.columns))
            self.left -= self.kept[-1].num_rows

    def merge(self, later: "FirstRows") -> None:
        """Take the rows that follow."""
        self.rows += later.rows
        for batch in later.kept:
            self.kept.append(batch.slice(0, self.left))
            self.left -= self.kept[-1].num_rows

    def table(self) -> pa.Table:
        """Return the rows, each column in one piece."""
        whole = pa.Table.from_batches(self.kept) if self.kept else pa.table({})
        return whole.unify_dictionaries().combine_chunks()


def told_columns(
    first: FirstRows, *, chosen: Sequence[str], dropped: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return, of the chosen columns, those that follow from an earlier one, and what tells one.

    The first maps a column to the one that determines it, or that it determines; the second a
    dropped column to the chosen one that it would tell if it were released as it is.
    """
    rows = first.table()
    if not rows.num_rows or not chosen:
        return {}, {}
    codes = {name: Levels(name).codes(rows[name]) for name in chosen}
    follows: dict[str, str] = {}
    for place, later in enumerate(chosen):
        for earlier in chosen[:place]:
            ways = (codes[earlier], codes[later]), (codes[later], codes[earlier])
            if later not in follows and any(likeness(*way) >= FUNCTION for way in ways):
                follows[later] = earlier
    return follows, telling(rows, codes, dropped[:MOST_COMPARED]) if dropped else {}


def telling(
    rows: pa.Table, codes: Mapping[str, Integers], dropped: Sequence[str]
) -> dict[str, str]:
    """Return what the dropped columns tell: their codes are compared, so an order is none."""
    plain = {name: pa.array(Levels(name).codes(rows[name])) for name in dropped}
    links = Links(dropped, list(codes))
    links.add(pa.table(plain).to_batches()[0], codes)
    found = [link for link in links.found(rows_per_person=1) if link.kind in ("alike", "function")]
    return {link.column: link.protected for link in reversed(found)}

"""A file before its plan: what its columns look like, and the plan that is proposed for it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.levels import Levels
from pramble.data.open import open_records
from pramble.data.reading import Reading
from pramble.releasing.linkage import FUNCTION, Links, likeness
from pramble.releasing.profile.columns import Look, look_at
from pramble.releasing.profile.draft import checked_choice, chosen_columns, draft_plan
from pramble.releasing.value_sample import MOST_KEPT
from pramble.values import Integers, Watcher, value

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


ALPHA = 2.0
"""The promise of a first plan."""


@value(eq=False)
class Survey:
    """What a file looks like.

    Attributes
    ----------
    looks : tuple of Look
        Of every column, in order.
    rows : int
    reading : Reading
        How it was read.
    first : Table
        Some of the first rows.
    chosen : tuple of str
        The columns to randomise: those that were named, else those that are proposed.
    follows, tells : dicts from column to column
        Chosen columns of which another follows, and left out ones that would tell a chosen one.
    """

    looks: tuple[Look, ...]
    rows: int
    reading: Reading
    first: pa.Table
    chosen: tuple[str, ...]
    follows: dict[str, str]
    tells: dict[str, str]

    def draft(
        self, *, accepted: Collection[str], alpha: float = ALPHA, central: float | None = None
    ) -> str:
        """Return a commented plan; values that were seen are categories of ``accepted`` columns."""
        return draft_plan(
            self.looks,
            accepted=accepted,
            columns=self.chosen,
            alpha=alpha,
            central=central,
            reading=self.reading,
            rows=self.rows,
            follows=self.follows,
            tells=self.tells,
        )


def survey_file(
    source: Any,
    reading: Reading | None = None,
    *,
    columns: Sequence[str] | None = None,
    progress: Watcher | None = None,
) -> Survey:
    """Look at every column of a file in one scan, and choose those to randomise.

    >>> found = survey_file({"sex": ["f", "m"] * 30, "name": [f"p{i}" for i in range(60)]})
    >>> found.chosen, found.looks[1].kind
    (('sex',), 'identifier')
    """
    records = open_records(source, reading)
    records.refuse_missing(columns or ())
    first = FirstRows(records.names)
    looks = look_at(records, beside=[first], progress=progress)
    chosen = chosen_columns(looks) if columns is None else checked_choice(looks, columns)
    dropped = [look.name for look in looks if look.name not in chosen and look.can_be_randomised]
    follows, tells = told_columns(first, chosen=chosen, dropped=dropped)
    if columns is None:  # a copy would spend the budget twice on one thing
        chosen = tuple(name for name in chosen if name not in follows)
        tells, follows = {**tells, **follows}, {}
    return Survey(tuple(looks), first.rows, records.reading, first.table(), chosen, follows, tells)

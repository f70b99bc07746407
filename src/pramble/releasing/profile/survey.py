"""A file before its plan: what its columns look like, and the plan that is proposed for it."""

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.open import open_records
from pramble.data.reading import Reading
from pramble.releasing.profile.choose import checked_choice, chosen_columns
from pramble.releasing.profile.draft import draft_plan
from pramble.releasing.profile.looks import Look, look_at
from pramble.releasing.profile.told import FirstRows, told_columns
from pramble.values import Watcher, value

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

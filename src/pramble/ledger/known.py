"""Which people a file holds: what is remembered of it, and when another file looks alike.

A ledger that knows bytes is evaded by accident: packed anew, written in another format, one person
fewer, rows or columns in another order. So what is remembered of a file are its columns and the
number of its rows, and a file that could hold the same people is asked about.
"""

from collections.abc import Collection
from typing import Any

from pramble.data.records import Records
from pramble.values import value

ALIKE_ROWS = 0.1
"""Numbers of rows that differ by at most this share are alike."""


@value
class KnownFile:
    """What a ledger remembers of a file.

    Attributes
    ----------
    name : str
        Its name, without its folder.
    fingerprint : str
        Of its content, keyed by the ledger's secret: equal for equal bytes.
    rows : int or None
    columns : tuple of str
        Every column, whatever was done to it.
    """

    name: str
    fingerprint: str
    rows: int | None
    columns: tuple[str, ...]

    def may_hold_the_people_of(self, other: "KnownFile", released: Collection[str]) -> bool:
        """Whether this file looks like another, of which some columns were released.

        It does if the one with fewer columns shares at least half of them, or if it has one of the
        released columns and about as many rows. Names of columns are compared without case.

        >>> file = KnownFile("people.csv", "a", 1000, ("id", "sex", "age"))
        >>> copy = KnownFile("copy.parquet", "b", 999, ("AGE", "SEX"))
        >>> flats = KnownFile("flats.csv", "c", 1000, ("rent", "rooms", "age"))
        >>> copy.may_hold_the_people_of(file, ["sex"]), flats.may_hold_the_people_of(file, ["sex"])
        (True, False)
        """
        mine, theirs = lowered(self.columns), lowered(other.columns)
        if 2 * len(mine & theirs) >= min(len(mine), len(theirs)):
            return True
        if not mine & lowered(released):
            return False
        if self.rows is None or other.rows is None:
            return True
        return abs(self.rows - other.rows) <= ALIKE_ROWS * max(self.rows, other.rows)


def lowered(names: Collection[str]) -> set[str]:
    """Return names without case and outer blanks."""
    return {name.strip().lower() for name in names}


def file_facts(records: Records, *, rows: int | None = None) -> dict[str, Any]:
    """Return what a ledger asks of records: name, number of rows, columns."""
    name = "" if records.path is None else records.path.name
    return {
        "name": name,
        "rows": records.rows if rows is None else rows,
        "columns": tuple(records.names),
    }

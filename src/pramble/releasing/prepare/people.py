r"""How many rows one person has.

Rows are randomised one by one, so what is promised for a row is promised :math:`k` times less to a
person of :math:`k` rows. Neighbouring files differ in the values of one person's rows; whose row it
is stays the same, so the most rows of a person is the same in both and may be used and published.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import plain
from pramble.errors import InvalidData, bad_row

MERGED_AT = 4_000_000
"""People of separate batches are merged when so many are held, or half of them after a merge."""


class RowsOfPeople:
    """Counts the rows of each person: a job for a scan."""

    def __init__(self, column: str) -> None:
        self.columns = [column]
        self.rows = 0
        self.held: list[pa.Table] = []

    def add(self, batch: Any) -> None:
        people = plain(batch[self.columns[0]])
        missing = pc.index(pc.is_null(people, nan_is_null=True), True).as_py()
        if missing >= 0:
            raise bad_row(
                f"Column {self.columns[0]!r} must say whose row it is; row ",
                self.rows + missing + 1,
                " says nothing. Fill it in, or leave the row out.",
            )
        self.rows += len(people)
        found = pc.value_counts(people)
        self._hold([pa.table({"person": found.field("values"), "rows": found.field("counts")})])

    def _hold(self, tables: Sequence[pa.Table]) -> None:
        self.held += tables
        if len(self.held) > 1 and sum(len(table) for table in self.held[1:]) > MERGED_AT:
            self.held = [self.merged()]

    def merge(self, later: "RowsOfPeople") -> None:
        """Take the people of the rows that follow."""
        self.rows += later.rows
        self._hold(later.held)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: each person once."""
        return {**self.__dict__, "held": [self.merged()] if self.held else []}

    def merged(self) -> pa.Table:
        """Return every person with the rows met so far."""
        whole = pa.concat_tables(self.held).group_by("person").aggregate([("rows", "sum")])
        return whole.rename_columns({"rows_sum": "rows"})

    def most(self, declared: int | None) -> int:
        """Return the most rows of a person: as declared, if nobody has more, or as counted."""
        found = int(pc.max(self.merged()["rows"]).as_py())
        return most_rows(self.columns[0], found, declared)


def most_rows(column: str, found: int, declared: int | None) -> int:
    """Return the most rows of a person: as declared, if nobody has more, or as counted."""
    if declared is not None and found > declared:
        raise InvalidData(
            f"A person of column {column!r} has {found} rows, and the plan says at most "
            f"{declared}. State rows_per_person = {found}, or leave rows out."
        )
    return declared or found

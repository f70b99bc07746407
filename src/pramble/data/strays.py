"""Values that were not declared, and the error that tells of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pramble.data.labels import Label
from pramble.errors import InvalidData, with_values

SHOWN = 5


class Strays(NamedTuple):
    """Values of a column that are no declared categories: how many, and the first of them.

    ``rows`` is empty where an engine counted groups of rows, which have no numbers.
    """

    column: str
    rows: list[int]
    values: list[Any]
    many: int
    categories: Sequence[Label]

    def joined(self, later: "Strays", *, rows: int = 0) -> "Strays":
        """Return these and those of rows that begin so many rows after these did."""
        return self._replace(
            rows=[*self.rows, *(rows + row for row in later.rows)][:SHOWN],
            values=[*self.values, *later.values][:SHOWN],
            many=self.many + later.many,
        )

    def error(self) -> InvalidData:
        """Return the error that tells of them."""
        pairs = list(zip(self.rows, self.values, strict=bool(self.rows)))
        found = ", ".join(f"row {row}{': null' if one is None else ''}" for row, one in pairs)
        found += "" if self.many <= len(pairs) else ", …"
        where = f" ({found})" if pairs else ""
        declared = ", ".join(map(repr, self.categories[:SHOWN]))
        declared += ", …" if len(self.categories) > SHOWN else ""
        advice = (
            "Declare None as a category, or remove the rows with nulls."
            if self.values and all(one is None for one in self.values)
            else "Declare them as categories (types count: 1, '1' and True differ), or recode them."
        )
        error = InvalidData(
            f"{named(self.column)} must hold declared categories ({declared}); {self.many} "
            f"{'row does' if self.many == 1 else 'rows do'} not{where}. {advice}"
        )
        error.strays = self
        shown = [f"row {row}: {one!r}" for row, one in pairs] or map(repr, self.values)
        return with_values(error, ", ".join(shown))


def named(column: str) -> str:
    """Return how a message names a column."""
    return f"Column {column!r}" if column else "The data"

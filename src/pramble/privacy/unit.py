"""Whose rows a promise is about: the unit that every release states."""

from collections.abc import Mapping
from typing import Any

from pramble.errors import InvalidData
from pramble.values import frozen

UNITS = ("row", "person", "household")


@frozen
class Unit:
    """Who is protected by a promise, and by how many rows.

    - ``of``: "person" or "household" where people may have several rows; "row" where every row is
      somebody else's.
    - ``rows``: At most so many rows of one of them are used.
    - ``columns``: The columns that say whose a row is; none where the curator states ``rows``.
    - ``stated``: Whether the curator states it; else every row is taken to be another person.

    Examples
    --------
    >>> print(Unit("person", 3, ("patient",), stated=True).sentence())
    People are protected, known by 'patient': at most 3 rows of each are used.
    """

    of: str = "row"
    rows: int = 1
    columns: tuple[str, ...] = ()
    stated: bool = False

    def sentence(self) -> str:
        """Return who is protected, in plain words."""
        stated = "as the producer states"
        if self.of == "row":
            if self.stated:
                return f"Every row is another person, {stated}."
            return "Every row is taken to be another person; the producer has not stated it."
        rows = "one row" if self.rows == 1 else f"at most {self.rows} rows"
        if not self.columns:
            return f"{self.plural.capitalize()} are protected, with {rows} each, {stated}."
        known, used = ", ".join(map(repr, self.columns)), "is" if self.rows == 1 else "are"
        whose = f"{self.plural.capitalize()} are protected, known by {known}"
        return f"{whose}: {rows} of each {used} used."

    @property
    def noun(self) -> str:
        """Return what one of those who are protected is called."""
        return "record" if self.of == "row" else self.of

    @property
    def relation(self) -> str:
        """Return in what neighbouring files differ."""
        if self.rows == 1:
            return "replace one record"
        return f"replace one {self.of}, in at most {self.rows} rows"

    @property
    def plural(self) -> str:
        return {"person": "people", "household": "households"}.get(self.of, "rows")

    def to_json(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "rows": self.rows,
            "columns": list(self.columns),
            "stated": self.stated,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Unit":
        found = cls(
            document["of"], document["rows"], tuple(document["columns"]), document["stated"]
        )
        if found.of == "row" and (found.rows != 1 or found.columns):
            raise InvalidData("A unit of rows has one row, and no columns that say whose it is.")
        if found.of != "row" and not found.stated:
            raise InvalidData("A unit of people or households is stated.")
        return found

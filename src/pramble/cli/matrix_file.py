"""A loss or distances from a CSV file: plain numbers, or a table with labels on both sides."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pramble.errors import InvalidInput, with_values


def read_matrix(
    path: Path, labels: Iterable[Any] | None, *, what: str
) -> tuple[list[list[float]], list[Any] | None]:
    """Return the matrix in the order of the labels, and the labels; the file's unless given.

    A table has the released values in its first row and the true values in its first column. A file
    whose first row is all numbers is plain, in the order of the categories.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        wrong = InvalidInput(f"{path.name!r} must be a readable CSV file of {what}.")
        raise with_values(wrong, error) from None
    known = None if labels is None else list(labels)
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidInput(
            f"{path.name!r} must hold a matrix of {what}, with rows of equal length."
        )
    if all(map(is_number, rows[0])):
        found = [numbers_in(row, place, path.name, what) for place, row in enumerate(rows, 1)]
        return found, known
    released, true = rows[0][1:], [row[0] for row in rows[1:]]
    table = {
        label: dict(zip(released, numbers_in(row[1:], place, path.name, what), strict=True))
        for place, (label, row) in enumerate(zip(true, rows[1:], strict=True), 2)
    }
    wanted = true if known is None else [str(label) for label in known]
    if sorted(true) != sorted(wanted) or sorted(released) != sorted(wanted):
        raise InvalidInput(
            f"{path.name!r} must have a row and a column for each of the {len(wanted)} categories, "
            f"named alike; found {len(true)} rows and {len(released)} columns, or other names."
        )
    return [[table[x][z] for z in wanted] for x in wanted], true if known is None else known


def read_distance(given: str | None, labels: Iterable[Any] | None) -> tuple[Any, list[Any] | None]:
    """Return a distance from "path" or the name of a CSV file, and the labels."""
    known = None if labels is None else list(labels)
    if given is None or given == "path":
        return given, known
    return read_matrix(Path(given), known, what="distances")


def is_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def numbers_in(row: list[str], place: int, file: str, what: str) -> list[float]:
    """Return the numbers of a row; the file may be confidential data, given by mistake."""
    try:
        return [float(cell) for cell in row]
    except ValueError as error:
        wrong = InvalidInput(f"{file!r} must hold {what}: row {place} must hold numbers.")
        raise with_values(wrong, error) from None

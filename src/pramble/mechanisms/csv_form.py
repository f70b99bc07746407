"""A mechanism as a labelled CSV table, for R and spreadsheets.

The first row holds the outputs, the first column the categories. Entries are written with 17
significant digits, so they read back as exactly the float64 matrix, whose rows sum to exactly 1.
"""

import csv
from pathlib import Path

from pramble.data.labels import Label
from pramble.errors import InvalidMechanism, with_values
from pramble.limits import MOST_CELLS_IN_CSV
from pramble.mechanisms.base import TOTAL, Mechanism


def write_csv(mechanism: Mechanism, path: str | Path) -> None:
    r"""Write the matrix with labels, row by row, 17 significant digits.

    In R, ``as.matrix(read.csv(path, row.names = 1, check.names = FALSE))`` is a matrix that
    sdcMicro's ``pram(pd = ...)`` takes when the labels are the levels of the factor, in order.
    """
    S, T = mechanism.shape
    if S * T > MOST_CELLS_IN_CSV:
        raise InvalidMechanism(
            f"A table of {S} x {T} entries is too large for CSV; write the JSON form, which "
            "holds the structure alone."
        )
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", *map(written, mechanism.outputs)])
        for x, label in enumerate(mechanism.categories):
            row = mechanism.row(x) / TOTAL
            table.writerow([written(label), *(f"{entry:.17g}" for entry in row.tolist())])


def read_csv(path: str | Path) -> Mechanism:
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidMechanism(
            f"{Path(path).name!r} must hold a table: a row of outputs, then one row per category "
            "with its label first."
        )
    matrix = []
    for place, row in enumerate(rows[1:], 2):
        try:
            matrix.append([float(entry) for entry in row[1:]])
        except ValueError as error:  # the file may be confidential data, given by mistake
            wrong = InvalidMechanism(
                f"{Path(path).name!r} must hold a matrix: after its label, row {place} must hold "
                "numbers. Data is no mechanism; `pramble design` and `pramble release` make them."
            )
            raise with_values(wrong, error) from None
    return Mechanism.from_matrix(matrix, [row[0] for row in rows[1:]], rows[0][1:])


def written(label: Label) -> str:
    if label is None:
        return "NA"
    return str(label).upper() if isinstance(label, bool) else str(label)

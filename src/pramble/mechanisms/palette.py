"""Matrices of few different weights as text: a palette, and a character for every entry.

The matrices of plans for records hold a handful of weights, thousands of times each; so written,
a manifest is a tenth as long.
"""

import string
from typing import Any

import numpy as np

from pramble.errors import InvalidMechanism
from pramble.limits import MOST_PALETTE_ENTRIES
from pramble.mechanisms.json_form import integers
from pramble.values import Integers

ALPHABET = string.digits + string.ascii_letters + "-_"
LEAST_ENTRIES = 400
"""Smaller matrices are written as numbers, which people can read."""


def in_palette(weights: Integers) -> dict[str, Any] | None:
    """Return the fields ``palette`` and ``rows`` of a matrix; None where numbers serve better.

    >>> in_palette(np.tile([[1, 5], [5, 1]], (1, 200)))["palette"]
    [1, 5]
    """
    if not LEAST_ENTRIES <= weights.size <= MOST_PALETTE_ENTRIES:
        return None
    palette, places = np.unique(weights, return_inverse=True)
    if len(palette) > len(ALPHABET):
        return None
    letters = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)[places.reshape(weights.shape)]
    return {"palette": palette.tolist(), "rows": [row.tobytes().decode() for row in letters]}


def from_palette(palette: Any, rows: Any) -> Integers:
    """Return the matrix of a palette and rows of text; refuse anything else."""
    values = integers(palette)
    if values.ndim != 1 or not 1 <= len(values) <= len(ALPHABET):
        raise InvalidMechanism(f"A palette is a list of 1 to {len(ALPHABET)} weights.")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise InvalidMechanism("The rows of a palette are a list of texts.")
    length = len(rows[0])
    if length * len(rows) > MOST_PALETTE_ENTRIES:
        raise InvalidMechanism(
            f"A matrix in a palette may have {MOST_PALETTE_ENTRIES:,} entries; found more."
        )
    known = set(ALPHABET[: len(values)])
    if not length or any(len(row) != length or not known.issuperset(row) for row in rows):
        raise InvalidMechanism("The rows of a palette are of equal length, of its letters alone.")
    place = np.zeros(256, dtype=np.int64)
    place[np.frombuffer(ALPHABET.encode(), dtype=np.uint8)] = np.arange(len(ALPHABET))
    letters = np.frombuffer("".join(rows).encode(), dtype=np.uint8)
    return np.asarray(values[place[letters]].reshape(len(rows), length))

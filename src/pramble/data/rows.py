"""Rows: how many there are, and their numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pramble.errors import InvalidData
from pramble.values import Integers

Rows = range | Integers
"""Row numbers: a range where rows follow each other, an array where they do not."""


def picked(rows: Rows, positions: Integers) -> Integers:
    return np.asarray(rows.start + positions if isinstance(rows, range) else rows[positions])


def number_of_rows(columns: Mapping[str, Any]) -> int:
    """Return how many rows columns have; refuse columns that are not equally long."""
    rows = [len(values) for values in columns.values()]
    if len(set(rows)) > 1:
        raise InvalidData(f"Every column must have as many rows; they have {rows[:20]}.")
    return max(rows, default=0)

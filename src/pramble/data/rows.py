"""Row numbers."""

import numpy as np

from pramble.values import Integers

Rows = range | Integers
"""Row numbers: a range where rows follow each other, an array where they do not."""


def picked(rows: Rows, positions: Integers) -> Integers:
    """Return the row numbers at some positions."""
    return np.asarray(rows.start + positions if isinstance(rows, range) else rows[positions])

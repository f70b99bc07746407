"""A secure random order of rows, as the key has it."""

import numpy as np

from pramble.engine.keystream import KeyStream, derived_key
from pramble.values import Integers

WORDS = 3
"""Words of 32 bits by which rows are sorted: two of a billion rows agree once in 10^11 files."""


def random_order(rows: int, *, key: bytes) -> Integers:
    """Return the row numbers sorted by secure random words, which no column is drawn from.

    >>> sorted(random_order(4, key=bytes(32)).tolist())
    [0, 1, 2, 3]
    """
    own = derived_key(key, "row order")
    words = [KeyStream(own, str(part)).words(range(rows)) for part in range(WORDS)]
    first = (words[-1].astype(np.uint64) << np.uint64(32)) | words[-2]
    order = np.argsort(first)
    agree = np.diff(first[order]) == 0
    return np.lexsort(words) if agree.any() else order

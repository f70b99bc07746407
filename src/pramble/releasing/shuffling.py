"""A random order of the rows, from the secure stream of the release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pramble.engine.keystream import KeyStream, derived_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pramble.releasing.source import Source

WORDS = 3
"""Words of 32 bits by which rows are sorted: two of a billion rows agree once in 10^11 files."""


def shuffled(source: Source, rows: int, *, key: bytes) -> Source:
    """Return the source with its rows in a random order that the key determines."""
    return replace(source, order=random_order(rows, key=key))


def random_order(rows: int, *, key: bytes) -> NDArray[np.int64]:
    """Return the row numbers sorted by secure random words, which no column is drawn from.

    >>> sorted(random_order(4, key=bytes(32)).tolist())
    [0, 1, 2, 3]
    """
    own = derived_key(key, "row order")
    words = [KeyStream(own, str(part)).words(range(rows)) for part in range(WORDS)]
    return np.lexsort(words)

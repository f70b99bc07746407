"""A secure random order of rows, as the key has it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.arrays import Rows
from pramble.engine.keystream import KeyStream, derived_key
from pramble.values import Integers

WORDS = 3
"""Words of 32 bits by which rows are sorted: two of a billion rows agree once in 10^11 files."""

Words = tuple[NDArray[np.uint64], NDArray[np.uint32]]
"""The sorting words of some rows: 64 bits that go first, and 32 that decide where they agree."""


def random_order(rows: int, *, key: bytes) -> Integers:
    """Return the row numbers sorted by secure random words, which no column is drawn from.

    >>> sorted(random_order(4, key=bytes(32)).tolist())
    [0, 1, 2, 3]
    """
    return in_word_order(sorting_words(range(rows), key=key))


def sorting_words(rows: Rows, *, key: bytes) -> Words:
    """Return the words by which rows are sorted; the most significant is the last stream's."""
    words: list[Any] = [order_stream(part, key=key).words(rows) for part in range(WORDS)]
    return (words[2].astype(np.uint64) << np.uint64(32)) | words[1], words[0]


def leading_words(rows: range, *, key: bytes) -> NDArray[np.uint32]:
    """Return the 32 most significant bits by which rows are sorted."""
    return order_stream(WORDS - 1, key=key).words(rows)


def order_stream(part: int, *, key: bytes) -> KeyStream:
    """Return the bits of one of the sorting words."""
    return KeyStream(derived_key(key, "row order"), str(part))


def in_word_order(words: Words) -> Integers:
    """Return the places of rows sorted by their words; rows that agree in all stay as they were."""
    first, last = words
    order = np.argsort(first)
    agree = np.diff(first[order]) == 0
    return np.lexsort((last, first)) if agree.any() else order

"""Where a secret order is cut: the pieces that sorting every row at once gives."""

import numpy as np
import pytest
from tests.engine.cuts import random_order

from pramble.engine import shuffle
from pramble.engine.shuffle import (
    in_word_order,
    leading_words,
    piece_boundaries,
    sorting_words,
)

KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("rows", "size"), [(10, 4), (1000, 1), (5000, 4999), (5000, 5000), (60_000, 1000)]
)
def test_rows_have_the_piece_of_their_place(rows, size, monkeypatch):
    monkeypatch.setattr(shuffle, "AT_ONCE", 700)
    expected = np.empty(rows, dtype=np.int64)
    expected[random_order(rows, key=KEY)] = np.arange(rows) // size
    boundaries = piece_boundaries(rows, size, key=KEY)
    for start in range(0, rows, 2500):
        part = range(start, min(start + 2500, rows))
        found = boundaries.pieces(sorting_words(part, key=KEY), start)
        assert found.tolist() == expected[part.start : part.stop].tolist()


def test_rows_that_agree_in_all_words_stay_in_order(monkeypatch):
    """Words of few values: many rows agree in the first, and some in both."""

    def few(rows, *, key):
        first, last = sorting_words(rows, key=key)
        return first >> np.uint64(60) << np.uint64(60), last & np.uint32(3)

    monkeypatch.setattr(shuffle, "sorting_words", few)
    words = few(range(600), key=KEY)
    assert (leading_words(range(600), key=KEY) >> 28).tolist() == (words[0] >> 60).tolist()
    monkeypatch.setattr(
        shuffle, "leading_words", lambda r, key: leading_words(r, key=key) >> 28 << 28
    )
    expected = np.empty(600, dtype=np.int64)
    expected[in_word_order(words)] = np.arange(600) // 7
    assert piece_boundaries(600, 7, key=KEY).pieces(words, 0).tolist() == expected.tolist()

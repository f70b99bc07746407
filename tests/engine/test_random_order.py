"""The random order of rows: uniform over all orders, and drawn from words that no column has."""

from collections import Counter

import numpy as np
from tests.engine.cuts import random_order

from pramble.engine.keystream import KeyStream, derived_key

KEY = bytes(range(32))


def test_orders_are_uniform():
    """All 24 orders of four rows, over 4,800 keys: chi-square below its 1e-6 quantile."""
    found = Counter(tuple(random_order(4, key=i.to_bytes(32, "big")).tolist()) for i in range(4800))
    assert len(found) == 24
    chi = sum((count - 200) ** 2 / 200 for count in found.values())
    assert chi < 71


def test_an_order_shares_no_bits_with_a_column():
    words = KeyStream(KEY, "row order").words(range(1000))
    assert not np.array_equal(random_order(1000, key=KEY), np.argsort(words))


def test_rows_are_sorted_by_all_words():
    own = derived_key(KEY, "row order")
    words = [KeyStream(own, str(part)).words(range(5000)) for part in range(3)]
    assert np.array_equal(random_order(5000, key=KEY), np.lexsort(words))

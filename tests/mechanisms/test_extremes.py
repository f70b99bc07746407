"""The closed form of the largest ratio against every pair, on thousands of uniform-row matrices."""

import numpy as np
import pytest

from pramble.data.labels import as_labels
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.ratios import largest_ratio, largest_uniform_ratio
from pramble.mechanisms.uniform import UniformRows


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_closed_form_for_uniform_rows(size):
    rng = np.random.default_rng(size)
    places = set()
    for _ in range(1500):
        spread = rng.choice([0.2, 1.0])
        centre = TOTAL / size
        off = (centre + spread * (rng.random(size) * TOTAL / (size - 1) - centre)).astype(np.int64)
        mechanism = UniformRows(as_labels(size), off)
        closed, generic = largest_uniform_ratio(off, TOTAL), largest_ratio(mechanism.weights)
        assert closed.numerator * generic.denominator == generic.numerator * closed.denominator
        assert mechanism.weights[closed.x, closed.z] == closed.numerator
        assert mechanism.weights[closed.x_prime, closed.z] == closed.denominator
        places.add((closed.x == closed.z, closed.x_prime == closed.z))
    kinds = {(True, False), (False, True)} | ({(False, False)} if size >= 3 else set())
    assert places == kinds

"""Intervals of a query do not depend on how it is written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble

seeds = st.integers(0, 10**6)


@given(seeds, st.floats(0.2, 6.0))
def test_a_query_and_its_negative_have_mirrored_intervals(seed, alpha):
    rng = np.random.default_rng(seed)
    m = pramble.randomized_response(4, alpha)
    counts = rng.multinomial(200, rng.dirichlet(np.full(4, 0.7)))
    w = rng.choice([-2.0, -1.0, 0.0, 1.0, 3.0], 4)
    e = pramble.estimate(counts, m, counts=True, query=[list(w), list(-w), list(2 * w + 1)])
    np.testing.assert_allclose([e.lower[1], e.upper[1]], [-e.upper[0], -e.lower[0]], atol=1e-9)
    moved = 2 * np.array([e.lower[0], e.upper[0]]) + 1
    np.testing.assert_allclose([e.lower[2], e.upper[2]], moved, atol=1e-9)
    assert w.min() <= e.lower[0] <= e.upper[0] <= w.max()


def test_the_difference_of_two_shares_is_mirrored():
    m = pramble.randomized_response(3, 1.0)
    there = pramble.estimate([500, 300, 200], m, counts=True, query=[1, -1, 0])
    back = pramble.estimate([500, 300, 200], m, counts=True, query=[-1, 1, 0])
    assert (there.lower[0], there.upper[0]) == pytest.approx((-back.upper[0], -back.lower[0]))

"""Arcs around a circle of equally likely cells: exact, near the universal bound, estimable."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble


@given(st.integers(3, 300), st.floats(0.01, 8.0))
def test_a_circle_is_private_and_every_category_is_alike(size, alpha):
    m = pramble.circle(size, alpha)
    assert pramble.certify(m).satisfies(alpha)
    assert (m.weights.sum(axis=1) == 2**53).all()
    assert math.gcd(m.width, size) == 1
    turned = np.array([np.roll(row, -x) for x, row in enumerate(m.weights)])
    assert (turned == turned[0]).all()


@pytest.mark.parametrize("alpha", [0.1, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("size", [64, 256, 1024])
def test_it_comes_as_near_to_the_universal_bound_as_its_arcs_are_near_to_the_best(size, alpha):
    m = pramble.circle(size, alpha)
    p = np.full(size, 1 / size)
    told, most = pramble.mutual_information(p, m), pramble.information_bound(alpha)
    assert told <= most
    assert told > most * (1 - 200 / size**2 * (1 + alpha))
    a, t = math.exp(alpha), m.width / size
    mass = a * t + 1 - t
    assert told == pytest.approx(a * t / mass * math.log(a) - math.log(mass), rel=1e-6)


def test_released_places_are_around_the_true_one():
    m = pramble.circle(101, 3.0)
    likely = m.weights[50] > m.weights[50].min()
    assert likely.sum() == m.width
    places = np.flatnonzero(likely)
    assert abs(places.mean() - 50) <= 0.5


def test_every_cell_can_be_estimated():
    for size in (16, 60, 97):
        assert math.isfinite(
            pramble.estimation_variance(np.full(size, 1 / size), pramble.circle(size, 2.0))
        )


def test_cells_are_counted_or_have_names():
    assert pramble.circle(4, 1.0).categories == (0, 1, 2, 3)
    assert pramble.circle(["low", "mid", "high"], 1.0).categories == ("low", "mid", "high")
    with pytest.raises(pramble.InvalidInput, match="at least 3"):
        pramble.circle(2, 1.0)

"""Values beyond sampling at a uniform prior, against the figures of symmetric mechanisms."""

import math

import numpy as np
import pytest

import pramble
from pramble.solvers.record.orbits import Characters, turns_of

KEYS = (5, 2, 6, 5, 11, 3, 2, 2)


def beyond_sampling(d, sizes):
    return d.value - sum(1 - 1 / math.prod(sizes[name] for name in table) for table in d.costs)


@pytest.mark.parametrize(("alpha", "most"), [(1.0, 26_000), (2.0, 5_100), (4.0, 590)])
def test_eight_keys(alpha, most):
    sizes = {f"k{i}": n for i, n in enumerate(KEYS)}
    d = pramble.design_record(sizes, alpha, effort=20)
    assert d.certificate.satisfies(alpha)
    assert d.bound <= d.value
    assert beyond_sampling(d, sizes) <= most


@pytest.mark.parametrize(
    ("columns", "alpha", "symmetric"),
    [(6, 0.5, 9449), (6, 1.0, 2178), (6, 2.0, 413.5), (6, 4.0, 46.9), (8, 1.0, 12_212)],
)
def test_three_way_tables_of_binary_columns(columns, alpha, symmetric):
    sizes = {f"b{i}": 2 for i in range(columns)}
    d = pramble.design_record(sizes, alpha, tables=3, effort=20)
    assert d.certificate.satisfies(alpha)
    assert beyond_sampling(d, sizes) <= 1.03 * symmetric


def test_characters_give_the_information_of_turned_sets():
    sizes, alpha = {"a": 3, "b": 4}, 1.3
    characters = Characters(sizes, [("a", "b")], alpha)
    inside = np.random.default_rng(2).random((3, 4)) < 0.4
    orbit = characters.orbit(("a", "b"), inside)
    matrix = 1 + math.expm1(alpha) * turns_of(orbit)
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    assert matrix.shape == (12, orbit.outputs)
    scaled = matrix @ np.diag(1 / matrix.mean(axis=0)) @ matrix.T / 12
    values = np.sort(np.linalg.eigvalsh(scaled))
    told = np.repeat(orbit.information, [1 if is_real(f) else 2 for f in characters.frequencies])
    assert values[-1] == pytest.approx(1)
    assert np.sort(told) == pytest.approx(values[:-1], abs=1e-12)


def is_real(frequency):
    """Whether a character is its own conjugate."""
    return all((2 * f) % n == 0 for f, n in zip(frequency, (3, 4), strict=True))


def test_turns_that_are_alike_are_counted_once():
    characters = Characters({"a": 2, "b": 4}, [("a", "b")], 1.0)
    inside = np.array([[True, False, True, False], [True, False, True, False]])
    orbit = characters.orbit(("a", "b"), inside)
    assert orbit.outputs == 2 == turns_of(orbit).shape[1]

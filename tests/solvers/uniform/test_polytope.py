from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from pramble.mechanisms.ratios import exp_below
from pramble.solvers.uniform.polytope import Corner, corners, vertices
from pramble_study import paper

BOTH_SIDES = [
    (2, 1.0), (3, 0.1), (3, 1.0), (3, 3.0), (4, 0.5), (4, 0.69), (4, 0.70), (4, 2.0),
    (5, 1.0), (5, 1.09), (5, 1.11), (6, 1.38), (6, 1.39), (6, 2.0), (7, 1.0),
]  # fmt: skip


def exact_rows(size, a):
    for on_k, on_l, limit in paper.pair_constraints(size, a):
        for k, other in permutations(range(size), 2):
            row = [Fraction(0)] * size
            row[k], row[other] = on_k, on_l
            yield (*row, limit)


@pytest.mark.parametrize(("size", "alpha"), [(2, 0.7), (3, 0.3), (3, 1.0), (3, 4.0)])
def test_vertices_against_exact_enumeration_of_all_constraints(size, alpha):
    a = exp_below(alpha)
    every = {tuple(map(float, point)) for point in vertices(list(exact_rows(size, a)))}
    assert every == set(map(tuple, paper.privacy_vertices(size, alpha).tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_vertices_against_exact_enumeration_for_four(alpha):
    every = {tuple(map(float, v)) for v in vertices(list(exact_rows(4, exp_below(alpha))))}
    assert every == set(map(tuple, paper.privacy_vertices(4, alpha).tolist()))


@pytest.mark.parametrize(("size", "alpha"), BOTH_SIDES)
def test_vertices_against_qhull(size, alpha):
    C, b = paper.privacy_constraints(size, alpha)
    centre = np.full(size, 1 / size) + 1e-9 * np.arange(size)
    hull = HalfspaceIntersection(np.c_[C, -b], centre)
    theirs = np.unique(hull.intersections.round(8), axis=0)
    ours = np.unique(paper.privacy_vertices(size, alpha).round(8), axis=0)
    assert theirs.shape == ours.shape
    np.testing.assert_allclose(theirs, ours, atol=1e-7)


@pytest.mark.parametrize("size", [5, 6, 7])
def test_up_to_the_threshold_there_are_two_to_the_s_vertices(size):
    papers = np.log((size - 2 + np.sqrt(size * (size - 4))) / 2)
    ours = paper.vertex_threshold(size)
    assert papers < ours
    for alpha in (0.5 * papers + 0.01, (papers + ours) / 2, ours - 1e-6):
        assert len(paper.privacy_vertices(size, alpha)) == 2**size
    assert len(paper.privacy_vertices(size, ours + 1e-6)) > 2**size


@pytest.mark.parametrize(("size", "alpha"), BOTH_SIDES)
def test_corner_counts(size, alpha):
    found = corners(size, exp_below(alpha))
    expected = {2: 3, 3: 6}.get(size, 5 if alpha < paper.vertex_threshold(size) else 8)
    assert len(found) == expected


@pytest.mark.parametrize("alpha", [1e-9, 0.5, 2.0, 20.0])
def test_corners_of_a_million_categories(alpha):
    found = corners(10**6, exp_below(alpha))
    assert len(found) == (5 if alpha < 13 else 8)
    assert all(c.top >= c.high >= c.low >= c.bottom > 0 for c in found)


def test_corners_below_the_threshold_are_the_papers():
    a = exp_below(1.0)
    top, high = a * a / (a * 9 + 1), a / (9 + a)
    low, bottom = 1 / (a * 9 + 1), 1 / (a * (9 + a))
    assert set(corners(10, a)) == {
        Corner(high, high, high, high),
        Corner(low, low, low, low),
        Corner(high, high, low, low),
        Corner(high, high, high, bottom),
        Corner(top, low, low, low),
    }


def test_a_floor_cuts_corners():
    a, floor = exp_below(1.0), Fraction(1, 10)
    found = corners(6, a, floor)
    assert found
    assert min(c.bottom for c in found) == floor

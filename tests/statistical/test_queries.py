"""Intervals of queries cover, whatever their weights."""

import numpy as np
import pytest

import pramble

FALLING = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
RARE = np.array([0.6, 0.3, 0.06, 0.02, 0.015, 0.005])
QUERIES = {
    "a difference": [1, -1, 0, 0, 0, 0],
    "of rare cells": [0, 0, 0, 0, 1, -1],
    "of rare cells, turned": [0, 0, 0, 0, -1, 1],
    "a mean of scores": [0, 1, 2, 3, 4, 5],
    "a sparse contrast": [1, 0, 0, -0.5, 0, -0.5],
    "a curvature": [1, -2, 1, 0, 0, 0],
    "two cells": [0, 0, 0, 1, 1, 0],
}
RUNS = 500


def outside(p, m, n, seed):
    """Shares of runs in which the truth lies below and above the interval of each query."""
    rng = np.random.default_rng(seed)
    w = np.array(list(QUERIES.values()), dtype=float)[:, : len(p)]
    truth, law = w @ p, p @ m.matrix
    below, above = np.zeros(len(w)), np.zeros(len(w))
    for counts in rng.multinomial(n, law / law.sum(), size=RUNS):
        e = pramble.estimate(counts, m, counts=True, query=list(w))
        below += truth < e.lower - 1e-12
        above += truth > e.upper + 1e-12
    return below / RUNS, above / RUNS


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("alpha", [1.0, 6.0])
@pytest.mark.parametrize("p", [FALLING, RARE], ids=["falling", "rare"])
def test_queries_are_covered_on_both_sides(p, alpha, n):
    """At 93 to 97 %, give or take the noise of 500 runs; counts near 1 may be covered more."""
    below, above = outside(p, pramble.randomized_response(6, alpha), n, seed=31)
    assert (below + above < 0.07 + 2.5 * 0.01).all()
    assert (below < 0.07).all()
    assert (above < 0.06).all()
    if n * p.min() > 5:
        assert (below + above > 0.02).all()


def test_queries_of_wide_mechanisms_are_covered():
    rng = np.random.default_rng(32)
    M = rng.choice([1.0, np.e**2], (6, 15))
    m = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True))
    below, above = outside(FALLING, m, 1000, seed=33)
    assert (below + above < 0.095).all()
    assert (below + above > 0.02).all()

"""The law that a candidate answer of a query is tested under."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import pramble
from pramble.estimation.inverse.intervals import nearest_candidates

seeds = st.integers(0, 10**6)


@given(seeds)
def test_the_law_has_the_mean_that_is_tested(seed):
    rng = np.random.default_rng(seed)
    K, Q = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    w = rng.choice([0.0, 0.3, 0.5, 1.0, rng.random()], (Q, K))
    w[:, 0], w[:, 1] = 0.0, 1.0
    p = np.maximum(rng.dirichlet(np.full(K, 0.3)), 1e-9)
    candidates = nearest_candidates(w, p / p.sum(), rng.random((Q, K)))
    for mu in (*rng.random((3, Q)), np.full(Q, 1e-9), np.full(Q, 1 - 1e-9), np.eye(2)[0].repeat(Q)):
        law = candidates.distribution(mu[:Q])
        assert (law >= 0).all()
        np.testing.assert_allclose(law.sum(axis=1), 1.0)
        np.testing.assert_allclose((law * candidates.weights).sum(axis=1), mu[:Q], atol=1e-11)


def test_it_is_the_restricted_maximum_likelihood():
    p, w, mu = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.0, 0.2, 0.7, 1.0]), 0.5
    found = nearest_candidates(w[None], p, np.ones((1, 4))).distribution(np.array([mu]))[0]
    oracle = minimize(
        lambda q: -(p * np.log(q)).sum(),
        np.full(4, 0.25),
        bounds=[(1e-6, 1)] * 4,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "eq", "fun": lambda q: q @ w - mu},
        ],
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found, oracle.x, atol=1e-5)


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

"""Promises of a file and of what was spent besides: never below the truth or an attack."""

import math

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_delta

import pramble

ROUNDING = 1e-12


def test_what_is_spent_besides_is_part_of_it():
    m = pramble.randomized_response(10, 3.0)
    alone = pramble.central_guarantee(m, rows=10**5, delta=1e-6)
    more = pramble.central_guarantee(m, rows=10**5, delta=1e-6, additional=0.02)
    assert alone.epsilon < more.epsilon <= (alone.epsilon + 0.02) * (1 + 1e-3)
    assert more.alpha >= 3.02 - 1e-9
    nothing = pramble.central_guarantee(m, rows=10**5, delta=0.0, additional=0.02)
    assert nothing.epsilon == pytest.approx(more.alpha)


def test_a_prior_beside_a_file_is_added():
    off = np.linspace(1.0, 1.2, 40)
    M = np.repeat(off[:, None], 40, axis=1)
    np.fill_diagonal(M, math.exp(3.0))
    m = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True))
    alone = pramble.central_guarantee(m, rows=50_000, delta=1e-6)
    more = pramble.central_guarantee(m, rows=50_000, delta=1e-6, additional=0.03)
    assert (more.epsilon, more.method) == (pytest.approx(alone.epsilon + 0.03), alone.method)
    assert more.curve(more.epsilon) <= 1e-6
    assert more.curve(0.02) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_what_was_spent_besides_one_file_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    M = rng.dirichlet(np.full(3, 5.0), size=3)
    m, c, rows = pramble.Mechanism.from_matrix(M), float(rng.uniform(0.05, 0.5)), 4
    more, alone = (
        pramble.central_guarantee(m, rows=rows, delta=1e-3, additional=own) for own in (c, 0.0)
    )
    chance = 1 / (1 + math.exp(-c))
    epsilons = np.linspace(c + 0.01, c + 1.0, 4)
    high, low = (exact_delta(m.matrix, rows, epsilons - sign * c) for sign in (1, -1))
    for epsilon, truth in zip(epsilons, chance * high + (1 - chance) * low, strict=True):
        proven = more.curve(epsilon)
        assert proven >= truth - ROUNDING
        assert proven <= alone.curve(epsilon - c) * (1 + 1e-9)

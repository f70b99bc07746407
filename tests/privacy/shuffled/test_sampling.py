"""Promises to a population: never below the truth of all samples, never below an attack."""

import math

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_sampled_delta, random_matrix

import pramble

ROUNDING = 1e-13


def check(given, matrices, rows, population, epsilons):
    known = pramble.central_guarantee(given, rows=rows, delta=1e-3, population=population)
    exact = exact_sampled_delta(matrices, rows, population, epsilons)
    for epsilon, truth in zip(epsilons, exact, strict=True):
        assert known.curve(epsilon) >= truth - ROUNDING
        assert known.attack(epsilon) <= truth + ROUNDING
    return known, exact


@pytest.mark.parametrize("seed", range(60))
def test_random_matrices_against_all_samples_of_all_populations(seed):
    rng = np.random.default_rng(seed)
    M = random_matrix(rng, zeros=seed % 4 == 0)[:3]
    population = int(rng.integers(2, 6))
    rows = int(rng.integers(1, min(population, 4)))
    mechanism = pramble.Mechanism.from_matrix(M, outputs=range(M.shape[1]))
    # what α is to a population of which so few are drawn
    top = math.log1p(rows / population * math.expm1(min(pramble.certify(mechanism).alpha, 3.0)))
    epsilons = top * np.array([0.0, rng.uniform(0, 0.4), rng.uniform(0.4, 1)])
    check(mechanism, [mechanism.matrix], rows, population, epsilons)


@pytest.mark.parametrize(("rows", "population"), [(1, 3), (2, 3), (2, 5), (3, 5)])
def test_the_promise_and_the_attack_meet_at_randomised_response(rows, population):
    """With two rows that are far apart the theorem loses little, and the attack nothing."""
    m = pramble.randomized_response(2, 1.0)
    known, exact = check(m, [m.matrix], rows, population, np.array([0.0, 0.05]))
    assert exact[0] > 0
    assert known.curve(0.0) < 1.5 * exact[0]
    assert known.attack(0.0) > 0.98 * exact[0]


def test_two_promises_on_one_sample_do_not_add_up():
    """Who was drawn is the same in both files, so a sum of their promises is broken."""
    sharp = pramble.Mechanism.from_matrix([[0.98, 0.02], [0.02, 0.98]])
    one = pramble.central_guarantee(sharp, rows=1, delta=0.0, population=5)
    epsilons = np.array([one.epsilon, 2 * one.epsilon])
    alone = exact_sampled_delta([sharp.matrix], 1, 5, epsilons)
    together = exact_sampled_delta([sharp.matrix] * 2, 1, 5, epsilons)
    assert alone[0] == 0
    assert together[1] > 0.1


@pytest.mark.parametrize("changed", [2, 3])
def test_several_rows_of_a_person_against_all_samples(changed):
    m = pramble.randomized_response(2, 1.5)
    g = pramble.central_guarantee(m, rows=2, epsilon=0.6, population=4, rows_per_person=changed)
    exact = exact_sampled_delta([m.matrix], 2, 4, np.array([0.6]), changed=changed)[0]
    assert 0 < exact <= g.delta
    assert g.curve(0.3) >= exact_sampled_delta([m.matrix], 2, 4, [0.3], changed=changed)[0]


def test_large_files_are_told_within_a_few_percent():
    m = pramble.randomized_response(10, 4.0)
    whole = pramble.central_guarantee(m, rows=10**5, delta=1e-6)
    g = pramble.central_guarantee(m, rows=10**5, delta=1e-6, population=10**6)
    assert 0.93 * g.epsilon < g.lower < g.epsilon < 0.1 * whole.epsilon
    assert g.curve(g.epsilon) <= 1e-6 < g.attack(g.lower)
    assert g.alpha == whole.alpha
    assert "a secret random sample of 1,000,000" in g.sentence()
    back = pramble.central_guarantee(m, rows=10**5, epsilon=g.epsilon, population=10**6)
    assert 0.95e-6 < back.delta <= 1e-6


def test_everybody_is_no_sample():
    m = pramble.randomized_response(5, 2.0)
    one, other = (
        pramble.central_guarantee(m, rows=1000, delta=1e-6, population=N) for N in (None, 1000)
    )
    assert (one.epsilon, one.lower) == (other.epsilon, other.lower)


def test_no_delta_leaves_the_local_promise_of_the_population():
    g = pramble.central_guarantee(
        pramble.randomized_response(5, 1.5), rows=100, delta=0.0, population=1000
    )
    assert g.method == "local"
    assert g.epsilon == pytest.approx(math.log1p(0.1 * math.expm1(1.5)))
    assert g.alpha == pytest.approx(1.5)


def test_an_unbounded_ratio_stays_unbounded():
    sharp = pramble.Mechanism.from_matrix([[0.5, 0.5], [1.0, 0.0]])
    g = pramble.central_guarantee(sharp, rows=10, delta=1e-6, population=100)
    assert math.isinf(g.epsilon)


def test_a_sample_is_not_larger_than_its_population():
    m = pramble.randomized_response(3, 1.0)
    with pytest.raises(pramble.InvalidInput, match="no larger than its population"):
        pramble.central_guarantee(m, rows=100, delta=1e-6, population=99)
    with pytest.raises(pramble.InvalidInput, match="population must be a whole number"):
        pramble.central_guarantee(m, rows=100, delta=1e-6, population=1000.5)

"""Each way to prove a central guarantee by itself: blankets and corners."""

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_delta, exact_excess, random_matrix

import pramble
import pramble.privacy.blanket as module
from pramble.privacy.blanket import blanket_delta, corner_delta, factor_below, pair_summand
from pramble.privacy.evidence import evidence_of

ROUNDING = 1e-13


def check_against_brute_force(mechanism, rows, epsilons, *, matrix=None):
    exact = exact_delta(mechanism.matrix if matrix is None else matrix, rows, epsilons)
    known = evidence_of(mechanism, rows=rows)
    for epsilon, truth in zip(epsilons, exact, strict=True):
        assert known.delta(epsilon)[0] >= truth - ROUNDING
        assert known.attack(epsilon) <= truth + ROUNDING
        if known.crowd is not None:
            assert blanket_delta(known.crowd, epsilon, rows=rows) >= truth - ROUNDING
        if known.corners is not None:
            assert corner_delta(known.corners, epsilon, rows=rows) >= truth - ROUNDING
    return known, exact


def check_random(seed):
    rng = np.random.default_rng(seed)
    M = random_matrix(rng, zeros=seed % 4 == 0)
    rows = int(rng.integers(2, 7))
    mechanism = pramble.Mechanism.from_matrix(M)
    top = min(pramble.certify(mechanism).alpha, 3.0)
    epsilons = top * np.array([0.0, rng.uniform(0, 0.3), rng.uniform(0.3, 1)])
    known, exact = check_against_brute_force(mechanism, rows, epsilons)
    for epsilon, truth in zip(epsilons[1:], exact[1:], strict=True):
        if 0 < truth < 1:
            assert known.lower(truth * (1 + 1e-9), proven=known.most) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(120))
def test_random_matrices_against_brute_force(seed):
    check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_thousands_of_random_matrices_against_brute_force(part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        check_random(seed)


@pytest.mark.parametrize("alpha", [0.5, 1.5, 3.0])
@pytest.mark.parametrize(("S", "rows"), [(2, 7), (3, 6), (4, 4)])
def test_randomised_response_against_brute_force(S, rows, alpha):
    epsilons = alpha * np.array([0.0, 0.2, 0.5, 0.9])
    check_against_brute_force(pramble.randomized_response(S, alpha), rows, epsilons)


def test_uniform_rows_of_several_classes_against_brute_force():
    mechanism = pramble.keep_probabilities([0.8, 0.8, 0.5, 0.2])
    check_against_brute_force(mechanism, 4, np.array([0.0, 0.3, 0.8]))


@pytest.mark.parametrize("rows", [30, 120])
@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_two_categories_and_many_rows_against_all_files(rows, alpha):
    epsilons = alpha * np.array([0.05, 0.2, 0.4])
    check_against_brute_force(pramble.randomized_response(2, alpha), rows, epsilons)


@pytest.mark.parametrize("seed", range(20))
def test_the_blanket_is_computed_closely(seed):
    """Against the theorem's expression itself, over all counts of all outputs."""
    rng = np.random.default_rng(seed)
    mechanism = pramble.Mechanism.from_matrix(rng.dirichlet([2, 2, 2], size=2))
    known, rows = evidence_of(mechanism, rows=8), 8
    epsilon = 0.2 * known.alpha
    exact = 0.0
    for pair in ((0, 1), (1, 0)):
        summand = pair_summand(known.crowd, pair, factor_below(epsilon))
        exact = max(exact, exact_excess(summand.values, summand.probabilities, rows))
    found = blanket_delta(known.crowd, epsilon, rows=rows)
    assert exact * (1 - 1e-12) <= found <= 1.02 * exact + 1e-6


def test_corners_are_the_blanket_of_randomised_response():
    known = evidence_of(pramble.randomized_response(7, 2.0), rows=1000)
    for epsilon in (0.1, 0.3):
        corner = corner_delta(known.corners, epsilon, rows=1000)
        assert corner == pytest.approx(blanket_delta(known.crowd, epsilon, rows=1000), rel=1e-6)


def test_an_attack_on_blocks_together_is_an_attack_on_their_product(monkeypatch):
    one, two = pramble.randomized_response(2, 1.0), pramble.randomized_response(3, 0.7)
    monkeypatch.setattr("pramble.privacy.blanket.MOST_ROWS", 5)
    matrix = np.kron(one.matrix, two.matrix)
    plan = pramble.Plan({"a": one, "b": two})
    known, _ = check_against_brute_force(plan, 3, np.array([0.0, 0.4]), matrix=matrix)
    assert known.crowd is None
    assert known.attack(0.0) > evidence_of(one, rows=3).attack(0.0)


def test_pairs_that_are_alike_are_asked_once(monkeypatch):
    asked = []
    true = module.worst_pair
    monkeypatch.setattr(
        module, "worst_pair", lambda *a, **k: asked.append(k["known"]) or true(*a, **k)
    )
    one = pramble.randomized_response(5, 1.0).matrix
    known = evidence_of(pramble.Mechanism.from_matrix(np.kron(one, one)), rows=10_000)
    for epsilon in (0.0, 0.01, 0.05):
        asked.clear()
        known.delta(epsilon)
        assert len(asked) <= 2

"""Central guarantees: never below the truth, never above what is published."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_delta, exact_excess, random_matrix

import pramble
from pramble.data.labels import as_labels
from pramble.mechanisms.arcs import Arcs, least_low
from pramble.privacy.blanket import (
    blanket_delta,
    corner_delta,
    factor_below,
    pair_summand,
)
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


@pytest.mark.parametrize("S", [10, 100])
def test_figures_of_randomised_response(S):
    guide = {10: (0.0019, 0.0066, 0.032, 0.102), 100: (0.0006, 0.0024, 0.020, 0.092)}[S]
    for alpha, wanted in zip((1, 2, 4, 6), guide, strict=True):
        mechanism = pramble.randomized_response(S, alpha)
        found = pramble.central_guarantee(mechanism, rows=10**6, delta=1e-6)
        assert found.epsilon <= 1.1 * wanted
        assert 0.98 * found.epsilon < found.lower < found.epsilon
        assert found.curve(found.epsilon) <= 1e-6
        assert found.attack(found.lower) > 1e-6


def closed_epsilon(alpha, rows, delta):
    """Feldman, McMillan and Talwar (2021), Theorem 3.1."""
    a = math.exp(alpha)
    if 16 * a * math.log(2 / delta) > rows:
        return math.inf
    root = 8 * math.sqrt(a * math.log(4 / delta) / rows) + 8 * a / rows
    return math.log1p(math.tanh(alpha / 2) * root)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
def test_never_above_the_closed_form(alpha):
    for mechanism in (
        pramble.randomized_response(2, alpha),
        pramble.randomized_response(50, alpha),
    ):
        for rows in (10**4, 10**6):
            found = pramble.central_guarantee(mechanism, rows=rows, delta=1e-8)
            assert found.epsilon <= min(closed_epsilon(alpha, rows, 1e-8), found.alpha)


def test_corners_are_the_blanket_of_randomised_response():
    known = evidence_of(pramble.randomized_response(7, 2.0), rows=1000)
    for epsilon in (0.1, 0.3):
        corner = corner_delta(known.corners, epsilon, rows=1000)
        assert corner == pytest.approx(blanket_delta(known.crowd, epsilon, rows=1000), rel=1e-6)


def circle(S, alpha, width):
    low = least_low(S, width, alpha)
    return Arcs(as_labels(S), as_labels(S), np.arange(S), np.arange(S), width, low)


def test_arcs_large_and_small_agree():
    small = pramble.central_guarantee(circle(60, 3.0, 4), rows=10**5, delta=1e-6)
    large = pramble.central_guarantee(circle(6000, 3.0, 400), rows=10**5, delta=1e-6)
    assert (small.method, large.method) == ("blanket", "corners") or small.method == "corners"
    assert large.epsilon == pytest.approx(small.epsilon, rel=0.01)
    assert 0.9 * large.epsilon < large.lower < large.epsilon


def test_a_million_categories():
    found = pramble.central_guarantee(
        pramble.randomized_response(10**6, 12.0), rows=10**6, delta=1e-6
    )
    assert 0 < found.lower < found.epsilon < 12


def test_a_branch_of_two_blocks_is_its_product():
    one, two = pramble.randomized_response(2, 1.0), pramble.randomized_response(3, 0.7)
    plan = pramble.Plan({"a": one, "b": two})
    dense = pramble.Mechanism.from_matrix(np.kron(one.matrix, two.matrix))
    sides = [pramble.central_guarantee(m, rows=5000, delta=1e-6).epsilon for m in (plan, dense)]
    assert sides[0] == pytest.approx(sides[1], rel=3e-4)
    check_against_brute_force(plan, 3, np.array([0.0, 0.4]), matrix=dense.matrix)


def halves():
    one, two = pramble.randomized_response(2, 1.0), pramble.randomized_response(2, 2.0)
    branches = [
        pramble.Branch(Fraction(1, 4), {"a": one}),
        pramble.Branch(Fraction(3, 4), {"b": two}),
    ]
    matrix = [[*(one.matrix[i] / 4), *(two.matrix[j] * 3 / 4)] for i in (0, 1) for j in (0, 1)]
    return pramble.Plan(branches=branches), np.array(matrix)


def test_sampled_branches_against_brute_force():
    plan, matrix = halves()
    check_against_brute_force(plan, 4, np.array([0.0, 0.3, 1.0]), matrix=matrix)


def test_branches_of_the_same_columns_look_alike_to_the_reader():
    one, two = pramble.randomized_response(2, 0.5), pramble.randomized_response(2, 2.0)
    half = Fraction(1, 2)
    plan = pramble.Plan(
        branches=[pramble.Branch(half, {"a": one}), pramble.Branch(half, {"a": two})]
    )
    mixed = (one.matrix + two.matrix) / 2
    check_against_brute_force(plan, 5, np.array([0.0, 0.3, 1.0]), matrix=mixed)


def test_many_columns_have_a_bound_by_branch():
    ten = {f"c{i}": pramble.randomized_response(10, 0.4) for i in range(10)}
    found = pramble.central_guarantee(ten, rows=10**6, delta=1e-6)
    assert found.method == "corners"
    assert 0 < found.lower < found.epsilon < 0.1 * found.alpha


def test_rows_of_a_person():
    mechanism = pramble.randomized_response(10, 2.0)
    one = pramble.central_guarantee(mechanism, rows=10**5, delta=1e-7)
    three = pramble.central_guarantee(mechanism, rows=10**5, delta=1e-6, rows_per_person=3)
    least = sum(math.exp(i * three.epsilon / 3) for i in range(3))
    assert three.curve(three.epsilon) <= 1e-6
    assert least * one.curve(three.epsilon / 3) <= 1e-6
    assert one.epsilon < three.epsilon < 3.3 * one.epsilon


def test_delta_of_a_given_epsilon():
    mechanism = pramble.randomized_response(10, 2.0)
    there = pramble.central_guarantee(mechanism, rows=10**5, delta=1e-6)
    back = pramble.central_guarantee(mechanism, rows=10**5, epsilon=there.epsilon)
    assert 0.95e-6 < back.delta <= 1e-6
    assert back.lower < back.epsilon
    assert pramble.central_guarantee(mechanism, rows=10**5, epsilon=2.5).delta == 0


def test_no_probability_left_is_the_local_promise():
    found = pramble.central_guarantee(pramble.randomized_response(5, 1.5), rows=100, delta=0.0)
    assert (found.epsilon, found.method) == (found.alpha, "local")


def test_an_impossible_output_leaves_its_mass():
    """A value that is never released for others tells with certainty, however large the crowd."""
    mechanism = pramble.Mechanism.from_matrix([[0.5, 0.499, 0.001], [0.5, 0.5, 0.0]])
    found = pramble.central_guarantee(mechanism, rows=10**5, delta=1e-6)
    assert math.isinf(found.epsilon)
    assert "Nothing is proven" in found.sentence()
    wide = pramble.central_guarantee(mechanism, rows=10**5, delta=2e-3)
    assert wide.lower <= wide.epsilon < 1


def test_rows_that_are_all_alike_promise_everything():
    found = pramble.central_guarantee(
        pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5]]), rows=10, delta=1e-6
    )
    assert found.epsilon == 0 == found.lower


def test_what_is_asked_must_make_sense():
    m = pramble.randomized_response(3, 1.0)
    for wrong in ({"rows": 0, "delta": 0.1}, {"rows": 5, "delta": 1.0}, {"rows": 5}):
        with pytest.raises(pramble.InvalidInput):
            pramble.central_guarantee(m, **wrong)
    with pytest.raises(pramble.InvalidInput, match="mechanism or a plan"):
        pramble.central_guarantee([m], rows=5, delta=0.1)
    with pytest.raises(pramble.PrivacyError, match="'b' is released as it is"):
        pramble.central_guarantee({"a": m, "b": None}, rows=5, delta=0.1)


def test_a_general_matrix_of_a_hundred_outputs():
    rng = np.random.default_rng(5)
    M = np.where(rng.random((100, 100)) < 0.2, math.exp(2.0), 1.0)
    mechanism = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True))
    found = pramble.central_guarantee(mechanism, rows=10**6, delta=1e-6)
    assert found.method == "blanket"
    assert 0.5 * found.epsilon < found.lower < found.epsilon


def test_an_attack_on_blocks_together_is_an_attack_on_their_product(monkeypatch):
    one, two = pramble.randomized_response(2, 1.0), pramble.randomized_response(3, 0.7)
    monkeypatch.setattr("pramble.privacy.blanket.MOST_ROWS", 5)
    matrix = np.kron(one.matrix, two.matrix)
    plan = pramble.Plan({"a": one, "b": two})
    known, _ = check_against_brute_force(plan, 3, np.array([0.0, 0.4]), matrix=matrix)
    assert known.crowd is None
    assert known.attack(0.0) > evidence_of(one, rows=3).attack(0.0)

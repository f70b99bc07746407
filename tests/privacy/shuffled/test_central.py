"""Central guarantees: never below the truth, never above what is published."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_delta

import pramble

ROUNDING = 1e-13


def check_against_brute_force(plan, rows, epsilons, *, matrix):
    """What is proven is never below the truth, and no attack above it."""
    found = pramble.central_guarantee(plan, rows=rows, delta=1e-3)
    truths = exact_delta(matrix, rows, epsilons)
    for epsilon, truth in zip(epsilons, truths, strict=True):
        assert found.attack(epsilon) - ROUNDING <= truth <= found.curve(epsilon) + ROUNDING


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


def test_arcs_large_and_small_agree():
    small = pramble.central_guarantee(pramble.circle(60, 3.0), rows=10**5, delta=1e-6)
    large = pramble.central_guarantee(pramble.circle(6000, 3.0), rows=10**5, delta=1e-6)
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
    assert 0.95e-6 < there.curve(there.epsilon) <= 1e-6
    assert there.curve(2.5) == 0


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

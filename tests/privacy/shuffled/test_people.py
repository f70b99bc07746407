"""Several rows of a person and two outputs: against all files, and in order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.shuffled.exact import random_matrix, times

import pramble

ROUNDING = 1e-12


def exact_delta_of_person(M, rows, people, epsilons):
    """The largest P(E) − e^ε P'(E) over files that differ in up to so many rows of one person."""
    M = np.asarray(M)
    people = min(people, rows)
    laws = {(): np.zeros((rows + 1,) * M.shape[1])}
    laws[()][(0,) * M.shape[1]] = 1.0

    def law(records):
        if records not in laws:
            laws[records] = times(law(records[:-1]), M[records[-1]])
        return laws[records]

    worst, values = np.zeros(len(epsilons)), range(len(M))
    for others in itertools.combinations_with_replacement(values, rows - people):
        own = itertools.combinations_with_replacement(values, people)
        files = np.array([law(tuple(sorted((*others, *one)))).ravel() for one in own])
        for k, factor in enumerate(np.exp(epsilons)):
            for one in files:
                worst[k] = max(worst[k], np.maximum(one - factor * files, 0).sum(axis=1).max())
    return worst


def exact_fraction_delta(h, low, rows, people, factor):
    """The same of two outputs in rational numbers, over all vertices of all files."""

    def count(chances):
        law = [Fraction(1)]
        for p in chances:
            law = [
                (law[t] * (1 - p) if t < len(law) else 0) + (law[t - 1] * p if t else 0)
                for t in range(len(law) + 1)
            ]
        return law

    worst = Fraction(0)
    for a in range(rows - people + 1):
        others = [h] * a + [low] * (rows - people - a)
        for one, two in itertools.product(range(people + 1), repeat=2):
            p = count([*others, *([h] * one + [low] * (people - one))])
            q = count([*others, *([h] * two + [low] * (people - two))])
            gaps = (x - factor * y for x, y in zip(p, q, strict=True))
            worst = max(worst, sum((g for g in gaps if g > 0), Fraction(0)))
    return worst


def check(M, rows, people, shares=(0.0, 0.3)):
    mechanism = pramble.Mechanism.from_matrix(M)
    known = pramble.central_guarantee(mechanism, rows=rows, delta=1e-3, rows_per_person=people)
    epsilons = min(known.alpha * people, 4.0) * np.array(shares)
    truths = exact_delta_of_person(mechanism.matrix, rows, people, epsilons)
    for epsilon, truth in zip(epsilons, truths, strict=True):
        assert known.attack(epsilon) - ROUNDING <= truth <= known.curve(epsilon) + ROUNDING
        if epsilon and 1e-9 < truth < 1:
            asked = {"rows": rows, "rows_per_person": people}
            tight = pramble.central_guarantee(mechanism, delta=truth * (1 + 1e-9), **asked)
            loose = pramble.central_guarantee(mechanism, delta=truth * (1 - 1e-9), **asked)
            assert tight.lower <= epsilon * (1 + 1e-9) + ROUNDING
            assert loose.epsilon >= epsilon * (1 - 1e-6)
    return known, epsilons, truths


@pytest.mark.parametrize("seed", range(24))
def test_random_matrices_against_all_files_of_a_person(seed):
    rng = np.random.default_rng(seed)
    rows, people = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    check(random_matrix(rng, zeros=seed % 4 == 0), rows, people)


@pytest.mark.parametrize("seed", range(16))
def test_two_outputs_are_exact(seed):
    """Of any matrix with two outputs, with rows between the extremes and with zeros."""
    rng = np.random.default_rng(100 + seed)
    rows, people = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    chances = rng.beta(0.7, 0.7, size=int(rng.integers(2, 5)))
    if seed % 5 == 0:
        chances[0] = 0.0
    known, epsilons, truths = check(np.column_stack([1 - chances, chances]), rows, people)
    for epsilon, truth in zip(epsilons, truths, strict=True):
        if epsilon < known.alpha * min(people, rows):
            assert known.curve(epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-12)
            assert known.attack(epsilon) <= truth + 1e-12


@settings(max_examples=20, deadline=None)
@given(
    high=st.integers(1, 64), low=st.integers(0, 63), rows=st.integers(1, 6),
    people=st.integers(1, 3),
    factor=st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(3), Fraction(12)]),
)  # fmt: skip
def test_two_outputs_in_rational_numbers(high, low, rows, people, factor):
    low = min(low, high - 1)
    h, less = Fraction(high, 64), Fraction(low, 64)
    people = min(people, rows)
    rows_of = [[1 - float(p), float(p)] for p in (h, less)]
    mechanism = pramble.Mechanism.from_matrix(rows_of)
    known = pramble.central_guarantee(mechanism, rows=rows, delta=0.01, rows_per_person=people)
    both = [
        exact_fraction_delta(*pair, rows, people, factor) for pair in ((h, less), (1 - less, 1 - h))
    ]
    truth = float(max(both))
    if math.log(factor) < known.alpha * people:
        assert truth - 1e-12 <= known.curve(math.log(factor)) <= truth * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize(("rows", "people", "alpha"), [(150, 1, 1.0), (150, 7, 1.0), (90, 3, 3.0)])
def test_two_outputs_over_all_others(rows, people, alpha):
    """Every number of others at the larger probability, and their counts by convolution."""
    mechanism = pramble.randomized_response(2, alpha)
    h, low = mechanism.matrix[1, 1], mechanism.matrix[0, 1]
    powers = {}
    for p in (h, low):
        powers[p] = [np.ones(1)]
        for _ in range(rows):
            powers[p].append(np.convolve(powers[p][-1], [1 - p, p]))
    for share in (0.1, 0.4):
        epsilon = alpha * people * share
        truth = 0.0
        for a in range(rows - people + 1):
            one = np.convolve(powers[h][a + people], powers[low][rows - people - a])
            two = np.convolve(powers[h][a], powers[low][rows - a])
            factor = math.exp(epsilon)
            truth = max(truth, np.maximum(one - factor * two, 0).sum(),
                        np.maximum(two - factor * one, 0).sum())  # fmt: skip
        g = pramble.central_guarantee(mechanism, rows=rows, delta=1e-6, rows_per_person=people)
        assert truth * (1 - 1e-9) <= g.curve(epsilon) <= truth * (1 + 1e-7)


@pytest.mark.parametrize(("rows", "people"), [(2000, 1), (2000, 5), (10**5, 20), (10**6, 1)])
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
def test_two_outputs_are_close_in_large_files(rows, people, delta):
    mechanism = pramble.randomized_response(2, 2.0)
    g = pramble.central_guarantee(mechanism, rows=rows, delta=delta, rows_per_person=people)
    assert g.method == "exact"
    assert g.lower < g.epsilon < 1.006 * g.lower


def test_the_reference_of_two_outputs():
    """Two thousand binary responses, as computed directly: .215, where the blanket has .272."""
    g = pramble.central_guarantee(pramble.randomized_response(2, 2.0), rows=2000, delta=1e-6)
    assert 0.2149 < g.lower <= g.epsilon < 0.2165


def test_sixty_and_seventy_rows_of_a_person():
    mechanism = pramble.randomized_response(10, 4.0)
    found = [
        pramble.central_guarantee(mechanism, rows=10**6, delta=1e-6, rows_per_person=k)
        for k in (1, 3, 10, 60, 70)
    ]
    assert [round(g.epsilon, 2) for g in found] == [0.03, 0.10, 0.38, 2.64, 3.15]
    assert all(0.94 * g.epsilon < g.lower < g.epsilon for g in found)


MECHANISMS = {
    "two outputs": pramble.randomized_response(2, 1.5),
    "ten categories": pramble.randomized_response(10, 4.0),
    "skewed": pramble.Mechanism.from_matrix([[0.9, 0.1], [0.995, 0.005], [0.97, 0.03]]),
    "a path": pramble.geometric(5, 1.0),
    "columns": {f"c{i}": pramble.randomized_response(20, 1.0) for i in range(2)},
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_proven_is_in_order(name):
    """More rows of a person never have a smaller ε; more rows in the file or a larger δ never a
    larger one."""

    def proven(rows=20_000, people=3, delta=1e-6):
        return pramble.central_guarantee(
            MECHANISMS[name], rows=rows, delta=delta, rows_per_person=people
        ).epsilon

    near = 1 + 1e-3  # searches end within 1e-4, and cells are whole numbers of rows
    orders = [
        [proven(people=k) for k in (1, 2, 3, 10, 40, 41, 100)],
        [proven(rows=n) for n in (10**6, 20_001, 20_000, 2001, 2000, 300, 202, 201, 200)],
        [proven(delta=d) for d in (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)],
    ]
    for found in orders:
        assert all(a <= b * near for a, b in itertools.pairwise(found)), found


def test_a_person_who_is_the_whole_file():
    g = pramble.central_guarantee(
        pramble.randomized_response(2, 1.0), rows=5, delta=1e-9, rows_per_person=9
    )
    assert g.epsilon == pytest.approx(5.0)


@pytest.mark.parametrize("rows", [[0.0, 2.0**-53], [0.0, 1.0 - 2.0**-53, 1.0]])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-30])
def test_probabilities_next_to_zero_and_one_have_a_guarantee(rows, delta):
    m = pramble.Mechanism.from_matrix([[1 - p, p] for p in rows])
    g = pramble.central_guarantee(m, rows=6, rows_per_person=2, delta=delta)
    assert 0 <= g.lower <= g.epsilon

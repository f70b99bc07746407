"""Promises of several shuffled files: never below the truth, never below an attack."""

import math

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_delta, exact_views_delta

import pramble
from pramble.privacy.shuffled.linear import LinearTest, Rows
from pramble.privacy.shuffled.views import evidence_of

ROUNDING = 1e-12


def random_views(rng):
    """Two or three views of one column, or of two, with random matrices; and their matrices."""
    S, several = int(rng.integers(2, 4)), bool(rng.integers(2))
    plans, matrices = [], []
    for view in range(int(rng.integers(2, 4))):
        T = int(rng.integers(2, 4)) if view < 2 else 2
        M = rng.dirichlet(np.full(T, rng.choice([1.0, 5.0, 30.0])), size=S)
        mechanism = pramble.Mechanism.from_matrix(M, outputs=range(T))
        plans.append({"x": mechanism})
        matrices.append(mechanism.matrix)
    if several:
        m = pramble.randomized_response(2, float(rng.uniform(0.2, 2)))
        plans = [{"x": m}, {"y": m}, {("x", "y"): pramble.product([m, m])}]
        matrices = [np.repeat(m.matrix, 2, axis=0), np.tile(m.matrix, (2, 1))]
        matrices.append(np.kron(m.matrix, m.matrix))
    return pramble.Views(plans), matrices


def check_views(seed):
    rng = np.random.default_rng(seed)
    views, matrices = random_views(rng)
    rows = int(rng.integers(2, 5))
    known = evidence_of(views, rows=rows)
    top = min(known.alpha, 3.0)
    epsilons = top * np.array([0.0, rng.uniform(0, 0.4), rng.uniform(0.4, 0.95)])
    exact = exact_views_delta(matrices, rows, epsilons)
    for epsilon, truth in zip(epsilons, exact, strict=True):
        assert known.delta(epsilon)[0] >= truth - ROUNDING
        assert known.attack(epsilon) <= truth + ROUNDING


@pytest.mark.parametrize("seed", range(6))
def test_views_against_brute_force(seed):
    check_views(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_views_against_brute_force(part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        check_views(seed)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("S", [3, 40])
def test_the_test_is_nearly_as_good_as_the_proof(S, alpha):
    m = pramble.randomized_response(S, alpha)
    views = pramble.Views([{f"c{i}": m} for i in range(8)])
    g = pramble.central_guarantee(views, rows=200_000, delta=1e-6)
    assert g.method == "curves"
    assert 0.97 * g.epsilon < g.lower <= g.epsilon


def test_equal_views_are_the_composition_of_their_curves():
    m = pramble.randomized_response(10, 3.0)
    one = pramble.central_guarantee(m, rows=10**5, delta=1e-8)
    four = pramble.central_guarantee(
        pramble.Views([{f"c{i}": m} for i in range(4)]), rows=10**5, delta=1e-8
    )
    assert 1.7 * one.epsilon < four.epsilon < 2.3 * one.epsilon
    assert four.curve(four.epsilon) <= 1e-8 * (1 + 1e-6)


def test_what_is_spent_besides_is_part_of_it():
    m = pramble.randomized_response(10, 3.0)
    alone = pramble.central_guarantee(m, rows=10**5, delta=1e-6)
    more = pramble.central_guarantee(m, rows=10**5, delta=1e-6, besides=0.02)
    assert alone.epsilon < more.epsilon <= (alone.epsilon + 0.02) * (1 + 1e-3)
    assert more.alpha >= 3.02 - 1e-9
    nothing = pramble.central_guarantee(m, rows=10**5, delta=0.0, besides=0.02)
    assert nothing.epsilon == pytest.approx(more.alpha)


def test_rows_of_a_person_are_in_every_view():
    m = pramble.randomized_response(5, 2.0)
    views = pramble.Views([{"a": m}, {"b": m}])
    one = pramble.central_guarantee(views, rows=10**5, delta=1e-6)
    two = pramble.central_guarantee(views, rows=10**5, delta=1e-6, rows_per_person=2)
    assert 2 * one.epsilon < two.epsilon < 2.2 * one.epsilon


def test_a_view_without_a_finite_promise_is_never_promised():
    sharp = pramble.Mechanism.from_matrix(np.eye(3))
    m = pramble.randomized_response(3, 1.0)
    g = pramble.central_guarantee(pramble.Views([{"a": m}, {"b": sharp}]), rows=1000, delta=1e-6)
    assert math.isinf(g.epsilon)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_linear_test_against_all_counts(rows):
    """P(T + ξ > c) from all outputs of all rows."""
    x, other, crowd = [0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]
    test = LinearTest([Rows(*map(np.array, (x, other, crowd)))], rows=rows)
    u, spread = test.scores[0], 0.01 * math.sqrt(test.moments.variance)
    cells = np.array(np.meshgrid(*[range(3)] * rows, indexing="ij")).reshape(rows, -1)
    total = u[cells].sum(axis=0)
    for side, own in (("x", x), ("other", other)):
        chance = np.array(own)[cells[0]] * np.prod(np.array(crowd)[cells[1:]], axis=0)
        for cut in (-2.0, 0.3, 1.7):
            exact = sum(
                p * 0.5 * math.erfc((cut - t) / (spread * math.sqrt(2)))
                for p, t in zip(chance, total, strict=True)
            )
            low, high = test.beyond(cut, side=side)
            assert low <= exact + 1e-13
            assert high >= exact - 1e-13
            assert high - low < 1e-6


def test_a_prior_beside_one_file_is_added_and_no_curve_is_asked_for(monkeypatch):
    import pramble.privacy.shuffled.views as module

    def never(*_, **__):
        raise AssertionError("the curve of a large matrix takes minutes")

    monkeypatch.setattr(module, "dominating", never)
    off = np.linspace(1.0, 1.2, 40)
    M = np.repeat(off[:, None], 40, axis=1)
    np.fill_diagonal(M, math.exp(3.0))
    m = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True))
    alone = pramble.central_guarantee(m, rows=50_000, delta=1e-6)
    known = evidence_of(m, rows=50_000, besides=0.03)
    epsilon, method = known.epsilon(lambda _: 1e-6)
    assert (epsilon, method) == (pytest.approx(alone.epsilon + 0.03), alone.method)
    assert known.delta(epsilon)[0] <= 1e-6
    assert known.delta(0.02) == (1.0, "none")


@pytest.mark.parametrize("seed", range(5))
def test_what_was_spent_besides_one_file_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    M = rng.dirichlet(np.full(3, 5.0), size=3)
    m, c, rows = pramble.Mechanism.from_matrix(M), float(rng.uniform(0.05, 0.5)), 4
    known, chance = evidence_of(m, rows=rows, besides=c), 1 / (1 + math.exp(-c))
    epsilons = np.linspace(c + 0.01, c + 1.0, 4)
    high, low = (exact_delta(m.matrix, rows, epsilons - sign * c) for sign in (1, -1))
    for epsilon, truth in zip(epsilons, chance * high + (1 - chance) * low, strict=True):
        proven = known.delta(epsilon)[0]
        assert proven >= truth - ROUNDING
        assert proven <= evidence_of(m, rows=rows).delta(epsilon - c)[0] * (1 + 1e-9)


def test_pairs_that_are_alike_are_asked_once(monkeypatch):
    import pramble.privacy.shuffled.search as module

    asked = []
    true = module.worst_pair
    monkeypatch.setattr(
        module, "worst_pair", lambda *a, **k: asked.append(k["known"]) or true(*a, **k)
    )
    both = pramble.product([pramble.randomized_response(5, 1.0)] * 2)
    known = evidence_of(pramble.Mechanism.from_matrix(both.matrix), rows=10_000)
    for epsilon in (0.0, 0.01, 0.05):
        asked.clear()
        known.delta(epsilon)
        assert len(asked) <= 2

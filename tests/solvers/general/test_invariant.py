"""Invariant designs: margins exact to the last unit, and never worse than the closed forms."""

from fractions import Fraction

import numpy as np
import pytest

import pramble
from pramble.mechanisms.base import TOTAL
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.invariant import balance_margins, invariant_bound, keep_or_draw_matrix
from pramble.solvers.general.invariant_search import Goal, Vertices, ratio_information
from pramble.solvers.general.sets import matrix_information
from pramble_study.paper import scenario

SCENARIO_I = scenario("I")


def units_off(prior, mechanism):
    """The largest error of a released share, in weight units, exactly."""
    shares = [Fraction(value) for value in prior.tolist()]
    weights = mechanism.weights.tolist()
    return max(
        abs(sum(p * row[z] for p, row in zip(shares, weights, strict=True)) - TOTAL * shares[z])
        for z in range(len(shares))
    )


PRIORS = [
    SCENARIO_I,
    np.full(7, 1 / 7),
    np.array([0.6, 0.4]),
    np.array([0.0, 0.5, 0.3, 0.2]),
    np.random.default_rng(0).dirichlet(np.ones(12)),
]


@pytest.mark.parametrize("prior", PRIORS, ids=len)
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_margins_are_right_to_the_last_unit(prior, alpha):
    d = pramble.design(prior, alpha, family="general", invariant=True)
    assert units_off(d.prior, d.mechanism) <= 1
    assert d.certificate.satisfies(alpha)
    assert d.value <= d.bound
    without = d.details["information_without_invariance"]
    assert d.bound <= without * (1 + 1e-12)
    assert d.details["invariance_cost"] == pytest.approx(without - d.value)
    positive = prior[prior > 0]
    assert d.value >= matrix_information(positive, keep_or_draw_matrix(positive, alpha)) * (
        1 - 1e-9
    )


def test_better_than_bayes_by_far():
    best = pramble.design(SCENARIO_I, 1.0, family="general", outputs="free").mechanism.matrix
    released = SCENARIO_I @ best
    bayes = best / released @ (best.T * SCENARIO_I)
    assert bayes.sum(axis=1) == pytest.approx(np.ones(10))
    d = pramble.design(SCENARIO_I, 1.0, family="general", invariant=True)
    assert d.value > 5 * matrix_information(SCENARIO_I, bayes)


def test_flat_priors_lose_nothing():
    d = pramble.design(np.full(10, 0.1), 1.0, family="general", invariant=True)
    assert d.gap <= 1e-6


def test_estimation_may_be_invariant_too():
    d = pramble.design(SCENARIO_I, 1.0, family="general", objective="estimation", invariant=True)
    assert units_off(d.prior, d.mechanism) <= 1
    assert np.isfinite(d.value)
    assert d.bound <= d.value
    informative = pramble.design(SCENARIO_I, 1.0, family="general", invariant=True)
    assert d.value < pramble.estimation_variance(SCENARIO_I, informative.mechanism)


def test_the_closed_form_is_private_and_invariant():
    matrix = keep_or_draw_matrix(SCENARIO_I, 1.0)
    assert SCENARIO_I @ matrix == pytest.approx(SCENARIO_I, abs=1e-15)
    assert (matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(np.e)


def test_settling_mends_margins_that_are_off():
    weights = np.array([[TOTAL // 2 + 40, TOTAL // 2 - 40], [TOTAL // 2, TOTAL // 2]])
    after = balance_margins(weights, np.array([0.5, 0.5]))
    assert (after.sum(axis=1) == TOTAL).all()
    assert abs(int(after[:, 0].sum()) - TOTAL) <= 2


@pytest.mark.parametrize(
    ("prior", "least", "most"),
    [([0.5, 0.3, 0.2], 0.11094, 0.1142), ([0.55, 0.25, 0.15, 0.05], 0.10488, 0.10664)],
)
def test_the_best_vertex_is_found_and_the_bound_is_worth_having(prior, least, most):
    d = pramble.design(prior, 1.0, family="general", invariant=True)
    assert least <= d.value <= d.bound <= most


def test_many_categories_come_near_the_bound():
    prior = np.random.default_rng(3).dirichlet(np.ones(20))
    d = pramble.design(prior, 1.0, family="general", invariant=True, effort=5.0)
    assert d.gap < 0.05
    assert units_off(d.prior, d.mechanism) <= 1


def test_two_categories_are_solved():
    d = pramble.design([0.6, 0.4], 1.0, family="general", invariant=True)
    assert d.stopped == "tolerance"
    grid = [
        matrix_information(d.prior, np.array([[1 - t, t], [1.5 * t, 1 - 1.5 * t]]))
        for t in np.linspace(0.01, 0.66, 5000)
        if max((1 - t) / (1.5 * t), 1.5 * t / (1 - t), (1 - 1.5 * t) / t, t / (1 - 1.5 * t)) < np.e
    ]
    assert d.value == pytest.approx(max(grid), rel=5e-3)
    assert d.value >= max(grid) * (1 - 1e-9)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 3.0, 8.0])
def test_the_bound_of_the_masses_holds_for_every_invariant_matrix(alpha):
    rng = np.random.default_rng(5)
    for size in (2, 3, 5):
        prior = rng.dirichlet(np.ones(size) * 0.7)
        vertices = Vertices(prior, alpha)
        bound = invariant_bound(prior, alpha)
        for _ in range(30):
            ratios = vertices.vertex_along(rng.standard_normal((size, size)), SearchBudget(1e-6))
            assert ratio_information(prior, ratios) <= bound
            assert ratios @ prior == pytest.approx(np.ones(size), abs=1e-12)
            assert prior @ ratios == pytest.approx(np.ones(size), abs=1e-12)
            spread = np.log(ratios.max(axis=0) / ratios.min(axis=0)).max()
            assert spread <= alpha * (1 + 1e-6)


def test_a_heavy_output_tells_little():
    prior = np.array([0.9, *np.full(9, 0.1 / 9)])
    d = pramble.design(prior, 1.0, family="general", invariant=True)
    assert d.bound < 0.4 * d.details["information_without_invariance"]
    assert d.notes[-1].startswith("The gap is")


@pytest.mark.parametrize("part", ["invariant.best_invariant", "invariant_search.Vertices"])
def test_ctrl_c_before_the_climb_returns_the_best_so_far(part, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"pramble.solvers.general.{part}", stop)
    d = pramble.design([0.5, 0.3, 0.2], 1.0, family="general", invariant=True)
    assert d.stopped == "interrupted"
    assert units_off(d.prior, d.mechanism) <= 1
    assert d.certificate.satisfies(1.0)


def test_a_start_that_loses_a_query_is_left():
    prior = np.random.default_rng(0).dirichlet(np.ones(3))
    vertices = Vertices(prior, 1.0)
    lost = Goal(lambda ratios: -np.inf if np.allclose(ratios, first) else 1.0, lambda _: away)
    toward, away = np.eye(3), -np.eye(3)
    first = vertices.vertex_along(toward, SearchBudget(1e-6))
    assert vertices.climb(toward, lost, SearchBudget(1e-6))[1] == 1.0

"""Designs for estimation: the relaxed optimum, its bound, and square matrices."""

import numpy as np
import pytest

import pramble
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.outputs import fewer_outputs, float_variance
from pramble.solvers.general.sets import all_sets, block_designs
from pramble.solvers.general.squares import SquareSearch
from pramble.solvers.general.variance import Variance, optimal_mixture, query_variance
from pramble.solvers.general.variance_bounds import spread_bound
from pramble_study.paper import scenario

SCENARIO_I = scenario("I")


def estimation(prior, alpha, **options):
    return pramble.design(prior, alpha, family="general", objective="estimation", **options)


# "The mathematics, checked", section 3: the A-optimal values of scenario I.
@pytest.mark.parametrize(("alpha", "optimum", "square"), [(0.5, 126.60, 170), (1.0, 29.43, 40.5)])
def test_scenario_one(alpha, optimum, square):
    free = estimation(SCENARIO_I, alpha, outputs="free")
    assert free.value == pytest.approx(optimum, rel=5e-4)
    assert free.bound <= free.value <= free.bound * (1 + 1e-3)
    assert free.mechanism.outputs[:2] == ("z1", "z2")
    assert free.certificate.satisfies(alpha)
    same = estimation(SCENARIO_I, alpha)
    assert same.mechanism.shape == (10, 10)
    assert free.bound * (1 - 1e-3) <= same.value < square
    assert same.bound == pytest.approx(free.bound, rel=1e-3)
    assert same.value == pytest.approx(pramble.estimation_variance(SCENARIO_I, same.mechanism))
    assert same.certificate.satisfies(alpha)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("size", [9, 10, 13])
def test_the_relaxed_gap_closes(size, alpha):
    prior = 1 / np.arange(1, size + 1)
    d = estimation(prior / prior.sum(), alpha, outputs="free")
    assert d.gap < 1e-3


@pytest.mark.parametrize("size", [7, 11, 13, 21, 31])
def test_flat_priors_get_the_block_design(size):
    prior = np.full(size, 1 / size)
    alpha = 0.5
    best = min(SquareSearch(prior, alpha).evaluate(sets).variance for sets in block_designs(size))
    d = estimation(prior, alpha)
    assert d.value <= best * (1 + 1e-9)
    assert d.bound <= d.value


def test_sixty_categories_beat_randomised_response_fourfold():
    prior = np.arange(1, 61) ** -0.5
    prior /= prior.sum()
    d = estimation(prior, 0.5)
    plain = pramble.estimation_variance(prior, pramble.randomized_response(60, 0.5))
    assert plain > 4 * d.value
    assert d.bound <= d.value
    assert d.certificate.satisfies(0.5)


@pytest.mark.parametrize("seed", range(4))
def test_never_worse_than_randomised_response(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(6))
    alpha = float(rng.uniform(0.3, 5))
    d = estimation(prior, alpha)
    plain = pramble.estimation_variance(prior, pramble.randomized_response(6, alpha))
    assert d.value <= plain * (1 + 1e-9)
    assert d.bound <= d.value
    assert d.certificate.satisfies(alpha)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_no_mixture_of_all_sets_beats_either_bound(alpha):
    rng = np.random.default_rng(3)
    prior = rng.dirichlet(np.ones(7))
    workload = rng.normal(size=(4, 7))
    patterns = 1 + np.expm1(alpha) * all_sets(7)
    for queries in (None, workload):
        best = optimal_mixture(
            patterns, Variance(prior, queries), tolerance=1e-6, budget=SearchBudget(1e-6)
        ).variance
        assert spread_bound(prior, alpha, queries) <= best * (1 + 1e-9)
        d = estimation(prior, alpha, workload=queries, outputs="free")
        assert d.bound <= best * (1 + 1e-9)
        assert d.value == pytest.approx(best, rel=2e-3)


def test_a_workload_gets_its_own_design():
    ranges = np.tril(np.ones((10, 10)))
    d = estimation(SCENARIO_I, 1.0, workload=ranges)
    other = estimation(SCENARIO_I, 1.0)
    assert d.value < query_variance(SCENARIO_I, other.mechanism, ranges)
    assert d.value == pytest.approx(query_variance(SCENARIO_I, d.mechanism, ranges))
    inverse = np.linalg.inv(d.mechanism.matrix)
    released = SCENARIO_I @ d.mechanism.matrix
    covariance = inverse.T @ (np.diag(released) - np.outer(released, released)) @ inverse
    assert d.value == pytest.approx(np.trace(ranges @ covariance @ ranges.T))


@pytest.mark.parametrize("outputs", ["same", "free"])
def test_ctrl_c_while_relaxing_returns_the_best_so_far(outputs):
    def stop(*_):
        raise KeyboardInterrupt

    d = estimation(SCENARIO_I, 1.0, outputs=outputs, progress=stop)
    assert d.stopped == "interrupted"
    assert d.bound <= d.value < 45
    assert d.certificate.satisfies(1.0)


def test_ctrl_c_returns_the_best_so_far(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pramble.solvers.general.squares.SquareSearch.improve", stop)
    d = estimation(np.full(7, 1 / 7), 1.0)
    assert d.stopped == "interrupted"
    assert d.certificate.satisfies(1.0)


@pytest.mark.parametrize("objective", ["information", "estimation"])
@pytest.mark.parametrize("alpha", [6.0, 30.0])
@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        ("same", ("a", "b", "c")),
        ("free", ("z1", "z2", "z3")),
        (5, (0, 1, 2, 3, 4)),
        (["u", "v", "w"], ("u", "v", "w")),
    ],
)
def test_outputs_are_heeded_when_randomised_response_wins(objective, alpha, outputs, names):
    options = {"family": "general", "objective": objective, "categories": ["a", "b", "c"]}
    d = pramble.design([0.5, 0.3, 0.2], alpha, outputs=outputs, **options)
    assert d.mechanism.outputs == names
    plain = pramble.design([0.5, 0.3, 0.2], alpha, **options)
    assert d.value == pytest.approx(plain.value, rel=1e-9)


def test_too_few_outputs_are_refused():
    with pytest.raises(pramble.InvalidInput, match="at least 3 outputs"):
        estimation([0.5, 0.3, 0.2], 1.0, outputs=2)


QUERIES = [[1.0, 0, 0, 0, 0], [1.0, -1, 0, 0, 0], [1.0, 2, 3, 4, 5], [0.2, 0.2, 0.2, 0, 0]]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("prior", [[0.4, 0.3, 0.15, 0.1, 0.05], [0.2] * 5])
def test_one_query_needs_only_itself(query, alpha, prior):
    """Invertible matrices cost twice as much as the few columns that one query needs."""
    workload = np.array([query])
    free = estimation(prior, alpha, workload=workload, outputs="free")
    assert free.value <= free.bound * (1 + 1e-3)
    same = estimation(prior, alpha, workload=workload)
    assert free.bound <= same.value <= free.bound * 1.05
    assert same.mechanism.outputs == same.mechanism.categories
    two = estimation(prior, alpha, workload=workload, outputs=["no", "yes"])
    assert two.mechanism.shape == (5, 2)
    assert free.bound <= two.value < np.inf
    m = np.asarray(two.mechanism.matrix)
    slope = np.ptp(query) / np.ptp(m[:, 1])
    said = np.asarray(prior) @ m[:, 1]
    assert two.value == pytest.approx(slope**2 * said * (1 - said), rel=1e-9)
    assert "variance of the queries" in repr(two)
    assert any("rank 2 of 5" in note for note in two.notes)
    assert two.certificate.satisfies(alpha)


def test_many_categories_and_one_query():
    prior = np.arange(1, 201) ** -1.0
    prior /= prior.sum()
    query = (np.arange(200) < 20).astype(float)[None]
    d = estimation(prior, 1.0, workload=query)
    share = query[0] @ prior
    keep = np.e / (1 + np.e)
    said = share * keep + (1 - share) * (1 - keep)
    assert d.value == pytest.approx(said * (1 - said) / (2 * keep - 1) ** 2, rel=1e-6)


def test_a_rare_category_does_not_spoil_the_bound():
    """The prices of the bound had not settled when the variance had."""
    d = estimation(np.array([0.9, 0.1, 1e-6]) / 1.000001, 6.0)
    assert d.gap < 1e-4


@pytest.mark.parametrize("size", [3, 5])
def test_outputs_that_carry_nothing_more_go_without_loss(size):
    sets = all_sets(size)
    columns = (np.where(sets, np.e, 1.0) * (1 + sets.sum(axis=1, keepdims=True))).T
    matrix = columns / columns.sum(axis=1, keepdims=True)
    prior, queries = np.random.default_rng(size).dirichlet(np.ones(size)), np.eye(size)
    most = size * (size + 1) // 2
    fewer = fewer_outputs(matrix, prior, queries, most=most)
    assert fewer.shape[1] <= most
    assert fewer.sum(axis=1) == pytest.approx(np.ones(size), abs=1e-13)
    assert float_variance(fewer, prior, queries) == pytest.approx(
        float_variance(matrix, prior, queries)
    )

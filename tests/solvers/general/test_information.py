"""The best of all matrices: references, bounds, interruptions and outputs."""

import numpy as np
import pytest

import pramble
from pramble.solvers.general.information import merge_light
from pramble.solvers.general.sets import matrix_information
from pramble_study.paper import scenario

SCENARIO_I, SCENARIO_II = scenario("I"), scenario("II")


# Reference optima of "The mathematics, checked", section 3, and the same runs to nine digits.
REFERENCES = [
    (SCENARIO_I, 0.5, 0.031135984),
    (SCENARIO_I, 1.0, 0.123271213),
    (SCENARIO_I, 1.5, 0.272394278),
    (SCENARIO_I, 2.0, 0.467711647),
    (SCENARIO_I, 4.0, 1.380600247),
    (SCENARIO_II, 0.5, 0.031116858),
    (SCENARIO_II, 1.0, 0.123280665),
    (SCENARIO_II, 1.5, 0.270766101),
    (SCENARIO_II, 2.0, 0.461188710),
    (np.full(10, 0.1), 0.5, 0.031102376),
    (np.full(10, 0.1), 1.0, 0.122366304),
    (np.full(10, 0.1), 2.0, 0.474356298),
]


@pytest.mark.parametrize(("prior", "alpha", "optimum"), REFERENCES)
def test_reference_optima(prior, alpha, optimum):
    d = pramble.design(prior, alpha, family="general")
    assert d.value == pytest.approx(optimum, rel=1e-6)
    assert d.gap <= 1e-6
    assert d.stopped == "tolerance"
    assert d.certificate.satisfies(alpha)
    assert d.mechanism.shape == (10, 10)
    assert d.mechanism.outputs == d.mechanism.categories


def test_impossible_categories_are_allowed():
    prior = np.array([0.5, 0.0, 0.3, 0.2])
    d = pramble.design(prior, 1.0, family="general")
    smaller = pramble.design(prior[prior > 0], 1.0, family="general")
    assert d.value == pytest.approx(smaller.value, rel=1e-6)
    assert d.certificate.satisfies(1.0)


@pytest.mark.parametrize("alpha", [1e-3, 12.0, 24.0, 40.0])
def test_extreme_alphas(alpha):
    d = pramble.design(SCENARIO_I, alpha, family="general", tolerance=1e-5)
    assert d.certificate.satisfies(alpha)
    assert d.value <= d.bound <= min(pramble.information_bound(alpha), pramble.entropy(SCENARIO_I))
    assert d.gap <= 1e-5


def test_a_lone_possible_category_carries_nothing():
    d = pramble.design([1.0, 0.0, 0.0], 1.0, family="general")
    assert d.value == pytest.approx(0.0, abs=1e-12)
    assert d.certificate.satisfies(1.0)


def test_labels_keep_as_many_values_as_any_naming_of_the_columns():
    d = pramble.design(SCENARIO_I, 4.0, family="general")
    rng = np.random.default_rng(0)
    others = [
        SCENARIO_I @ np.diagonal(d.mechanism.matrix[:, rng.permutation(10)]) for _ in range(300)
    ]
    assert d.unchanged >= max(others)


def test_free_outputs_have_generated_labels():
    d = pramble.design(SCENARIO_I, 1.0, family="general", outputs="free")
    assert d.mechanism.outputs == ("z1", "z2", "z3")
    assert d.value == pytest.approx(0.123271213, rel=1e-6)
    with pytest.raises(pramble.InvalidInput, match="needs 3 outputs"):
        pramble.design(SCENARIO_I, 1.0, family="general", outputs=2)


def test_ctrl_c_returns_the_best_so_far():
    prior = np.random.default_rng(0).dirichlet(np.ones(30))
    calls = []

    def stop(progress):
        calls.append((progress.figures["value"], progress.figures["bound"]))
        if len(calls) == 5:
            raise KeyboardInterrupt

    d = pramble.design(prior, 2.0, family="general", progress=stop)
    assert d.stopped == "interrupted"
    assert d.certificate.satisfies(2.0)
    assert d.gap == pytest.approx((calls[-1][1] - calls[-1][0]) / calls[-1][0], rel=1e-3)
    values, bounds = zip(*calls, strict=True)
    assert (np.diff(values) >= -1e-12).all()
    assert (np.diff(bounds) <= 0).all()


def test_ctrl_c_while_looking_for_a_matrix_of_less_variance_returns_the_best(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pramble.solvers.general.information.least_variance_square", stop)
    d = pramble.design(SCENARIO_I, 2.0, family="general")
    assert d.stopped == "interrupted"
    assert d.gap <= 1e-6


def test_a_time_limit_returns_the_gap_it_has():
    prior = np.random.default_rng(0).dirichlet(np.ones(60))
    d = pramble.design(prior, 2.0, family="general", time_limit=1e-6)
    assert d.stopped == "time limit"
    assert 0 < d.gap < 0.1
    assert d.certificate.satisfies(2.0)


def test_a_hundred_thousand_categories():
    S = 100_000
    prior = np.arange(1, S + 1) ** -0.5
    d = pramble.design(prior / prior.sum(), 1.0, family="general", tolerance=1e-6)
    assert d.gap < 1e-6
    assert d.certificate.satisfies(1.0)
    assert d.mechanism.shape == (S, S)
    assert 0 < d.unchanged < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_hundred_categories(alpha, power):
    prior = np.arange(1, 101) ** -power
    d = pramble.design(prior / prior.sum(), alpha, family="general")
    assert d.gap <= 1e-6
    assert d.bound <= pramble.information_bound(alpha)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_thousand_categories(alpha, power):
    prior = np.arange(1, 1001) ** -power
    d = pramble.design(prior / prior.sum(), alpha, family="general", tolerance=1e-4)
    assert d.gap <= 1e-4
    assert d.certificate.satisfies(alpha)


def test_near_empty_columns_are_merged_before_rounding():
    prior = SCENARIO_I
    full = pramble.design(prior, 1.0, family="general", outputs="free").mechanism.matrix
    light = 1e-14 * np.where(np.arange(10) < 3, np.e, 1.0)
    matrix = np.column_stack([full * (1 - light[:, None]), light])
    plain, merged = (
        pramble.mutual_information(prior, pramble.Mechanism.from_matrix(one, alpha=1.0))
        for one in (matrix, merge_light(prior, matrix, 1e-12))
    )
    best = pramble.mutual_information(prior, pramble.Mechanism.from_matrix(full))
    assert plain < best * (1 - 1e-5)
    assert merged >= best * (1 - 1e-8)


def test_a_design_with_near_empty_columns_keeps_its_tolerance():
    prior = np.random.default_rng(11).dirichlet(np.full(22, 5.0))
    for alpha in (5e-4, 0.05, 14.0):
        d = pramble.design(prior, alpha, family="general")
        assert d.stopped == "tolerance"
        assert d.gap <= 1e-6


def test_merged_columns_lose_what_they_told():
    matrix = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.4, 0.5, 0.1]])
    prior = np.array([0.2, 0.5, 0.3])
    assert merge_light(prior, matrix, 0.0) is matrix
    merged = merge_light(prior, matrix, 0.2)
    assert merged.sum(axis=1) == pytest.approx(np.ones(3))
    options = [matrix[:, [0, 1]] + matrix[:, [2]] * pick for pick in ([1, 0], [0, 1])]
    assert matrix_information(prior, merged) == max(matrix_information(prior, o) for o in options)


@pytest.mark.parametrize("family", ["uniform", "general"])
def test_the_rank_is_always_told(family):
    d = pramble.design(SCENARIO_I, 0.01, family=family, categories=list("abcdefghij"))
    assert d.details["rank"] == np.linalg.matrix_rank(d.mechanism.matrix, tol=1e-14)
    assert (d.details["rank"] < 10) == any("rank" in note for note in d.notes)
    assert (d.details["rank"] < 10) == ("  rank  " in repr(d))
    for group in d.details["merged"]:
        rows = d.mechanism.matrix[[ord(label) - ord("a") for label in group]]
        assert (rows == rows[0]).all()


def test_merged_categories_are_named():
    d = pramble.design(SCENARIO_I, 0.01, family="general", categories=list("abcdefghij"))
    assert d.details["rank"] == 2
    assert sorted(label for group in d.details["merged"] for label in group) == list("abcdefghij")
    assert "released alike: " in d.notes[0]

"""Column generation: against the whole linear programme, and what any prices prove."""

import numpy as np
import pytest
from scipy.optimize import linprog

import pramble
from pramble.paper import scenario
from pramble.solvers.general.columns.generation import generate
from pramble.solvers.general.columns.mixtures import best_mixture, first_sets, proven_bound
from pramble.solvers.general.patterns import Gain, all_sets
from pramble.solvers.watch import Watch

SCENARIO_I = scenario("I")


def enumerated(prior, alpha):
    """The optimum of the linear programme over all 2^S columns."""
    sets = all_sets(len(prior))
    gain = Gain(alpha)
    solved = linprog(
        -gain(sets @ prior) / np.exp(alpha),
        A_eq=(1 + gain.a1 * sets.T) / np.exp(alpha),
        b_eq=np.full(len(prior), np.exp(-alpha)),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.status == 0
    return -solved.fun * np.exp(alpha)


@pytest.mark.parametrize("seed", range(10))
def test_ten_priors_equal_the_programme_over_all_columns(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(10, rng.choice([0.3, 1.0, 5.0])))
    alpha = float(rng.choice([0.3, 0.5, 1.0, 2.0, 4.0]))
    d = pramble.design(prior, alpha, family="general")
    truth = enumerated(prior, alpha)
    assert d.value == pytest.approx(truth, rel=1e-6)
    assert d.bound >= truth * (1 - 1e-9)
    assert d.gap <= 1e-6
    assert d.certificate.satisfies(alpha)


def test_any_prices_prove_a_bound():
    rng = np.random.default_rng(0)
    for _ in range(20):
        prior = rng.dirichlet(np.ones(8))
        alpha = float(rng.uniform(0.2, 3))
        truth = enumerated(prior, alpha)
        prices = truth * prior * rng.uniform(-0.5, 2, 8)
        assert proven_bound(prior, alpha, prices, slack=0.0) >= truth


def test_merged_categories_still_prove_a_bound_for_all():
    prior = np.arange(1, 1001) ** -1.0
    prior /= prior.sum()
    best = best_mixture(prior, 2.0, Watch(1e-4))
    assert best.value <= best.bound <= best.value * (1 + 1e-4)
    assert best.sets.shape[1] == 1000


def test_a_bad_start_is_mended_by_the_empty_set():
    mixture = generate(SCENARIO_I, 1.0, start=first_sets(SCENARIO_I, 1.0)[:1], watch=Watch(1e-6))
    assert mixture.value == pytest.approx(0.123271213, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_forty_categories_close_the_gap_under_the_universal_bound(alpha, power):
    prior = np.arange(1, 41) ** -power
    prior /= prior.sum()
    best = best_mixture(prior, alpha, Watch(1e-6))
    assert best.value <= best.bound <= best.value * (1 + 1e-6)
    assert best.bound <= pramble.information_bound(alpha)
    assert best.theta.min() > 0
    rows = best.theta @ np.where(best.sets, np.exp(alpha), 1.0)
    assert rows == pytest.approx(np.ones(40), abs=1e-9)


def test_two_categories():
    d = pramble.design([0.7, 0.3], 1.0, family="general")
    assert d.value == pytest.approx(enumerated(np.array([0.7, 0.3]), 1.0), rel=1e-6)

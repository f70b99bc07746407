"""Column generation: against the whole linear programme, and what any prices prove."""

import numpy as np
import pytest
from scipy.optimize import linprog

import pramble
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.generation import bound_by_prices, count_bound, generate, price
from pramble.solvers.general.information import first_sets, informative_mixture, relaxed
from pramble.solvers.general.sets import Gain, all_sets
from pramble_study.paper import scenario

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
        gain = Gain(alpha)
        most = price(prior, gain.a1 * prices, gain, slack=0.0, budget=SearchBudget(1e-9)).bound
        assert bound_by_prices(prices, most, gain)[0] >= truth


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 0.3])
def test_prices_that_are_all_too_high_prove_more_than_their_sum(alpha):
    rng = np.random.default_rng(1)
    for _ in range(10):
        prior = rng.dirichlet(np.ones(7))
        gain = Gain(alpha)
        best = informative_mixture(prior, alpha, SearchBudget(1e-9))
        prices = best.prices + rng.uniform(0, 1) * best.value * prior
        most = price(prior, gain.a1 * prices, gain, slack=0.0, budget=SearchBudget(1e-9)).bound
        bound = bound_by_prices(prices, most, gain)[0]
        assert best.value * (1 - 1e-12) <= bound <= prices.sum()


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 1e-2])
def test_small_alphas_reach_their_limit(alpha):
    """As α falls, I/α² rises to the best Σθ P(1−P)/2 with equal coverage of all categories."""
    rng = np.random.default_rng(4)
    for size, heavy in ((5, 0.0), (8, 0.8), (8, 0.0)):
        prior = rng.dirichlet(np.ones(size)) * (1 - heavy)
        prior[0] += heavy
        members = all_sets(size).T.astype(float)
        masses = prior @ members
        limit = -linprog(
            -masses * (1 - masses) / 2,
            A_eq=np.vstack([np.ones(1 << size), members[1:] - members[0]]),
            b_eq=np.append(1.0, np.zeros(size - 1)),
        ).fun
        d = pramble.design(prior, alpha, family="general")
        assert d.value / alpha**2 == pytest.approx(limit, rel=2 * alpha + 1e-6)
        assert d.gap <= 1e-6
        assert d.value >= pramble.design(prior, alpha).value * (1 - 1e-6)


def test_relaxations_bound_the_optimum():
    rng = np.random.default_rng(2)
    for alpha in (0.1, 1.0, 4.0):
        prior = rng.dirichlet(np.full(9, 0.5))
        truth = enumerated(prior, alpha)
        assert relaxed(prior, alpha, SearchBudget(1e-6)).bound >= truth * (1 - 1e-9)


def test_counting_members_bounds_every_set():
    rng = np.random.default_rng(3)
    sets = all_sets(9)
    for alpha in (1e-3, 1.0, 5.0):
        prior, gain = rng.dirichlet(np.full(9, 2.0)), Gain(alpha)
        prior[0], prior = 0.0, prior / (1 - prior[0])
        prices = gain.slope * prior * rng.uniform(-0.5, 1, 9) + 1e-3 * rng.standard_normal(9)
        truth = (gain(sets @ prior) - sets @ prices).max()
        assert count_bound(prior, prices, gain) >= truth


DOMINATED = np.append(0.9, 0.1 * np.random.default_rng(0).dirichlet(np.ones(199)))
NEARLY_FLAT = 1 + 1e-3 * np.random.default_rng(1).standard_normal(30)


@pytest.mark.parametrize(
    ("prior", "alpha"),
    [(DOMINATED, 2.0), (DOMINATED[:100], 1.0), (DOMINATED, 0.01), (NEARLY_FLAT, 1.0)],
)
def test_dominated_and_nearly_flat_priors_close_the_gap(prior, alpha):
    best = informative_mixture(prior / prior.sum(), alpha, SearchBudget(1e-6, 60.0))
    assert best.stopped == "tolerance"
    assert best.value <= best.bound <= best.value * (1 + 1e-6)


def test_merged_categories_still_prove_a_bound_for_all():
    prior = np.arange(1, 1001) ** -1.0
    prior /= prior.sum()
    best = informative_mixture(prior, 2.0, SearchBudget(1e-4))
    assert best.value <= best.bound <= best.value * (1 + 1e-4)
    assert best.sets.shape[1] == 1000


def test_a_bad_start_is_mended_by_the_empty_set():
    mixture = generate(
        SCENARIO_I, 1.0, start=first_sets(SCENARIO_I, 1.0)[:1], budget=SearchBudget(1e-6)
    )
    assert mixture.value == pytest.approx(0.123271213, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_forty_categories_close_the_gap_under_the_universal_bound(alpha, power):
    prior = np.arange(1, 41) ** -power
    prior /= prior.sum()
    best = informative_mixture(prior, alpha, SearchBudget(1e-6))
    assert best.value <= best.bound <= best.value * (1 + 1e-6)
    assert best.bound <= pramble.information_bound(alpha)
    assert best.theta.min() > 0
    rows = best.theta @ np.where(best.sets, np.exp(alpha), 1.0)
    assert rows == pytest.approx(np.ones(40), abs=1e-9)


def test_two_categories():
    d = pramble.design([0.7, 0.3], 1.0, family="general")
    assert d.value == pytest.approx(enumerated(np.array([0.7, 0.3]), 1.0), rel=1e-6)


def test_groups_of_nearly_equal_masses_close_the_gap():
    noise = 1e-6 * np.random.default_rng(2).standard_normal(30)
    prior = np.repeat([1, 2.0], 15) * (1 + noise)
    best = informative_mixture(prior / prior.sum(), 1.0, SearchBudget(1e-6, 20.0))
    assert best.stopped == "tolerance"
    assert best.bound <= best.value * (1 + 1e-6)

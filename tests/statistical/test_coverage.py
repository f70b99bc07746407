"""Intervals cover what they promise, and the check would notice intervals that do not."""

import numpy as np
import pytest

import pramble
from pramble.estimation.records.intervals import unified_interval
from pramble_study import paper

SCENARIOS = {
    **paper.priors(),
    "III": np.random.default_rng(2020).dirichlet(np.ones(30)),
}
ALPHAS = paper.ALPHAS
N = 10_000
RUNS = 80


def coverage_of(m, p, rng, *, runs=RUNS, **keywords):
    """Share of runs in which each cell is covered; outside counts estimates off their interval."""
    law = p @ m.matrix
    covered = np.zeros(len(p))
    for counts in rng.multinomial(N, law / law.sum(), size=runs):
        e = pramble.estimate(counts, m, counts=True, **keywords)
        covered += (e.lower <= p) & (p <= e.upper)
    return covered / runs


def response_intervals(counts, m):
    """The intervals for randomised response in closed form, for many releases at once."""
    off, difference = m.matrix[0, 1], m.matrix[0, 0] - m.matrix[0, 1]

    def variance(mu):
        law = off + difference * mu
        return law * (1 - law) / (N * difference**2)

    return unified_interval((counts / N - off) / difference, variance, level=0.95)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_cell_of_every_scenario_is_covered_at_93_to_97_percent(scenario, alpha):
    """The promise, over 2500 runs: one sigma of a cell is 0.4 %."""
    p = SCENARIOS[scenario] / SCENARIOS[scenario].sum()
    rng = np.random.default_rng(11)
    m = pramble.randomized_response(len(p), alpha)
    counts = rng.multinomial(N, p @ m.matrix, size=2500)
    lower, upper = response_intervals(counts, m)
    e = pramble.estimate(counts[0], m, counts=True)
    assert np.allclose(e.lower, lower[0], atol=1e-9)
    assert np.allclose(e.upper, upper[0], atol=1e-9)
    covered = ((lower <= p) & (p <= upper)).mean(axis=0)
    assert covered[p >= 0.01].min() > 0.93
    assert covered[p >= 0.01].max() < 0.97
    assert (covered > 0.92).all()


def test_uniform_rows_and_general_matrices_cover_too():
    rng = np.random.default_rng(12)
    p = SCENARIOS["I"]
    A = rng.choice([1.0, np.e**1.5], (10, 25))
    kinds = [
        pramble.keep_probabilities([0.5, 0.3, 0.4, 0.3, 0.3, 0.3, 0.35, 0.3, 0.3, 0.45]),
        pramble.Mechanism.from_matrix(A / A.sum(axis=1, keepdims=True)),
    ]
    for m in kinds:
        assert 0.925 < coverage_of(m, p, rng).mean() < 0.975


def test_at_the_boundary_intervals_stay_honest_and_short():
    """A category that never occurs: covered at its level, and no longer than one side."""
    p = np.array([0.6, 0.4, 0.0, 0.0])
    m = pramble.randomized_response(4, 1.0)
    rng = np.random.default_rng(13)
    covered = coverage_of(m, p, rng, runs=300)
    assert (covered > 0.92).all()
    assert (covered < 0.98).all()
    reach = []
    for counts in rng.multinomial(N, p @ m.matrix, size=50):
        e = pramble.estimate(counts, m, counts=True)
        assert (e.upper[2:] > 0).all()
        reach.append(e.upper[2:] / np.sqrt(np.diag(e.covariance))[2:])
    assert 1.4 < np.mean(reach) < 2.6


def test_other_levels_hold_as_well():
    rng = np.random.default_rng(14)
    m = pramble.randomized_response(10, 1.0)
    assert 0.77 < coverage_of(m, SCENARIOS["I"], rng, level=0.8).mean() < 0.83
    assert 0.98 < coverage_of(m, SCENARIOS["I"], rng, level=0.99).mean() < 0.998


def test_randomisation_alone_is_covered_for_a_fixed_file():
    rng = np.random.default_rng(15)
    m = pramble.randomized_response(10, 2.0)
    file = rng.multinomial(N, SCENARIOS["I"])
    truth = file / N
    covered = {"randomisation": 0.0, "both": 0.0}
    for _ in range(RUNS):
        counts = sum(rng.multinomial(k, row) for k, row in zip(file, m.matrix, strict=True))
        for covers in covered:
            e = pramble.estimate(counts, m, counts=True, covers=covers)
            covered[covers] += ((e.lower <= truth) & (truth <= e.upper)).mean() / RUNS
    assert 0.93 < covered["randomisation"] < 0.97
    assert covered["both"] > covered["randomisation"] + 0.005


def test_the_check_rejects_a_variance_that_leaves_out_the_sample():
    """The formula of common packages, q(1-q)/(n(p-q)²), leaves out what the truth adds."""
    rng = np.random.default_rng(16)
    p, m = SCENARIOS["I"], pramble.randomized_response(10, 2.0)
    off, difference = m.matrix[0, 1], m.matrix[0, 0] - m.matrix[0, 1]
    variance = np.full(10, off * (1 - off) / (N * difference**2))
    covered = []
    for counts in rng.multinomial(N, p @ m.matrix, size=200):
        y = (counts / N - off) / difference
        lower, upper = unified_interval(y, lambda _: variance, level=0.95)
        covered.append(((lower <= p) & (p <= upper)).mean())
    assert np.mean(covered) < 0.91


def test_errors_equal_the_best_of_the_peers_for_randomised_response():
    """Mean L2 errors over 100 runs; the references are .135 .061 .036 .023, ± 5 % of noise."""
    rng = np.random.default_rng(17)
    reference = {0.5: 0.135, 1.0: 0.061, 1.5: 0.036, 2.0: 0.023}
    p = SCENARIOS["I"]
    for alpha, peer in reference.items():
        m = pramble.randomized_response(10, alpha)
        errors, unbiased = [], []
        for counts in rng.multinomial(N, p @ m.matrix, size=100):
            e = pramble.estimate(counts, m, counts=True)
            i = pramble.estimate(counts, m, counts=True, method="inverse")
            errors.append(np.linalg.norm(e.probabilities - p))
            unbiased.append(np.linalg.norm(i.probabilities - p))
        assert np.mean(errors) < 1.06 * peer
        assert np.mean(errors) <= np.mean(unbiased)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_general_design_does_better_than_the_inverse_of_subset_selection(alpha):
    from bench.estimation import P, errors, subset_selection

    design = pramble.design(
        P, alpha, family="general", objective="estimation", outputs="free", tolerance=1e-4
    )
    own = errors(design.mechanism, "mle")
    assert own < errors(subset_selection(alpha), "inverse")
    assert own < errors(pramble.randomized_response(10, alpha), "mle")

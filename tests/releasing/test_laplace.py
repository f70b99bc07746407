"""The noise follows its law exactly, wrong laws are rejected, and priors state what they spend."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pramble.errors import InvalidInput, InvalidPrior, PrivacyError
from pramble.information.consistent import nearest_on_simplex
from pramble.information.structural_zeros import Possible
from pramble.releasing.priors import (
    Prior,
    bernoulli_exp,
    discrete_laplace,
    noisy_histogram,
    private_prior,
)


class OutOfDrawsError(Exception):
    pass


def outcomes(draw, depth):
    """Exact law of `draw` over every path of at most `depth` uniform draws, by enumeration.

    Returns the probability of each result, and of the paths that need more draws.
    """
    law, unfinished = {}, Fraction(0)
    stack = [((), Fraction(1))]
    while stack:
        path, weight = stack.pop()
        sizes = []

        def randbelow(n, path=path, sizes=sizes):
            sizes.append(n)
            if len(sizes) > len(path):
                raise OutOfDrawsError
            return path[len(sizes) - 1]

        try:
            result = draw(randbelow)
        except OutOfDrawsError:
            if len(path) == depth:
                unfinished += weight
            else:
                stack.extend(((*path, i), weight / sizes[-1]) for i in range(sizes[-1]))
            continue
        law[result] = law.get(result, 0) + weight
    return law, unfinished


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
def test_bernoulli_enumerated(gamma):
    law, unfinished = outcomes(lambda r: bernoulli_exp(gamma, r), 6)
    assert law.get(True, 0) <= Fraction(math.exp(-gamma)) + Fraction(1, 10**15)
    assert law.get(True, 0) + unfinished >= Fraction(math.exp(-gamma)) - Fraction(1, 10**15)
    assert unfinished < Fraction(1, 500)


def chi_square_p(samples, rate):
    edges = range(-12, 13)
    mass = np.array([math.exp(-rate * abs(x)) for x in edges]) * math.tanh(rate / 2)
    counts = np.array([(samples == x).sum() for x in edges], dtype=float)
    mass = np.append(mass, 1 - mass.sum())
    counts = np.append(counts, len(samples) - counts.sum())
    return stats.chisquare(counts, mass * len(samples)).pvalue


def test_noise_has_its_law_and_not_a_nearby_one():
    rng = np.random.default_rng(5)
    randbelow = lambda n: int(rng.integers(n))  # noqa: E731 - the seam of the sampler
    rate = Fraction(2, 5)
    samples = np.array([discrete_laplace(rate, randbelow) for _ in range(20_000)])
    assert chi_square_p(samples, 0.4) > 1e-4
    assert chi_square_p(samples, 0.43) < 1e-6
    assert chi_square_p(samples, 0.37) < 1e-6


def test_noise_is_symmetric_path_by_path():
    law, _ = outcomes(lambda r: discrete_laplace(Fraction(1), r), 9)
    assert {x for x in law if x > 0} == {1}
    assert law[1] == law[-1]


def test_huge_denominators_cost_nothing():
    rate = Fraction(0.02 * 0.1)
    samples = [discrete_laplace(rate) for _ in range(300)]
    assert 200 < np.mean(np.abs(samples)) < 900


def test_neighbouring_histograms_differ_within_epsilon():
    """Both changed counts use rate ε/2, so the likelihood ratio of any output is at most e^ε."""
    epsilon = Fraction(1)
    rng = np.random.default_rng(1)
    randbelow = lambda n: int(rng.integers(n))  # noqa: E731 - the seam of the sampler
    draws = 6000
    first = [
        tuple(noisy_histogram([1, 0], epsilon, randbelow=randbelow)) == (1, 0) for _ in range(draws)
    ]
    second = [
        tuple(noisy_histogram([0, 1], epsilon, randbelow=randbelow)) == (1, 0) for _ in range(draws)
    ]
    ratio = np.mean(first) / np.mean(second)
    assert ratio == pytest.approx(math.e, rel=0.35)  # sensitivity 1 would give e², 4 √e


def test_no_noise_is_refused():
    with pytest.raises(InvalidInput, match="positive; found 0"):
        discrete_laplace(Fraction(0))


counts = st.lists(st.integers(0, 10**6), min_size=2, max_size=12).filter(any)


def noisy_prior(found, epsilon):
    possible = Possible({"a": len(found)})
    return private_prior({("a",): np.array(found)}, epsilon, rows=sum(found), possible=possible)


@given(counts, st.floats(0.001, 2).map(Fraction))
def test_private_priors_are_positive_and_state_what_they_spent(found, epsilon):
    prior = noisy_prior(found, epsilon)
    assert prior.spent == epsilon
    assert prior.source == "private"
    assert min(prior.probabilities) > 0
    assert math.fsum(prior.probabilities) == pytest.approx(1, abs=1e-12)


def test_private_prior_is_near_the_truth_for_a_large_file_and_not_exact():
    found = [300_000, 500_000, 200_000]
    prior = noisy_prior(found, Fraction(2, 100))
    truth = np.array(found) / 1e6
    assert np.abs(np.array(prior.probabilities) - truth).max() < 0.005
    draws = {noisy_prior(found, Fraction(2, 100)).probabilities for _ in range(5)}
    assert len(draws) == 5


@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=7), st.integers(0, 60))
def test_nearest_on_simplex_satisfy_the_optimality_conditions(values, total):
    v = np.array(values)
    x = nearest_on_simplex(v, total=float(total))
    assert x.min() >= 0
    assert x.sum() == pytest.approx(total, abs=1e-9)
    multiplier = x - v  # constant where x > 0, and nowhere smaller
    free = x > 1e-9
    if free.any():
        assert np.ptp(multiplier[free]) < 1e-9
        assert multiplier.min() >= multiplier[free].max() - 1e-9


def test_only_private_priors_spend():
    with pytest.raises(PrivacyError):
        Prior({("a",): np.array([0.5, 0.5])}, "public", Fraction(1), "x")
    with pytest.raises(PrivacyError):
        Prior({("a",): np.array([0.5, 0.5])}, "private", Fraction(0), "x")


@pytest.mark.parametrize(
    ("values", "source", "spent", "error", "message"),
    [
        ([0.5, 0.4], "uniform", 0, InvalidPrior, "must sum to 1"),
        ([1.5, -0.5], "uniform", 0, InvalidPrior, "zero or more"),
        ([0.5, 0.5], "guessed", 0, InvalidPrior, "is one of"),
        ([0.5, 0.5], "public", 1, PrivacyError, "no other prior does"),
        ([0.5, 0.5], "private", 0, PrivacyError, "spends part of α"),
        ([0.5, 0.5], "private", -1, PrivacyError, "spends part of α"),
    ],
)
def test_priors_are_checked(values, source, spent, error, message):
    with pytest.raises(error, match=message):
        Prior({("a",): np.array(values)}, source, Fraction(spent), "")

"""Bounds of the excess of a sum hold on both sides, and are close."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.shuffled.exact import exact_excess

from pramble.privacy.hockey_stick import Summand, excess_above, excess_below


@pytest.mark.parametrize("seed", range(150))
def test_bounds_hold_against_all_counts(seed):
    rng = np.random.default_rng(seed)
    size, trials = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    values = rng.normal(scale=rng.choice([0.1, 1.0, 100.0]), size=size) - rng.choice([0, 0.5])
    probabilities = rng.dirichlet(np.ones(size)) * rng.choice([0.01, 0.5, 1.0])
    law, exact = Summand(values, probabilities), exact_excess(values, probabilities, trials)
    below, above = excess_below(law, trials), excess_above(law, trials)
    assert below <= exact * (1 + 1e-13)
    assert above >= exact * (1 - 1e-13)


@pytest.mark.parametrize("trials", [10, 1000, 5000])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_bounds_are_close_on_a_lattice(trials, shift):
    """A value of 20 with probability 1/8, else −(2 + shift): binomial counts in exact fractions."""
    chance = Fraction(1, 8)
    exact = Fraction(0)
    term = (1 - chance) ** trials
    for k in range(trials + 1):
        exact += term * max(20 * k - (2 + shift) * (trials - k), 0)
        term *= Fraction(trials - k, k + 1) * chance / (1 - chance)
    wanted = float(exact / trials)
    law = Summand(np.array([20.0, -2.0 - shift]), np.array([0.125, 0.875]))
    below, above = excess_below(law, trials), excess_above(law, trials)
    assert below <= wanted <= above
    if wanted > 1e-15:
        assert above <= 1.05 * wanted
        assert below >= 0.7 * wanted


def test_a_sum_that_cannot_be_positive_has_no_excess():
    law = Summand(np.array([-1.0, -2.0]), np.array([0.5, 0.25]))
    assert excess_above(law, 100) == 0 == excess_below(law, 100)


def test_slack_widens_both_bounds():
    sharp = Summand(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    loose = Summand(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.01)
    assert excess_above(loose, 1000) > excess_above(sharp, 1000) + 0.004
    assert excess_below(loose, 1000) < excess_below(sharp, 1000) - 0.004


def test_far_tails_are_bounded_and_tiny():
    law = Summand(np.array([1.0, -1.0]), np.array([0.4, 0.6]))
    assert 0 < excess_above(law, 10**6) < 1e-100
    assert excess_below(law, 10**6) == 0


def test_far_tails_keep_their_relative_precision():
    """P(all 40 of 40 at 1/4) dominates when only all can be positive."""
    law = Summand(np.array([1.0, -39.5]), np.array([0.25, 0.75]))
    exact = 40 * 0.25**40 / 40
    assert excess_below(law, 40) <= exact <= excess_above(law, 40)
    assert math.isfinite(excess_above(law, 40))

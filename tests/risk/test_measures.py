"""Risk formulas against sums over the laws they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from pramble.errors import InvalidInput
from pramble.risk.models import (
    fit_criteria,
    household_risk,
    individual_risk,
    match_risk,
    uniqueness_risk,
)


@pytest.mark.parametrize("rest", [0.0, 1e-9, 0.3, 4.0, 60.0])
@pytest.mark.parametrize("f", [1, 2, 7])
def test_poisson_risks_are_expectations(rest, f):
    values = np.arange(0, 400)
    law = stats.poisson.pmf(values, rest)
    assert match_risk(rest, f) == pytest.approx((law / (f + values)).sum(), rel=1e-12)
    assert uniqueness_risk(rest, f) == pytest.approx(law[0] if f == 1 else 0.0, rel=1e-12)


@given(st.integers(1, 3000), st.floats(0, 1e6))
def test_match_risk_is_bracketed_by_jensen(f, rest):
    risk = float(match_risk(rest, f))
    assert 1 / (f + rest) <= risk * (1 + 1e-9)
    assert risk <= 1 / f * (1 + 1e-12)


@pytest.mark.parametrize("f", [1, 2, 5, 49, 50, 150, 10_000])
@pytest.mark.parametrize("scale", [1.0, 1.0001, 1.9, 2.1, 100.0, 1e4, 1e8])
def test_individual_risk_is_the_integral_for_all_sizes_and_weights(f, scale):
    p = 1 / scale
    q = 1 - p

    def integrand(s):
        w = np.exp(-s / f)
        return p * w**f / (p + q * w) / f

    expected = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in PIECES)
    assert float(individual_risk(f, f * scale)) == pytest.approx(expected, rel=1e-8)


PIECES = [(0, 0.5), (0.5, 5), (5, 20), (20, 45)]


@given(st.integers(1, 400), st.floats(1.0, 1e5))
def test_individual_risk_satisfies_the_recurrence_in_the_class_size(f, odds):
    p = 1 / (1 + odds)
    q = 1 - p
    one, two = individual_risk([f, f + 1], [f / p, (f + 1) / p])
    assert two == pytest.approx(p / (f * q) - p / q * one, rel=1e-6, abs=1e-13)


def test_individual_risk_is_the_negative_binomial_expectation():
    f, weight = 3, 30.0
    extra = np.arange(0, 20_000)
    law = stats.nbinom.pmf(extra, f, f / weight)
    assert float(individual_risk(f, weight)) == pytest.approx((law / (f + extra)).sum(), rel=1e-10)
    with pytest.raises(InvalidInput):
        individual_risk([2], [1.0])


def test_household_risk_multiplies_escapes():
    risk = household_risk([0.1, 0.2, 0.3, 1.0, 0.5], ["x", "y", "x", "z", "z"])
    np.testing.assert_allclose(risk, [0.37, 0.2, 0.37, 1.0, 1.0])


@pytest.mark.parametrize("fraction", [0.01, 0.3, 1.0])
def test_criteria_follow_their_formulas_on_both_sides_of_the_series(fraction):
    rng = np.random.default_rng(1)
    rates = np.exp(rng.uniform(-3, 4, 500))
    counts = rng.poisson(fraction * rates).astype(float)
    mu = fraction * rates
    nu = (1 - fraction) * rates
    h = np.where(nu > 0, -np.expm1(-nu) / np.where(nu > 0, nu, 1), 1.0)
    e = counts - mu
    a1 = nu * np.exp(-rates)
    b1 = (1 - fraction) ** 2 * rates * np.exp(-rates) / (2 * fraction)
    a2 = np.exp(-mu) * h - np.exp(-rates)
    b2 = (np.exp(-mu) * h - np.exp(-rates) * (1 + nu / 2)) / mu
    got = fit_criteria(counts, mu, fraction)
    assert pytest.approx((a1 * e + b1 * (e**2 - counts)).sum(), rel=1e-9, abs=1e-9) == got.B1
    assert pytest.approx((a2 * e + b2 * (e**2 - counts)).sum(), rel=1e-9, abs=1e-9) == got.B2
    assert got.v1 == pytest.approx((a1**2 * mu + 2 * b1**2 * mu**2).sum(), rel=1e-9, abs=1e-12)
    assert got.v2 == pytest.approx((a2**2 * mu + 2 * b2**2 * mu**2).sum(), rel=1e-9, abs=1e-12)


def test_standardised_criteria_are_standard_when_the_model_is_true():
    rng = np.random.default_rng(2)
    rates = np.exp(rng.uniform(-2, 3, 4000))
    draws = [
        fit_criteria(rng.poisson(0.1 * rates).astype(float), 0.1 * rates, 0.1).standardised
        for _ in range(400)
    ]
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0)
    assert (np.abs(mean) < 4 / np.sqrt(400)).all()
    assert ((spread > 0.85) & (spread < 1.15)).all()
    smooth = np.full(4000, rates.mean())
    z1, z2 = fit_criteria(rng.poisson(0.1 * rates).astype(float), 0.1 * smooth, 0.1).standardised
    assert min(z1, z2) > 5

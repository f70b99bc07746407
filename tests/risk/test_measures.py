"""Risk formulas against sums over the laws they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from pramble import InvalidInput
from pramble.risk.models import (
    individual_risk,
    match_risk,
    mixed_risks,
    uniqueness_risk,
)
from pramble.risk.spread import fit_spread


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


@pytest.mark.parametrize("size", [1, 2, 7, 300])
@pytest.mark.parametrize("rest", [1e-6, 0.3, 4.0, 900.0])
@pytest.mark.parametrize("shape", [0.4, 3.0, 200.0])
def test_mixed_risks_are_negative_binomial_expectations(size, rest, shape):
    sampled = 0.8 * size
    r1, r2 = mixed_risks(
        np.array([rest]), np.array([size]), sampled=np.array([sampled]), shapes=np.array([shape])
    )
    stays = 1 / (1 + rest / (shape + sampled))
    others = np.arange(int(stats.nbinom.ppf(1 - 1e-12, shape + size, stays)) + 2)
    law = stats.nbinom.pmf(others, shape + size, stays)
    assert r1[0] == pytest.approx(law[0] if size == 1 else 0.0, rel=1e-9)
    assert r2[0] == pytest.approx((law / (size + others)).sum(), rel=1e-6)


def test_mixed_risks_have_the_poisson_model_as_their_limit():
    rest, sizes = np.array([0.0, 0.2, 3.0, 50.0] * 2), np.repeat([1, 4], 4)
    found = mixed_risks(rest, sizes, sampled=rest / 9, shapes=np.full(8, 1e9))
    np.testing.assert_allclose(found[0], uniqueness_risk(rest, sizes), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found[1], match_risk(rest, sizes), rtol=1e-6)


def test_the_random_effect_is_found_where_there_is_one_and_only_there():
    rng = np.random.default_rng(1)
    means = np.exp(rng.normal(-2, 2, 30_000))
    shapes = 4 * means**0.5
    mixed = rng.poisson(means * rng.gamma(shapes) / shapes).astype(float)
    found = fit_spread(mixed, means)
    assert found.needed
    error = np.sqrt(np.diag(found.covariance))
    assert abs(found.level - np.log(4)) < 4 * error[0] < 0.5
    assert abs(found.power - 0.5) < 4 * error[1] < 0.3
    plain = [fit_spread(rng.poisson(means).astype(float), means).needed for _ in range(10)]
    assert sum(plain) <= 1

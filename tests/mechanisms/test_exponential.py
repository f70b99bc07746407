"""Comparisons with e^α against an independent computation in rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidInput
from pramble.mechanisms.ratios import (
    ceiling_of_share,
    check_alpha,
    exp_below,
    exp_bounds,
    ratio_within,
    smallest_alpha,
)


def taylor(alpha: float, terms: int = 200) -> tuple[Fraction, Fraction]:
    """Rational bounds of e^α by Taylor's series with its remainder, for 0 < α ≤ 20."""
    x, term, total = Fraction(alpha), Fraction(1), Fraction(1)
    for k in range(1, terms):
        term *= x / k
        total += term
    return total, total + term * 2


@given(st.floats(1e-9, 20))
def test_bounds_hold_the_true_value(alpha):
    low, high = next(exp_bounds(alpha))
    least, most = taylor(alpha)
    assert low < most
    assert least < high
    assert (high - low) / low < Fraction(1, 10**38)
    assert exp_below(alpha) == low


@given(st.integers(1, 2**53), st.integers(1, 2**53))
def test_smallest_alpha_is_the_smallest_float(one, two):
    high, low = max(one, two), min(one, two)
    alpha = smallest_alpha(high, low)
    assert ratio_within(high, low, alpha)
    assert alpha == 0 or not ratio_within(high, low, math.nextafter(alpha, 0))
    assert alpha == pytest.approx(math.log(high / low), abs=1e-15, rel=1e-14)


@given(st.floats(1e-6, 20), st.integers(1, 10**6))
def test_ceiling_of_share_is_exact(alpha, others):
    total = 2**53
    found = ceiling_of_share(total, others, alpha)
    least, most = taylor(alpha)
    assert found * (others + most) >= total
    assert (found - 1) * (others + least) < total


def test_huge_and_tiny_alpha():
    assert ratio_within(2**53, 1, 1e6)
    assert not ratio_within(2, 1, 0.0)
    assert ratio_within(2, 2, 0.0)
    assert not ratio_within(2**53 + 1, 2**53, 1e-17)
    assert smallest_alpha(1, 0) == math.inf
    assert ceiling_of_share(2**53, 1, 1e9) == 1


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None])
def test_alpha_must_be_positive_and_finite(bad):
    with pytest.raises(InvalidInput, match="alpha must be"):
        check_alpha(bad)

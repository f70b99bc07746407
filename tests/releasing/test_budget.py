"""Splits are exact, never above the total, and optimal against brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidPlan, PrivacyError
from pramble.privacy.guarantee import RecordPrivacy, float_above, float_below
from pramble.releasing.budget import (
    best_on_grid,
    check_spent,
    split_by_weights,
    split_optimally,
)

totals = st.floats(1e-3, 50).map(Fraction)


@given(totals, st.lists(st.floats(1e-3, 1e3).map(Fraction), min_size=1, max_size=8))
def test_weighted_shares_sum_to_the_total_and_floats_stay_below(total, weights):
    shares = split_by_weights(total, {str(i): w for i, w in enumerate(weights)})
    assert sum(shares.values()) == total
    floats = [float_below(share) for share in shares.values()]
    limit = RecordPrivacy(total)
    check_spent(summed(floats), limit)
    assert limit.allows(summed(floats))


@given(st.fractions(-100, 100))
def test_floats_bracket_the_rational(value):
    low, high = float_below(value), float_above(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high <= math.nextafter(low, math.inf)


def summed(parts: list[float]) -> RecordPrivacy:
    return RecordPrivacy(sum(map(Fraction, parts), Fraction(0)))


def test_a_split_above_the_total_is_refused():
    with pytest.raises(PrivacyError, match="above the limit"):
        check_spent(
            summed([0.1] * 3), RecordPrivacy(Fraction(0.3))
        )  # floats 0.1 sum to a little more


def test_a_weight_of_zero_is_refused():
    with pytest.raises(InvalidPlan, match="'age' must be positive"):
        split_by_weights(Fraction(1), {"sex": Fraction(1), "age": Fraction(0)})


@pytest.mark.parametrize("seed", range(6))
def test_grid_search_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    steps = 9
    curves = [np.append(np.inf, rng.normal(size=steps)) for _ in range(3)]
    brute = min(
        (sum(c[k] for c, k in zip(curves, ks, strict=True)), ks)
        for ks in itertools.product(range(1, steps + 1), repeat=3)
        if sum(ks) == steps
    )
    assert tuple(best_on_grid(curves)) == brute[1]


def test_variance_like_losses_split_by_square_roots():
    shares = split_optimally(
        Fraction(3), {"a": lambda a: 1 / a, "b": lambda a: 4 / a, "c": lambda a: 9 / a}
    )
    assert sum(shares.values()) == 3
    assert [float(share) for share in shares.values()] == pytest.approx([0.5, 1, 1.5], abs=0.01)


def test_convex_gain_puts_almost_everything_on_one_column():
    shares = split_optimally(Fraction(1), {"a": lambda a: -(a**2), "b": lambda a: -2 * a**2})
    assert shares["b"] > Fraction(95, 100)
    assert shares["a"] > 0


def test_no_column_is_starved_below_the_floor():
    losses = {"a": lambda a: -(a**2), "b": lambda a: -2 * a**2, "c": lambda a: -(a**2)}
    shares = split_optimally(Fraction(3), losses, least=Fraction(1, 4))
    assert sum(shares.values()) == 3
    assert min(shares.values()) == Fraction(1, 4)


def test_weights_count():
    losses = {"a": lambda a: 1 / a, "b": lambda a: 1 / a}
    shares = split_optimally(Fraction(2), losses, weights={"a": Fraction(9), "b": Fraction(1)})
    assert float(shares["a"]) == pytest.approx(1.5, abs=0.01)


def test_no_estimable_split_is_refused():
    with pytest.raises(InvalidPlan, match="No split"):
        split_optimally(Fraction(1), {"a": lambda a: math.inf, "b": lambda a: a})

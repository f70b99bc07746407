"""What Gaussian noise promises, against far more digits and against an integral."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidInput
from pramble.privacy.gaussian import delta_above, epsilon_above, largest_mu_squared

powers = st.floats(-6, 6).map(lambda power: 10.0**power)
mus = st.floats(-6, 2.5).map(lambda power: 10.0**power)
deltas = st.floats(-300, -0.3).map(lambda power: 10.0**power)


@pytest.fixture
def digits():
    before, ctx.prec = ctx.prec, 3000
    yield
    ctx.prec = before


def exact(epsilon, mu_squared):
    """δ with a thousand digits."""
    mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
    level, root = arb(epsilon), arb(2).sqrt()
    one = ((level / mu - mu / 2) / root).erfc()
    two = ((level / mu + mu / 2) / root).erfc()
    return (one - level.exp() * two) / 2


def test_delta_is_rounded_up_and_hardly(digits):
    rng = np.random.default_rng(1)
    cases = 10 ** np.stack([rng.uniform(-8, 6, 3000), rng.uniform(-7, 5, 3000)], axis=1)
    cases = [*cases.tolist(), (1e-300, 1.0), (1e6, 1e-20), (1e6, 1e6), (0, 1e-9), (5e-324, 1e-150)]
    for epsilon, mu in cases:
        mu_squared = Fraction(mu) ** 2
        found, true = delta_above(epsilon, mu_squared), exact(epsilon, mu_squared)
        assert arb(found) >= true or found == 1, (epsilon, mu)
        if mu > 1e-100:
            assert arb(found) <= true * (1 + arb(2) ** -49) + arb(2) ** -1070, (epsilon, mu)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(1.0, 0.2367), (0.1, 0.03), (4.0, 0.8), (20.0, 5.0), (0.01, 3.0)]
)
def test_delta_is_the_integral_of_its_slope(epsilon, mu):
    """The derivative of δ by μ is the density of a normal variable at μ/2 − ε/μ."""

    def density(z, _):
        x = z / 2 - acb(epsilon) / z
        return (-x * x / 2).exp() / (2 * acb.pi()).sqrt()

    before, ctx.prec = ctx.prec, 100
    try:
        low = min(epsilon / 60, mu / 1000)
        integral = float(acb.integral(density, acb(low), acb(mu)).real.mid())
    finally:
        ctx.prec = before
    assert delta_above(epsilon, Fraction(mu) ** 2) == pytest.approx(integral, rel=1e-12)


@given(powers, mus, st.floats(1.0, 1e3))
def test_delta_is_monotone(epsilon, mu, factor):
    one = delta_above(epsilon, Fraction(mu) ** 2)
    nearly = 1 + 1e-14
    assert delta_above(epsilon * factor, Fraction(mu) ** 2) <= one * nearly
    assert delta_above(epsilon, Fraction(mu * factor) ** 2) * nearly >= one


@given(deltas, mus)
def test_epsilon_is_proven_and_nearly_the_smallest(delta, mu):
    mu_squared = Fraction(mu) ** 2
    epsilon = epsilon_above(delta, mu_squared)
    assert delta_above(epsilon, mu_squared) <= delta
    if epsilon:
        assert delta_above(epsilon * (1 - 1e-12), mu_squared) > delta
    else:
        assert delta_above(0.0, mu_squared) <= delta


@given(st.floats(-9, 6).map(lambda power: 10.0**power), deltas)
def test_the_largest_noise_budget_is_safe_and_nearly_the_best(epsilon, delta):
    mu_squared = largest_mu_squared(epsilon, delta)
    assert delta_above(epsilon, mu_squared) <= delta
    assert delta_above(epsilon, mu_squared * (1 + Fraction(1, 10**12))) > delta
    assert epsilon_above(delta, mu_squared) <= epsilon


def test_nothing_spent_is_nothing_and_too_much_is_everything():
    assert epsilon_above(1e-6, Fraction(0)) == 0
    assert epsilon_above(0.0, Fraction(0)) == 0
    assert epsilon_above(0.5, Fraction(1)) == 0  # δ(0) = .38
    assert epsilon_above(0.0, Fraction(1)) == math.inf
    assert delta_above(0.0, Fraction(10) ** 9) == 1
    assert delta_above(math.inf, Fraction(1)) in (0, 1)
    assert epsilon_above(math.nan, Fraction(1)) == math.inf


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (math.inf, 0.1), (1e7, 0.1), (1.0, 0.0), (1.0, 1.0),
     (1.0, math.nan), (1e-200, 1e-300)],
)  # fmt: skip
def test_impossible_promises_are_refused(epsilon, delta):
    with pytest.raises(InvalidInput, match="epsilon"):
        largest_mu_squared(epsilon, delta)

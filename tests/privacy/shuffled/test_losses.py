"""Laws of the loss: they dominate, they add up, and they are close."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from pramble.privacy.hockey_stick import LossSum, approximate, dominating, pure


def gaussian(mu):
    """The curve of Gaussian noise."""

    def curve(epsilon):
        tail = math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(norm.cdf(mu / 2 - epsilon / mu) - tail)

    return curve


def response_delta(epsilon, k, at):
    """Exact δ of k randomised responses."""
    heads = np.arange(k + 1)
    loss = (2 * heads - k) * epsilon
    chance = binom.pmf(heads, k, math.exp(epsilon) / (1 + math.exp(epsilon)))
    return float((chance * np.maximum(-np.expm1(at - loss), 0)).sum())


@given(
    epsilon=st.floats(0.01, 2.0), k=st.integers(1, 30), at=st.floats(0, 1), parts=st.integers(1, 6)
)
def test_pure_promises_add_up_exactly(epsilon, k, at, parts):
    losses = LossSum((pure(epsilon, step=epsilon / parts),) * k)
    at = at * k * epsilon
    truth = response_delta(epsilon, k, at)
    found = losses.delta(at)
    assert found >= truth * (1 - 1e-9)
    assert found <= truth * (1 + 1e-5) + 1e-9


@pytest.mark.parametrize("k", [1, 5, 45, 400])
@pytest.mark.parametrize("mu", [0.003, 0.1, 1.0])
def test_gaussian_curves_add_up_closely(mu, k):
    one = dominating(gaussian(mu), step=mu / 20, top=9 * mu)
    losses, whole = LossSum((one,) * k), mu * math.sqrt(k)
    for at in (0.0, 0.5 * whole, 2 * whole, 4.5 * whole):
        truth = gaussian(whole)(at)
        found = losses.delta(at)
        assert truth * (1 - 1e-9) <= found <= truth * 1.02 + 1e-12 * k


@given(st.lists(st.floats(0, 0.2), min_size=2, max_size=12), st.floats(0.01, 0.5))
def test_any_curve_is_dominated_at_every_point(drops, step):
    deltas = np.minimum(np.cumsum([0.0, *drops])[::-1], 1.0)

    def curve(epsilon):
        return float(np.interp(epsilon, step * np.arange(len(deltas)), deltas))

    # the largest convex function below these points is what any true curve is below
    found = LossSum((dominating(curve, step=step, top=step * (len(deltas) - 1)),))
    a = np.exp(step * np.arange(1 - len(deltas), len(deltas)))
    n = len(deltas) - 1
    heights = np.concatenate([1 - a[:n] + a[:n] * deltas[:0:-1], deltas])
    for i in range(n, 2 * n + 1):
        chords = [
            heights[j] + (heights[k] - heights[j]) * (a[i] - a[j]) / (a[k] - a[j])
            for j in range(i)
            for k in range(i + 1, 2 * n + 1)
        ]
        least = max(min([heights[i], *chords]), 0.0)
        assert found.delta(step * (i - n)) >= least - 1e-11


def test_an_infinite_loss_is_never_lost():
    losses = LossSum((approximate(0.5, 1e-4, step=0.1),) * 3)
    assert losses.never == pytest.approx(3e-4)
    assert losses.delta(1.6) >= 3e-4 * (1 - 1e-9)
    assert math.isinf(losses.epsilon(lambda _: 2e-4, most=5.0))


def test_tiny_deltas_keep_their_relative_precision():
    mu = 0.05
    losses = LossSum((dominating(gaussian(mu), step=mu / 30, top=14 * mu),) * 20)
    whole = mu * math.sqrt(20)
    truth = gaussian(whole)(8 * whole)
    assert truth < 1e-16
    assert truth <= losses.delta(8 * whole) <= 2 * truth + losses.never

"""Laws of the loss: they dominate, they add up, and they are close."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from pramble.privacy.hockey_stick import LossSum
from pramble.privacy.promise import CentralPromise, composed


def response_delta(epsilon, k, at):
    """Exact δ of k randomised responses."""
    heads = np.arange(k + 1)
    loss = (2 * heads - k) * epsilon
    chance = binom.pmf(heads, k, math.exp(epsilon) / (1 + math.exp(epsilon)))
    return float((chance * np.maximum(-np.expm1(at - loss), 0)).sum())


@given(
    epsilon=st.floats(0.01, 2.0),
    k=st.integers(1, 30),
    at=st.floats(0, 1),
    parts=st.sampled_from([1, 2, 8]),
)
def test_pure_promises_add_up_exactly(epsilon, k, at, parts):
    losses = LossSum.of([(epsilon, 0.0)] * k, step=epsilon / parts)
    at = at * k * epsilon
    truth = response_delta(epsilon, k, at)
    found = losses.delta(at)
    assert found >= truth * (1 - 1e-9)
    assert found <= truth * (1 + 1e-5) + 1e-9


def test_an_infinite_loss_is_never_lost():
    losses = LossSum.of([(0.5, 1e-4)] * 3, step=0.1)
    assert losses.never == pytest.approx(3e-4)
    assert losses.delta(1.6) >= 3e-4 * (1 - 1e-9)
    assert losses.delta(5.0) > 2e-4


def test_tiny_deltas_keep_their_relative_precision():
    losses = LossSum.of([(0.0625, 0.0)] * 400, step=0.0625)
    truth = response_delta(0.0625, 400, 10.0)
    assert 0 < truth < 1e-14
    assert truth <= losses.delta(10.0) <= truth * 1.01


def test_promises_off_the_grid_are_rounded_up():
    parts = [CentralPromise(Fraction(e), Fraction(1, 10**9)) for e in (0.1, 0.1003, 0.37)] * 20
    found = composed(parts, delta=1e-6)
    larger = [CentralPromise(part.epsilon * Fraction(65, 64), part.delta) for part in parts]
    assert (
        composed([parts[0]] * 20, delta=1e-6) < found < sum(map(float, (p.epsilon for p in parts)))
    )
    assert found <= composed(larger, delta=1e-6)

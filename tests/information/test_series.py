"""Functions of information that join a closed form and a series."""

import math

import numpy as np
import pytest
from scipy import integrate

import pramble
from pramble.information.measures import best_high_mass
from pramble.mechanisms.operators.dense import entropy_excess, log_excess


def test_the_ideal_high_mass_maximises_information_per_column():
    for alpha in [0.009, 0.011, 0.1, 1.0, 3.0]:
        a = math.exp(alpha)

        def gain(t, a=a, alpha=alpha):
            m = 1 + (a - 1) * t
            return (alpha * a * t - m * math.log(m)) / m

        t = best_high_mass(alpha)
        assert gain(t) >= max(gain(t * 1.001), gain(t / 1.001))
        assert gain(t) == pytest.approx(pramble.information_bound(alpha), rel=1e-9)


def test_excess_functions_join_their_series():
    for t in [-1.0, -0.5, -1e-3, 1e-3, 0.9e-3, 1.1e-3, 1e-9, 3.0]:
        direct, _ = integrate.quad(lambda s: math.log1p(s) if s > -1 else 0.0, 0, t)
        assert entropy_excess(np.array(t)) == pytest.approx(direct, rel=1e-8)
        if t > -1:
            direct, _ = integrate.quad(lambda s: s / (1 + s), 0, t)
            assert log_excess(np.array(t)) == pytest.approx(direct, rel=1e-8)

"""Invariant designs: margins exact to the last unit, and never worse than the closed forms."""

from fractions import Fraction

import numpy as np
import pytest

import pramble
from pramble.mechanisms.base import TOTAL
from pramble.paper import scenario
from pramble.solvers.general.invariant import closed_form
from pramble.solvers.general.invariant_rounding import settle
from pramble.solvers.general.patterns import matrix_information

SCENARIO_I = scenario("I")


def units_off(prior, mechanism):
    """The largest error of a released share, in weight units, exactly."""
    shares = [Fraction(value) for value in prior.tolist()]
    weights = mechanism.weights.tolist()
    return max(
        abs(sum(p * row[z] for p, row in zip(shares, weights, strict=True)) - TOTAL * shares[z])
        for z in range(len(shares))
    )


PRIORS = [
    SCENARIO_I,
    np.full(7, 1 / 7),
    np.array([0.6, 0.4]),
    np.array([0.0, 0.5, 0.3, 0.2]),
    np.random.default_rng(0).dirichlet(np.ones(12)),
]


@pytest.mark.parametrize("prior", PRIORS, ids=len)
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_margins_are_right_to_the_last_unit(prior, alpha):
    d = pramble.design(prior, alpha, family="general", invariant=True)
    assert units_off(d.prior, d.mechanism) <= 1
    assert d.certificate.satisfies(alpha)
    assert d.value <= d.bound
    assert d.details["invariance_cost"] == pytest.approx(d.bound - d.value)
    positive = prior[prior > 0]
    assert d.value >= matrix_information(positive, closed_form(positive, alpha)) * (1 - 1e-9)


def test_better_than_bayes_by_far():
    best = pramble.design(SCENARIO_I, 1.0, family="general", outputs="free").mechanism.matrix
    released = SCENARIO_I @ best
    bayes = best / released @ (best.T * SCENARIO_I)
    assert bayes.sum(axis=1) == pytest.approx(np.ones(10))
    d = pramble.design(SCENARIO_I, 1.0, family="general", invariant=True)
    assert d.value > 5 * matrix_information(SCENARIO_I, bayes)


def test_flat_priors_lose_nothing():
    d = pramble.design(np.full(10, 0.1), 1.0, family="general", invariant=True)
    assert d.gap <= 1e-6


def test_estimation_may_be_invariant_too():
    d = pramble.design(SCENARIO_I, 1.0, family="general", objective="estimation", invariant=True)
    assert units_off(d.prior, d.mechanism) <= 1
    assert np.isfinite(d.value)
    assert d.bound <= d.value


def test_the_closed_form_is_private_and_invariant():
    matrix = closed_form(SCENARIO_I, 1.0)
    assert SCENARIO_I @ matrix == pytest.approx(SCENARIO_I, abs=1e-15)
    assert (matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(np.e)


def test_settling_mends_margins_that_are_off():
    weights = np.array([[TOTAL // 2 + 40, TOTAL // 2 - 40], [TOTAL // 2, TOTAL // 2]])
    after = settle(weights, np.array([0.5, 0.5]))
    assert (after.sum(axis=1) == TOTAL).all()
    assert abs(int(after[:, 0].sum()) - TOTAL) <= 2

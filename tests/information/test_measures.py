"""Information measures: golden numbers, limits, and accuracy near zero."""

import math

import numpy as np
import pytest

import pramble
from pramble_study import paper

SCENARIO_I, SCENARIO_II, SCENARIO_IV = map(paper.scenario, ("I", "II", "IV"))


@pytest.mark.parametrize(
    ("alpha", "value"),
    [
        (0.5, 0.031142),
        (1, 0.123302),
        (1.5, 0.272878),
        (2, 0.474475),
        (3, 1.007506),
        (4, 1.669850),
    ],
)
def test_the_universal_bound_has_its_known_values(alpha, value):
    assert pramble.information_bound(alpha) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 0.01, 0.05, 0.29, 0.31, 1, 5, 20, 50])
def test_the_universal_bound_is_accurate(alpha):
    """Against the formula itself in 60 digits."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    a = Decimal(alpha)
    u = a / (1 - (-a).exp())
    exact = u - 1 - u.ln()
    assert pramble.information_bound(alpha) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("prior", "alpha", "value"),
    [
        (SCENARIO_I, 0.5, 0.013283),
        (SCENARIO_I, 1, 0.066189),
        (SCENARIO_I, 1.5, 0.178089),
        (SCENARIO_I, 2, 0.359138),
        (SCENARIO_II, 0.5, 0.012899),
        (SCENARIO_II, 1, 0.064034),
        (SCENARIO_II, 1.5, 0.171565),
        (SCENARIO_II, 2, 0.344413),
        (SCENARIO_IV, 0.5, 0.005502),
        (SCENARIO_IV, 1, 0.029992),
        (SCENARIO_IV, 1.5, 0.090935),
        (SCENARIO_IV, 2, 0.212914),
    ],
)
def test_randomised_response_on_the_papers_scenarios(prior, alpha, value):
    """Golden: the optimum of the paper's family in its own scenarios, which is all v_alpha."""
    m = pramble.randomized_response(len(prior), alpha)
    prior = prior / prior.sum()
    assert pramble.mutual_information(prior, m) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize(("alpha", "value"), [(0.5, 242.4), (1, 41.8), (1.5, 13.4), (2, 5.85)])
def test_estimation_variance_of_randomised_response(alpha, value):
    """Golden: n times the trace of the covariance in scenario I."""
    m = pramble.randomized_response(10, alpha)
    assert pramble.estimation_variance(SCENARIO_I, m) == pytest.approx(value, rel=4e-3)


def test_estimation_variance_is_the_trace_of_the_inverse_covariance():
    m = pramble.keep_probabilities([0.5, 0.3, 0.6, 0.2])
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    released = prior @ m.matrix
    inverse = np.linalg.inv(m.matrix)
    covariance = inverse.T @ (np.diag(released) - np.outer(released, released)) @ inverse
    assert pramble.estimation_variance(prior, m) == pytest.approx(np.trace(covariance), rel=1e-9)


def test_estimation_variance_of_no_noise_is_the_multinomial_one():
    prior = np.array([0.5, 0.3, 0.2, 0.0])
    m = pramble.Mechanism.from_matrix(np.eye(4))
    assert pramble.estimation_variance(prior, m) == pytest.approx((prior * (1 - prior)).sum())


@pytest.mark.parametrize(
    "matrix", [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]]]
)
def test_variance_is_infinite_when_nothing_identifies_the_prior(matrix):
    m = pramble.Mechanism.from_matrix(matrix)
    prior = np.full(len(matrix), 1 / len(matrix))
    assert pramble.estimation_variance(prior, m) == math.inf


def test_rows_that_are_flat_but_for_rounding_identify_nothing():
    for size in (3, 7, 1000):
        flat = pramble.keep_probabilities(np.full(size, 1 / size))
        assert pramble.estimation_variance(np.full(size, 1 / size), flat) == math.inf
        barely = pramble.randomized_response(size, 1e-3)
        assert pramble.estimation_variance(np.full(size, 1 / size), barely) < 1e13


def test_uniform_rows_with_flat_rows():
    flat = pramble.keep_probabilities([0.25, 0.5, 0.5, 0.25])
    assert pramble.estimation_variance([0.25] * 4, flat) == math.inf
    one_flat = pramble.keep_probabilities([0.25, 0.5, 0.5, 0.5])
    dense = pramble.Mechanism.from_matrix(one_flat.matrix)
    assert pramble.estimation_variance([0.25] * 4, one_flat) == pytest.approx(
        pramble.estimation_variance([0.25] * 4, dense)
    )
    assert pramble.estimation_variance([0.25] * 4, one_flat) < 1000


@pytest.mark.parametrize("alpha", [1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("size", [2, 5, 50])
def test_information_keeps_its_digits_as_alpha_vanishes(alpha, size):
    """For a flat prior I = α²·(S−1)/(2S²) to first order, on both paths."""
    m = pramble.randomized_response(size, alpha)
    prior = np.full(size, 1 / size)
    dense = pramble.Mechanism.from_matrix(m.matrix)
    leading = alpha**2 * (size - 1) / (2 * size**2)
    found = pramble.mutual_information(prior, m)
    assert found == pytest.approx(leading, rel=2 * alpha + 1e-6)
    assert pramble.mutual_information(prior, dense) == pytest.approx(found, rel=1e-6)


def test_entropy_of_certain_and_flat():
    assert pramble.entropy([1.0, 0.0]) == 0.0
    assert math.copysign(1, pramble.entropy([1.0, 0.0])) == 1.0
    assert pramble.entropy(np.full(8, 1 / 8)) == pytest.approx(math.log(8))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.6], "sums to 1.1"),
        ([1.5, -0.5], "position 1 holds -0.5"),
        ([math.nan, 1.0], "position 0 holds nan"),
        ([], "found shape"),
        ([[0.5, 0.5]], "found shape"),
        (["a", "b"], "vector of numbers"),
        ([0.2, 0.3, 0.5], "2 categories; the prior has 3"),
    ],
)
def test_bad_priors_are_refused(prior, message):
    with pytest.raises(pramble.InvalidPrior, match=message):
        pramble.mutual_information(prior, pramble.randomized_response(2, 1.0))


def test_a_matrix_is_no_mechanism():
    with pytest.raises(pramble.InvalidInput, match="A mechanism is needed; found ndarray"):
        pramble.mutual_information([0.5, 0.5], np.eye(2))

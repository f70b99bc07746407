"""Regressions: statsmodels as the oracle on raw data, derivatives, and bias under randomisation."""

import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import pramble
from pramble.errors import PrambleError
from pramble.estimation.regression.logistic import climb, evaluate, start
from pramble.estimation.regression.patterns import patterns_of


def released(x, m, rng):
    """Draw a release of integer categories from the rows of the matrix."""
    cumulative = m.matrix.cumsum(axis=1)
    codes = (rng.random(len(x))[:, None] > cumulative[x]).sum(axis=1)
    return np.minimum(codes, m.shape[1] - 1)


def people(rng, n, *, family="logistic"):
    """Three covariates, one with three levels that depends on the others, and a response."""
    sex = rng.integers(0, 2, n)
    age = rng.normal(0, 1, n)
    score = np.column_stack([np.zeros(n), 0.5 * sex + 0.3 * age, -0.4 + 0.8 * sex])
    chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    x = (rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    eta = -0.3 + 0.8 * (x == 1) - 0.9 * (x == 2) + 0.5 * sex + 0.4 * age
    y = (
        (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
        if family == "logistic"
        else eta + rng.standard_exponential(n) - 1
    )
    return pd.DataFrame({"x": x, "sex": np.where(sex == 1, "m", "f"), "age": age, "y": y})


TRUTH = np.array([-0.3, 0.8, -0.9, 0.5, 0.4])
COVARIATES = ["x", "sex", "age"]


def raw_design(frame):
    columns = [
        np.ones(len(frame)),
        frame.x == 1,
        frame.x == 2,
        frame.sex == "m",
        frame.age,
    ]
    return np.column_stack(columns).astype(float)


def untouched(frame):
    return frame.assign(x=frame.x.map({0: "a", 1: "b", 2: "c"}))


def test_logistic_without_randomisation_is_that_of_statsmodels():
    frame = people(np.random.default_rng(0), 3000)
    r = pramble.estimate_regression(untouched(frame), {}, response="y", covariates=COVARIATES)
    oracle = sm.Logit(frame.y, raw_design(frame)).fit(disp=0)
    assert r.names == ("intercept", "x[b]", "x[c]", "sex[m]", "age")
    assert np.allclose(r.coefficients, oracle.params, atol=1e-6)
    assert np.allclose(r.standard_errors, oracle.bse, rtol=1e-5)
    assert r.log_likelihood == pytest.approx(oracle.llf, abs=1e-6)
    assert np.allclose(r.lower, oracle.conf_int()[0], atol=1e-5)


def test_linear_without_randomisation_is_that_of_statsmodels():
    frame = people(np.random.default_rng(1), 2000, family="linear")
    r = pramble.estimate_regression(
        untouched(frame), {}, response="y", covariates=COVARIATES, family="linear"
    )
    oracle = sm.OLS(frame.y, raw_design(frame)).fit(cov_type="HC0")
    assert np.allclose(r.coefficients, oracle.params, atol=1e-9)
    assert np.allclose(r.standard_errors, oracle.bse, rtol=1e-9)


def test_weights_are_those_of_statsmodels():
    rng = np.random.default_rng(2)
    frame = people(rng, 2000, family="linear")
    frame["w"] = rng.uniform(0.5, 3, len(frame))
    r = pramble.estimate_regression(
        untouched(frame), {}, response="y", covariates=COVARIATES, family="linear", weights="w"
    )
    oracle = sm.WLS(frame.y, raw_design(frame), weights=frame.w).fit(cov_type="HC0")
    assert np.allclose(r.coefficients, oracle.params, atol=1e-9)
    assert np.allclose(r.standard_errors, oracle.bse, rtol=1e-9)


@pytest.mark.parametrize("covariates", [["x"], ["x", "sex"], ["x", "sex", "age"], ["sex"]])
@pytest.mark.parametrize("response", ["observed", "randomised"])
def test_scores_and_louis_information_are_the_derivatives_of_the_likelihood(covariates, response):
    rng = np.random.default_rng(3)
    frame = people(rng, 300)
    m, r = pramble.randomized_response(3, 1.5), pramble.keep_probabilities([0.7, 0.9])
    plan = {"x": m}
    frame["x"] = released(frame.x.to_numpy(), m, rng)
    if response == "randomised":
        plan["y"] = r
        frame["y"] = released(frame.y.to_numpy(), r, rng)
    patterns = patterns_of(
        frame, plan, response="y", covariates=covariates, binary=True, success=None, weights=None
    )
    q = patterns.seen.shape[1] + patterns.unseen.shape[1]
    theta = start(patterns, q)
    theta = theta + 0.3 * rng.normal(size=len(theta))
    point = evaluate(patterns, theta)
    gradient = patterns.counts @ point.scores
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = 1e-5
        up, down = evaluate(patterns, theta + step), evaluate(patterns, theta - step)
        assert gradient[j] == pytest.approx((up.value - down.value) / 2e-5, abs=1e-4)
        slope = (patterns.counts @ (up.scores - down.scores)) / 2e-5
        assert np.allclose(point.hessian[j], slope, atol=1e-3)


@pytest.mark.parametrize(("seed", "n"), [(10, 1000), (34, 1000), (45, 1000), (7, 50_000)])
def test_the_maximum_is_told_where_rounding_hides_it(seed, n):
    """Two randomised covariates; the likelihood is too large, or too flat, to rise measurably."""
    rng = np.random.default_rng(seed)
    x, z = rng.integers(0, 2, n), rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    eta = -0.5 + x - 0.5 * (z == 1) + 0.8 * (z == 2)
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    plan = {"x": pramble.randomized_response(2, 2.0), "z": pramble.randomized_response(4, 2.0)}
    frame = {"x": released(x, plan["x"], rng), "z": released(z, plan["z"], rng), "y": y}
    keywords = {"response": "y", "covariates": ["x", "z"]}
    fits = [pramble.estimate_regression(frame, plan, **keywords)]
    for weight in (1e-3, 1e6):
        frame["w"] = np.full(n, weight)
        fits.append(pramble.estimate_regression(frame, plan, weights="w", **keywords))
    for other in fits[1:]:
        difference = np.abs(other.coefficients - fits[0].coefficients)
        assert (difference < 1e-3 * fits[0].standard_errors).all()


def test_no_damping_and_no_lost_digit_keeps_climb_from_ending_at_the_maximum():
    """Started at the maximum, and near it in every direction, it stays."""
    rng = np.random.default_rng(9)
    frame = people(rng, 4000)
    m = pramble.randomized_response(3, 1.5)
    frame["x"] = released(frame.x.to_numpy(), m, rng)
    patterns = patterns_of(frame, {"x": m}, response="y", covariates=["x", "sex"], binary=True)
    q = patterns.seen.shape[1] + patterns.unseen.shape[1]
    theta, point = climb(patterns, start(patterns, q))
    errors = np.sqrt(np.diag(np.linalg.inv(-point.hessian)))
    for size in (0.0, 1e-8, 1e-6, 1e-4, 0.1):
        again, _ = climb(patterns, theta + size * errors * rng.choice([-1, 1], len(theta)))
        assert (np.abs(again - theta) < 1e-4 * errors).all()


def mean_and_error(fits):
    values = np.array(fits)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_a_randomised_covariate_is_unbiased_where_the_naive_fit_is_not(family):
    rng = np.random.default_rng(4)
    m = pramble.randomized_response(3, 2.0)
    right, naive, errors = [], [], []
    for _ in range(25):
        frame = people(rng, 4000, family=family)
        frame["x"] = released(frame.x.to_numpy(), m, rng)
        fit = pramble.estimate_regression(
            frame, {"x": m}, response="y", covariates=COVARIATES, family=family
        )
        right.append(fit.coefficients)
        errors.append(fit.standard_errors)
        naive.append(
            pramble.estimate_regression(
                untouched(frame), {}, response="y", covariates=COVARIATES, family=family
            ).coefficients
        )
    mean, error = mean_and_error(right)
    assert (np.abs(mean - TRUTH) < 4 * error).all()
    mean_naive, error_naive = mean_and_error(naive)
    assert (np.abs(mean_naive - TRUTH)[1:3] > 8 * error_naive[1:3]).all()
    spread = np.array(right).std(axis=0, ddof=1)
    assert np.allclose(np.mean(errors, axis=0), spread, rtol=0.45)


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_a_randomised_response_is_unbiased_where_the_naive_fit_is_not(family):
    rng = np.random.default_rng(5)
    m = pramble.keep_probabilities([0.8, 0.7])
    right, naive = [], []
    for _ in range(20):
        frame = people(rng, 4000)
        truth = sm.OLS(frame.y, raw_design(frame)).fit().params.to_numpy()
        frame["y"] = released(frame.y.to_numpy(), m, rng)
        target = TRUTH if family == "logistic" else truth
        keywords = {"response": "y", "covariates": COVARIATES, "family": family}
        fit = pramble.estimate_regression(untouched(frame), {"y": m}, **keywords)
        right.append(fit.coefficients - target)
        blind = pramble.estimate_regression(untouched(frame), {}, **keywords)
        naive.append(blind.coefficients - target)
    mean, error = mean_and_error(right)
    assert (np.abs(mean) < 4 * error).all()
    mean_naive, error_naive = mean_and_error(naive)
    assert (np.abs(mean_naive)[1:] > 8 * error_naive[1:]).all()


def test_two_randomised_covariates_and_a_randomised_response_together():
    rng = np.random.default_rng(6)
    plan = {
        "x": pramble.randomized_response(3, 3.0),
        "sex": pramble.randomized_response(["f", "m"], 2.5),
        "y": pramble.randomized_response(2, 3.0),
    }
    frame = people(rng, 40_000)
    frame["x"] = released(frame.x.to_numpy(), plan["x"], rng)
    sex = released((frame.sex == "m").to_numpy().astype(int), plan["sex"], rng)
    frame["sex"] = np.where(sex == 1, "m", "f")
    frame["y"] = released(frame.y.to_numpy(), plan["y"], rng)
    r = pramble.estimate_regression(frame, plan, response="y", covariates=COVARIATES)
    assert r.names == ("intercept", "x[1]", "x[2]", "sex[m]", "age")
    assert (np.abs(r.coefficients - TRUTH) < 4 * r.standard_errors).all()
    assert r.standard_errors.max() < 0.2


def test_a_regression_pickles_and_is_read_only():
    frame = people(np.random.default_rng(0), 200)
    r = pramble.estimate_regression(untouched(frame), {}, response="y", covariates=["sex"])
    again = pickle.loads(pickle.dumps(r))
    assert np.array_equal(again.coefficients, r.coefficients)
    assert not again.covariance.flags.writeable
    assert isinstance(again.table, pd.DataFrame)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"family": "probit"}, "family must be"),
        ({"covariates": ["y"]}, "without the response"),
        ({"response": "x"}, "two values; 'x' has 3"),
        ({"success": 7}, "success must be a value"),
        ({"response": "sex", "family": "linear"}, "must hold numbers"),
        ({"covariates": ["height"]}, "no column 'height'"),
    ],
)
def test_regressions_that_make_no_sense_are_refused(keywords, words):
    frame = people(np.random.default_rng(0), 50)
    arguments = {"response": "y", "covariates": ["age"], **keywords}
    with pytest.raises(pramble.InvalidInput, match=words):
        pramble.estimate_regression(untouched(frame), {}, **arguments)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0, 1.0], "must not be negative"),
        ([0.0] * 4, "nor all zero"),
        ("x", "'x' is randomised"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    frame = {"y": [1.0, 2.0, 3.0, 4.0], "x": [0, 1, 0, 1]}
    plan = {"x": pramble.randomized_response([0, 1], 2.0)}
    with pytest.raises(PrambleError, match=message):
        pramble.estimate_regression(
            frame, plan, response="y", covariates=["x"], family="linear", weights=weights
        )

"""Without randomisation every family gives what statsmodels gives, sandwich errors included."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel
from tests.estimation.regression.people import NAMES, people, raw_design

import pramble

FRAME = people(np.random.default_rng(0), 2000)
COVARIATES = ["x", "sex", "age"]
ORACLES = {
    "logistic": ("y", sm.Logit),
    "linear": ("line", sm.OLS),
    "poisson": ("count", sm.Poisson),
    "multinomial": ("grade", sm.MNLogit),
}


@pytest.mark.parametrize("family", ORACLES)
def test_coefficients_and_errors_are_those_of_statsmodels(family):
    response, oracle = ORACLES[family]
    keywords = {} if family == "linear" else {"disp": 0}
    expected = oracle(FRAME[response], raw_design(FRAME)).fit(cov_type="HC0", **keywords)
    params, errors = (np.asarray(v).T.ravel() for v in (expected.params, expected.bse))
    by_formula = pramble.estimate_regression(
        FRAME, {}, f"{response} ~ x + sex + age", family=family
    )
    by_name = pramble.estimate_regression(
        FRAME, {}, response=response, covariates=COVARIATES, family=family
    )
    for found in (by_formula, by_name):
        np.testing.assert_allclose(found.coefficients, params, atol=1e-6)
        np.testing.assert_allclose(found.standard_errors, errors, rtol=1e-5)
        assert np.allclose(found.inflation, 1, rtol=1e-9)
        assert not found.notes
    assert by_formula.names == by_name.names
    if family == "multinomial":
        assert by_name.names[:6] == (*(f"1: {name}" for name in NAMES), "2: intercept")
    else:
        assert by_name.names == NAMES
        interval = np.asarray(expected.conf_int())
        np.testing.assert_allclose(np.c_[by_name.lower, by_name.upper], interval, atol=1e-5)
        np.testing.assert_allclose(by_name.p_values, expected.pvalues, atol=1e-6)


def test_proportional_odds_are_those_of_statsmodels():
    design = raw_design(FRAME)[:, 1:]
    grades = pd.Series(pd.Categorical(FRAME.grade, ordered=True))
    model = OrderedModel(grades, design, distr="logit")
    fit = model.fit(disp=0, method="newton")
    found = pramble.estimate_regression(FRAME, {}, "grade ~ x + sex + age", family="ordinal")
    assert found.names == (*NAMES[1:], "0|1", "1|2", "2|3")
    thresholds = model.transform_threshold_params(np.asarray(fit.params))[1:-1]
    np.testing.assert_allclose(found.coefficients[:4], fit.params[:4], atol=1e-5)
    np.testing.assert_allclose(found.coefficients[4:], thresholds, atol=1e-5)
    scores = model.score_obs(np.asarray(fit.params))
    bread = np.linalg.inv(-model.hessian(np.asarray(fit.params)))
    sandwich = bread @ (scores.T @ scores) @ bread
    np.testing.assert_allclose(found.standard_errors[:4], np.sqrt(np.diag(sandwich))[:4], rtol=1e-3)


def test_survey_weights_are_those_of_statsmodels():
    expected = sm.WLS(FRAME.line, raw_design(FRAME), weights=FRAME.w).fit(cov_type="HC0")
    for scale in (1.0, 1e-6, 1e6):
        found = pramble.estimate_regression(
            FRAME.assign(w=FRAME.w * scale), {}, "line ~ x + sex + age", family="linear",
            weights="w",
        )  # fmt: skip
        np.testing.assert_allclose(found.coefficients, expected.params, atol=1e-9)
        np.testing.assert_allclose(found.standard_errors, expected.bse, rtol=1e-8)


def test_whole_weights_are_repeated_records_for_coefficients():
    times = np.random.default_rng(1).integers(0, 4, len(FRAME))
    weighted = pramble.estimate_regression(FRAME, {}, "y ~ x + age", weights=times.astype(float))
    repeated = FRAME.loc[FRAME.index.repeat(times)]
    plain = pramble.estimate_regression(repeated, {}, "y ~ x + age")
    np.testing.assert_allclose(weighted.coefficients, plain.coefficients, atol=1e-8)


def test_clusters_are_those_of_statsmodels():
    expected = sm.Logit(FRAME.y, raw_design(FRAME)).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": FRAME.house, "use_correction": False}
    )
    m = FRAME.house.nunique()
    found = pramble.estimate_regression(
        FRAME, {}, "y ~ x + sex + age", survey={"clusters": "house"}
    )
    np.testing.assert_allclose(
        found.standard_errors, expected.bse * np.sqrt(m / (m - 1)), rtol=1e-6
    )


@pytest.mark.parametrize("clusters", [None, "house"])
def test_strata_are_the_textbook_formula(clusters):
    found = pramble.estimate_regression(
        FRAME,
        {},
        "line ~ age",
        family="linear",
        weights="w",
        survey=pramble.Survey(strata="region", clusters=clusters),
    )
    design = np.c_[np.ones(len(FRAME)), FRAME.age]
    w, line = FRAME.w.to_numpy(), FRAME.line.to_numpy()
    u = design * (w * (line - design @ found.coefficients))[:, None]
    meat = np.zeros((2, 2))
    for region in range(5):
        own = (FRAME.region == region).to_numpy()
        sums = u[own]
        if clusters is not None:
            sums = pd.DataFrame(sums).groupby(FRAME.house[own].to_numpy()).sum().to_numpy()
        centred = sums - sums.mean(axis=0)
        meat += len(sums) / (len(sums) - 1) * centred.T @ centred
    bread = np.linalg.inv((design * w[:, None]).T @ design)
    np.testing.assert_allclose(found.covariance, bread @ meat @ bread, rtol=1e-8)


def test_a_finite_population_shrinks_the_sampling_variance():
    plain = pramble.estimate_regression(FRAME, {}, "y ~ x")
    half = pramble.estimate_regression(
        FRAME, {}, "y ~ x", survey={"population_size": 2 * len(FRAME)}
    )
    share = len(FRAME) / (2 * len(FRAME) - 1)
    np.testing.assert_allclose(half.covariance, share * plain.covariance)
    none = pramble.estimate_regression(FRAME, {}, "y ~ x", covers="randomisation")
    assert np.abs(none.covariance).max() < 1e-15

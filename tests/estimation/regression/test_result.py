"""The answer of a regression: predictions, and how it is shown."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
from tests.estimation.regression.people import NAMES, PLANS, people, raw_design

import pramble

FRAME = people(np.random.default_rng(0), 3000)
RELEASED = pramble.perturb(FRAME, PLANS["columns"], key=bytes(32))
FORMULA = "y ~ x + sex + age"
FIT = pramble.estimate_regression(RELEASED, PLANS["columns"], FORMULA)


def test_it_pickles_is_read_only_and_predicts_afterwards():
    again = pickle.loads(pickle.dumps(FIT))
    assert np.array_equal(again.coefficients, FIT.coefficients)
    assert not again.covariance.flags.writeable
    pd.testing.assert_frame_equal(again.predict(FRAME[:5]), FIT.predict(FRAME[:5]))


def test_frames_of_every_library():
    assert isinstance(FIT.table, pd.DataFrame)
    assert isinstance(FIT.to_polars(), pl.DataFrame)
    assert isinstance(FIT.to_arrow(), pa.Table)
    assert FIT.to_pandas().columns.tolist() == [
        "term", "coefficient", "standard_error", "lower", "upper", "z", "p_value", "inflation",
    ]  # fmt: skip
    np.testing.assert_allclose(FIT.z, FIT.coefficients / FIT.standard_errors)


def test_text_and_html_have_the_numbers():
    for text in (repr(FIT), FIT.summary(), FIT._repr_html_()):
        assert "3,000 records" in text
        for name, value in zip(FIT.names, FIT.coefficients, strict=True):
            assert name in text
            assert f"{value:.5g}" in text
    hostile = FRAME.assign(x=FRAME.x.replace({"b": "z<script>"}))
    shown = pramble.estimate_regression(hostile, {}, "y ~ x")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_inflation_is_what_randomisation_adds():
    """Against fits without randomisation, on average."""
    raw = pramble.estimate_regression(FRAME, {}, FORMULA)
    factor = (FIT.standard_errors / raw.standard_errors) ** 2
    assert np.allclose(raw.inflation, 1, rtol=1e-9)
    assert (np.abs(np.log(FIT.inflation / factor)) < 0.7).all()
    assert FIT.inflation[NAMES.index("x[b]")] > 2
    assert FIT.inflation[NAMES.index("age")] < 1.5


@pytest.mark.parametrize("family", ["logistic", "linear", "poisson"])
def test_predictions_are_those_of_statsmodels(family):
    response = {"logistic": "y", "linear": "line", "poisson": "count"}[family]
    kinds = {
        "logistic": sm.families.Binomial(),
        "linear": sm.families.Gaussian(),
        "poisson": sm.families.Poisson(),
    }
    design = raw_design(FRAME)
    oracle = sm.GLM(FRAME[response], design, family=kinds[family]).fit(cov_type="HC0")
    expected = oracle.get_prediction(design[:20]).summary_frame()
    fit = pramble.estimate_regression(
        FRAME, {}, response=response, covariates=["x", "sex", "age"], family=family
    )
    found = fit.predict(FRAME[:20])
    name = "probability" if family == "logistic" else "mean"
    np.testing.assert_allclose(found[name], expected["mean"], atol=1e-7)
    np.testing.assert_allclose(found["standard_error"], expected["mean_se"], rtol=1e-5)
    np.testing.assert_allclose(found["lower"], expected["mean_ci_lower"], rtol=1e-4)
    np.testing.assert_allclose(found["upper"], expected["mean_ci_upper"], rtol=1e-4)


@pytest.mark.parametrize("family", ["multinomial", "ordinal"])
def test_predicted_classes_sum_to_one(family):
    fit = pramble.estimate_regression(FRAME, {}, "grade ~ x + age", family=family)
    found = fit.predict({"x": ["a", "b"], "age": [0.0, 1.0]}, level=0.5)
    assert found["class"].tolist() == ["0", "1", "2", "3"] * 2
    assert found["row"].tolist() == [0] * 4 + [1] * 4
    np.testing.assert_allclose(found.groupby("row")["probability"].sum(), 1)
    assert (found["lower"] < found["probability"]).all()
    assert found["upper"].max() < 1


def test_predictions_refuse_what_the_model_does_not_know():
    with pytest.raises(pramble.InvalidInput, match="categories of the model: 'a', 'b', 'c'"):
        FIT.predict({"x": ["z"], "sex": ["f"], "age": [1.0]})
    with pytest.raises(pramble.InvalidInput, match="no column 'age'"):
        FIT.predict({"x": ["a"], "sex": ["f"]})
    with pytest.raises(pramble.InvalidInput, match="must hold numbers"):
        FIT.predict({"x": ["a"], "sex": ["f"], "age": ["old"]})


def test_predictions_that_rest_on_what_is_not_told_say_nothing():
    frame = FRAME.assign(group=np.where((FRAME.y == 1) & (FRAME.index % 50 == 0), "all", FRAME.sex))
    fit = pramble.estimate_regression(frame, {}, "y ~ C(group, contr.treatment('f')) + age")
    found = fit.predict({"group": ["f", "all"], "age": [0.0, 0.0]})
    assert found["upper"][0] < 0.7
    assert (found["lower"][1], found["upper"][1]) == (0.0, 1.0)


def test_it_is_drawn():
    figure = FIT.plot()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == list(FIT.names)

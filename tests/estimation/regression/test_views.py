"""Regressions from views: unlinked files, one table with its covariance."""

import numpy as np
import pytest
from tests.estimation.regression.people import people

import pramble

X = pramble.randomized_response(list("abc"), 3.0)
SEX = pramble.randomized_response(["f", "m"], 3.0)
Y = pramble.randomized_response([0, 1], 3.0)
VIEWS = pramble.Views(
    {"all": {"x": X, "sex": SEX, "y": Y}, "pair": {"x": X, "sex": SEX}, "one": {"y": Y}}
)
FORMULA = "y ~ x + sex"


def test_they_give_what_the_file_gives_and_know_their_error():
    frame = people(np.random.default_rng(0), 8000)[["x", "sex", "y"]]
    raw = pramble.estimate_regression(frame, {}, FORMULA)
    inside, values, errors, alone = [], [], [], []
    for run in range(16):
        data = pramble.perturb(frame, VIEWS, key=run.to_bytes(32, "big"))
        found = pramble.estimate_regression(data, VIEWS, FORMULA, covers="randomisation")
        assert found.names == raw.names
        inside.append((found.lower <= raw.coefficients) & (raw.coefficients <= found.upper))
        values.append(found.coefficients)
        errors.append(found.standard_errors)
        one = pramble.estimate_regression(
            data["all"], VIEWS["all"], FORMULA, covers="randomisation"
        )
        alone.append(one.standard_errors)
    assert np.mean(inside) > 0.88
    off = np.abs(np.mean(values, axis=0) - raw.coefficients) / np.mean(errors, axis=0)
    assert (off < 1).all()
    ratio = np.mean(errors, axis=0) / np.std(values, axis=0, ddof=1)
    assert (ratio > 0.6).all()
    assert (ratio < 1.7).all()
    assert np.mean(errors) < np.mean(alone)


def test_one_view_is_the_plan_of_its_file():
    frame = people(np.random.default_rng(1), 3000)[["x", "sex", "y"]]
    views = pramble.Views({"all": {"x": X, "sex": SEX, "y": Y}})
    data = pramble.perturb(frame, views, key=bytes(32))
    one = pramble.estimate_regression(data, views, FORMULA)
    two = pramble.estimate_regression(data["all"], views["all"], FORMULA)
    np.testing.assert_allclose(one.coefficients, two.coefficients, atol=1e-7)
    np.testing.assert_allclose(one.standard_errors, two.standard_errors, rtol=1e-6)
    effects = one.marginal_effects(), two.marginal_effects()
    np.testing.assert_allclose(effects[0].values, effects[1].values, atol=1e-7)
    np.testing.assert_allclose(effects[0].standard_errors, effects[1].standard_errors, rtol=1e-5)


def test_what_no_view_shows_together_is_refused():
    views = pramble.Views({"pair": {"x": X, "sex": SEX}, "other": {"sex": SEX, "y": Y}})
    frame = people(np.random.default_rng(1), 300)[["x", "sex", "y"]]
    data = pramble.perturb(frame, views, key=bytes(32))
    with pytest.raises(pramble.NotIdentifiable, match="y and x together"):
        pramble.estimate_regression(data, views, FORMULA)
    with pytest.raises(pramble.InvalidInput, match="strata= does not go with views"):
        pramble.estimate_regression(data, views, "y ~ sex", strata="x")
    assert pramble.estimate_regression(data, views, "y ~ sex").names == ("intercept", "sex[m]")

"""A regression says nothing else than the table of its columns, and every family is right."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.estimation.regression.people import PLANS, people

import pramble

X = pramble.randomized_response(list("abc"), 2.5)
Y = pramble.randomized_response([0, 1], 2.5)
BOTH = pramble.randomized_response(list(product("abc", [0, 1])), 3.0)
SATURATED = {
    "one column": pramble.Plan({"x": X}),
    "two columns": pramble.Plan({"x": X, "y": Y}),
    "a joint block": pramble.Plan({("x", "y"): BOTH}),
    "branches": pramble.Plan(
        branches=[
            pramble.Branch(Fraction(2, 3), {("x", "y"): BOTH}),
            pramble.Branch(Fraction(1, 3), {"x": X}),
        ]
    ),
}
FRAME = people(np.random.default_rng(6), 6000)[["x", "y", "w"]]


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("plan", SATURATED)
def test_a_saturated_model_has_the_odds_of_the_estimated_table(plan, weights):
    released = pramble.perturb(FRAME, SATURATED[plan], key=bytes(32))
    keywords = {"weights": weights}
    fit = pramble.estimate_regression(released, SATURATED[plan], "y ~ 0 + x", **keywords)
    table = pramble.estimate(released, SATURATED[plan], by=["x", "y"], method="inverse", **keywords)
    p = table.probabilities.reshape(3, 2)
    np.testing.assert_allclose(fit.coefficients, np.log(p[:, 1] / p[:, 0]), atol=1e-7)
    slopes = np.kron(np.eye(3), [-1.0, 1.0]) / np.maximum(table.probabilities, 1e-9)
    expected = np.sqrt(np.diag(slopes @ table.covariance @ slopes.T))
    np.testing.assert_allclose(fit.standard_errors, expected, rtol=1e-6)
    alone = {"covers": "randomisation"}
    inside = pramble.estimate(
        released, SATURATED[plan], by=["x", "y"], method="inverse", **keywords, **alone
    )
    fit = pramble.estimate_regression(released, SATURATED[plan], "y ~ 0 + x", **keywords, **alone)
    expected = np.sqrt(np.diag(slopes @ inside.covariance @ slopes.T))
    np.testing.assert_allclose(fit.standard_errors, expected, rtol=1e-5)


def test_the_order_of_records_and_of_columns_does_not_matter():
    frame = people(np.random.default_rng(1), 2000)
    plan = PLANS["sampled branches"]
    released = pramble.perturb(frame, plan, key=bytes(32))
    one = pramble.estimate_regression(released, plan, "y ~ x + sex + age")
    shuffled = released.sample(frac=1, random_state=1)[list(reversed(released.columns))]
    two = pramble.estimate_regression(shuffled, plan, "y ~ age + sex + x")
    place = [two.names.index(name) for name in one.names]
    np.testing.assert_allclose(one.coefficients, two.coefficients[place], rtol=1e-7)
    np.testing.assert_allclose(one.standard_errors, two.standard_errors[place], rtol=1e-6)


RESPONSES = {
    "logistic": "y",
    "linear": "line",
    "poisson": "count",
    "multinomial": "grade",
    "ordinal": "grade",
}


@pytest.mark.parametrize("family", RESPONSES)
@pytest.mark.parametrize("plan", ["columns", "sampled branches"])
def test_every_family_gives_what_the_file_gives(family, plan):
    frame = people(np.random.default_rng(11), 4000)
    formula = f"{RESPONSES[family]} ~ x + sex + age"
    raw = pramble.estimate_regression(frame, {}, formula, family=family)
    values, z = [], []
    for run in range(6):
        released = pramble.perturb(frame, PLANS[plan], key=run.to_bytes(32, "big"))
        found = pramble.estimate_regression(
            released, PLANS[plan], formula, family=family, covers="randomisation"
        )
        assert found.names == raw.names
        assert not found.notes
        values.append(found.coefficients)
        z.append((found.coefficients - raw.coefficients) / found.standard_errors)
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(6)
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5


@pytest.mark.parametrize("family", ["linear", "poisson", "multinomial", "ordinal"])
def test_a_randomised_response_of_every_family(family):
    frame = people(np.random.default_rng(12), 4000)
    plan = {
        "grade": pramble.randomized_response(range(4), 3.0),
        "x": pramble.randomized_response(list("abc"), 3.0),
    }
    raw = pramble.estimate_regression(frame, {}, "grade ~ x + age", family=family)
    z = []
    for run in range(6):
        released = pramble.perturb(frame, plan, key=run.to_bytes(32, "big"))
        found = pramble.estimate_regression(
            released, plan, "grade ~ x + age", family=family, covers="randomisation"
        )
        assert found.names == raw.names
        z.append((found.coefficients - raw.coefficients) / found.standard_errors)
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(6)
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5

"""Formulas: what they name, what they take randomised columns for, what they refuse."""

import builtins

import numpy as np
import pytest
import statsmodels.formula.api as smf
from tests.estimation.regression.people import people

import pramble
from pramble.estimation.regression.formula import read_formula
from pramble.estimation.regression.regression import material_of_records, pose
from pramble.estimation.regression.solve import solve

FRAME = people(np.random.default_rng(8), 1500).assign(school=lambda f: f.grade)
SCHOOL = pramble.randomized_response(range(4), 3.0)


def fit(formula, plan=None, data=FRAME, **keywords):
    return pramble.estimate_regression(data, {} if plan is None else plan, formula, **keywords)


RAW = [
    "y ~ x * sex + age",
    "y ~ x:sex + age",
    "y ~ 0 + x + age",
    "y ~ x:age + C(region)",
    "y ~ np.log(w) + I(age ** 2) + C(school > 1)",
    "y ~ C(x) * C(region) - sex",
    "y ~ 1",
]


@pytest.mark.parametrize("formula", RAW)
def test_raw_formulas_give_the_fit_of_statsmodels(formula):
    """Parameters may be coded otherwise; what is fitted is the same."""
    found = fit(formula)
    expected = smf.logit(formula, FRAME).fit(disp=0)
    assert len(found.names) == len(expected.params)
    asked = read_formula(formula, response=None, covariates=None)
    material = material_of_records(
        FRAME, {}, asked.columns, weights=None, survey=pramble.Survey(), reading=None
    )
    problem, _, _ = pose(material, asked, family="logistic")
    _, point, _ = solve(problem, classes=0)
    assert point.value == pytest.approx(expected.llf, abs=1e-8)


NAMES = {
    "y ~ x": ("intercept", "x[b]", "x[c]"),
    "y ~ C(x)": ("intercept", "x[b]", "x[c]"),
    "y ~ C(x, contr.treatment('b'))": ("intercept", "x[a]", "x[c]"),
    "y ~ x * age": ("intercept", "x[b]", "x[c]", "age", "x[b]:age", "x[c]:age"),
    "y ~ C(x == 'a')": ("intercept", "C(x == 'a')[True]"),
    "y ~ school": ("intercept", "school[1]", "school[2]", "school[3]"),
    "y ~ I(school)": ("intercept", "I(school)"),
    "y ~ C(school > 1)": ("intercept", "C(school > 1)[True]"),
    "y ~ I(x.map({'a': 0.0, 'b': 2.0, 'c': 3.0}))": (
        "intercept",
        "I(x.map({'a': 0.0, 'b': 2.0, 'c': 3.0}))",
    ),
    "I(school > 1) ~ age": ("intercept", "age"),
    "y ~ `my age` + C(`my x`)": ("intercept", "my age", "my x[b]", "my x[c]"),
}


@pytest.mark.parametrize("formula", NAMES)
def test_names_are_readable_with_and_without_randomisation(formula):
    plan = {
        "x": pramble.randomized_response(list("abc"), 3.0),
        "my x": pramble.randomized_response(list("abc"), 3.0),
        "school": SCHOOL,
    }
    data = FRAME.assign(**{"my age": FRAME.age, "my x": FRAME.x})
    assert fit(formula, plan, data).names == NAMES[formula]


def test_labels_in_brackets_are_named_as_they_are():
    data = FRAME.assign(band=np.where(FRAME.age < 0, "[18,24]", "[25,35]"))
    for formula in ("y ~ band", "y ~ C(band)", "y ~ band + sex"):
        assert fit(formula, data=data).names[:2] == ("intercept", "band[[25,35]]")
    plain = pramble.estimate_regression(data, {}, response="y", covariates=["band"])
    assert plain.names == ("intercept", "band[[25,35]]")


def test_what_an_expression_learns_it_learns_of_all_records():
    frame = FRAME.assign(years=(FRAME.age * 10).round())
    centred, plain = fit("y ~ center(years)", data=frame), fit("y ~ years", data=frame)
    shift = plain.coefficients[1] * frame.years.mean()
    assert centred.coefficients[0] == pytest.approx(plain.coefficients[0] + shift, abs=1e-9)
    weighted = fit("y ~ center(years)", data=frame, weights="w")
    plain = fit("y ~ years", data=frame, weights="w")
    shift = plain.coefficients[1] * frame.years.mean()
    assert weighted.coefficients[0] == pytest.approx(plain.coefficients[0] + shift, abs=1e-9)
    spline = fit("y ~ bs(years, df=4)", data=frame)
    assert len(spline.names) == 5
    with pytest.raises(pramble.InvalidInput, match="distribution of a randomised column"):
        fit("y ~ scale(school)", {"school": SCHOOL})


def test_randomised_columns_collapsed_scored_and_in_interactions_are_unbiased():
    formula = "y ~ C(school > 1) * age + I(school) + x"
    plan = {"school": SCHOOL, "x": pramble.randomized_response(list("abc"), 3.0)}
    frame = people(np.random.default_rng(2), 4000).assign(school=lambda f: f.grade)
    truth = fit(formula, data=frame)
    found = [
        fit(formula, plan, pramble.perturb(frame, plan, key=run.to_bytes(32, "big")),
            covers="randomisation")
        for run in range(8)
    ]  # fmt: skip
    values = np.array([one.coefficients for one in found])
    errors = np.mean([one.standard_errors for one in found], axis=0)
    assert (np.abs(values.mean(axis=0) - truth.coefficients) < 4 * errors / np.sqrt(8)).all()
    assert found[0].names == truth.names


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ x +", "must be like"),
        ("~ x", "one response"),
        ("y + w ~ x", "one response"),
        ("y ~ nothing", "no column 'nothing'"),
        ("y ~ I(age * school)", "Write a product as an interaction"),
        ("y ~ np.log(0 * age)", "finite number"),
        ("y ~ I(1 + 2)", "made of columns"),
        ("y ~ age.round(", "must be like"),
        ("y ~ x.nothing()", "cannot be evaluated"),
    ],
)
def test_formulas_that_make_no_sense_are_refused(formula, words):
    with np.errstate(all="ignore"), pytest.raises(pramble.InvalidInput, match=words):
        fit(formula, {"school": SCHOOL})


def test_thresholds_take_the_place_of_an_intercept():
    with pytest.raises(pramble.InvalidInput, match=r"leave '0 [+]' out"):
        fit("grade ~ 0 + x", family="ordinal")


def test_without_formulaic_it_is_said_what_to_do(monkeypatch):
    original = builtins.__import__

    def without(name, *rest, **keywords):
        if name.split(".")[0] == "formulaic":
            raise ImportError(name)
        return original(name, *rest, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(pramble.InvalidInput, match=r"pramble\[regression\]"):
        fit("y ~ x")

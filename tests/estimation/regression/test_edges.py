"""What went wrong with regressions once, and what must be refused or said."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.estimation.regression.people import PLANS, people

import pramble

FRAME = people(np.random.default_rng(5), 2000)


def fit(data, plan=None, formula=None, **keywords):
    return pramble.estimate_regression(data, {} if plan is None else plan, formula, **keywords)


def test_one_missing_number_is_left_out_and_a_number_stays_a_number():
    broken = FRAME.assign(age=FRAME.age.where(FRAME.index != 3))
    for keywords in ({"formula": "y ~ x + age"}, {"response": "y", "covariates": ["x", "age"]}):
        found = fit(broken, **keywords)
        assert found.names == ("intercept", "x[b]", "x[c]", "age")
        assert found.n == len(FRAME) - 1
        assert found.notes == ("Records without a value are left out: 1 of age.",)
        without = fit(FRAME.drop(index=3), **keywords)
        np.testing.assert_allclose(found.coefficients, without.coefficients)


def test_missing_labels_of_an_untouched_column_are_left_out():
    broken = FRAME.assign(sex=FRAME.sex.where(FRAME.index % 10 > 0))
    found = fit(broken, {"x": PLANS["columns"].branches[0].blocks[("x",)]}, "y ~ x + sex")
    assert found.n == 1800
    assert found.names[-1] == "sex[m]"
    with pytest.raises(pramble.InvalidData, match="none has"):
        fit(FRAME.assign(age=np.nan), formula="y ~ age")


def test_a_category_of_integers_is_no_slope():
    frame = FRAME.assign(region=pd.Categorical(FRAME.region + 1))
    for keywords in ({"formula": "y ~ region"}, {"response": "y", "covariates": "region"}):
        assert fit(frame, **keywords).names == ("intercept", *(f"region[{i}]" for i in range(2, 6)))
    assert fit(FRAME, formula="y ~ region").names == ("intercept", "region")
    assert len(fit(FRAME, formula="y ~ C(region)").names) == 5


def test_the_order_of_categories_is_kept():
    ordered = pd.Categorical(FRAME.x, categories=["c", "a", "unused", "b"])
    polars = pl.from_pandas(FRAME[["x", "y"]]).cast({"x": pl.Enum(["c", "a", "unused", "b"])})
    for data in (FRAME.assign(x=ordered), polars, polars.lazy()):
        for keywords in ({"formula": "y ~ x"}, {"response": "y", "covariates": "x"}):
            assert fit(data, **keywords).names == ("intercept", "x[a]", "x[b]")
    plan = {"x": pramble.randomized_response(["b", "c", "a"], 3.0)}
    assert fit(FRAME, plan, "y ~ x").names == ("intercept", "x[c]", "x[a]")


def test_one_covariate_is_a_name_and_no_letters():
    found = fit(FRAME.rename(columns={"x": "MARST"}), response="y", covariates="MARST")
    assert found.names == ("intercept", "MARST[b]", "MARST[c]")


@pytest.mark.parametrize("formula", ["y ~ apart", "y ~ nearly", "y ~ apart + x"])
def test_a_response_that_is_separated_everywhere_is_refused(formula):
    frame = FRAME.assign(apart=np.where(FRAME.y == 1, "u", "v"), nearly=FRAME.y + FRAME.w / 10)
    with pytest.raises(pramble.NotIdentifiable, match="separates the response"):
        fit(frame, formula=formula)


def test_a_category_that_separates_is_named_and_the_others_are_told():
    frame = FRAME.assign(group=np.where((FRAME.y == 1) & (FRAME.index % 50 == 0), "all", FRAME.sex))
    found = fit(frame, formula="y ~ C(group, contr.treatment('f')) + age")
    at = found.names.index("group[all]")
    assert np.isnan(found.coefficients[at])
    assert (found.lower[at], found.upper[at]) == (-np.inf, np.inf)
    assert np.isfinite(np.delete(found.standard_errors, at)).all()
    assert np.delete(found.standard_errors, at).max() < 0.2
    assert any("Nothing bounds group[all]" in note for note in found.notes)


def test_an_empty_category_of_a_randomised_column_has_no_end():
    plan = {"x": pramble.randomized_response(["a", "b", "c", "nobody"], 1.5)}
    released = pramble.perturb(FRAME[["x", "y", "age"]], plan, key=bytes(32))
    found = fit(released, plan, "y ~ x + age")
    assert np.isinf(found.upper[3])
    assert any("x[nobody]" in note for note in found.notes)
    assert np.isfinite(found.standard_errors[[1, 2]]).all()


@pytest.mark.parametrize("weight", [1e-7, 1e-4])
def test_a_rank_that_is_complete_by_hardly_anything_is_not_enough(weight):
    """The one output that tells a from b is never seen; what was seen looked certain."""
    rare = pramble.Mechanism.from_matrix(
        [[0.5, 0.3, 0.2, 0.0], [0.5 - weight, 0.3, 0.2, weight], [0.2, 0.3, 0.5, 0.0]],
        categories=["a", "b", "c"],
        outputs=["a", "b", "c", "?"],
    )
    released = pramble.perturb(FRAME[["x", "y"]], {"x": rare}, key=bytes(32))
    with pytest.raises(pramble.NotIdentifiable, match="must tell the shares of 'x'"):
        fit(released, {"x": rare}, "y ~ x")
    close = pramble.Mechanism.from_matrix(
        [[0.5, 0.3, 0.2], [0.5 - weight, 0.3 + weight, 0.2], [0.2, 0.3, 0.5]], ["a", "b", "c"]
    )
    released = pramble.perturb(FRAME[["x", "y"]], {"x": close}, key=bytes(32))
    with pytest.raises(pramble.NotIdentifiable, match="must tell the shares of 'x'"):
        fit(released, {"x": close}, "y ~ x")


def test_hardly_any_information_is_never_a_tight_interval():
    """At α = 0.2 some fits are refused, some open, some fall back; the rest cover."""
    plan = {"x": pramble.randomized_response(list("abc"), 0.2)}
    covered = []
    for run in range(12):
        frame = people(np.random.default_rng(run), 3000).assign(age=0.0)
        truth = fit(frame, formula="y ~ x").coefficients
        released = pramble.perturb(frame[["x", "y"]], plan, key=run.to_bytes(32, "big"))
        try:
            found = fit(released, plan, "y ~ x", covers="randomisation")
        except pramble.PrambleError:
            continue
        assert (found.standard_errors > 0.2).all()
        covered.append((found.lower <= truth) & (truth <= found.upper))
    assert np.mean(covered) > 0.9


def test_no_solution_and_nothing_to_fall_back_on_is_an_error_that_says_what_to_do():
    plan = {"x": pramble.randomized_response(list("abc"), 1.0)}
    errors, held = [], 0
    for run in range(20):
        frame = people(np.random.default_rng(run), 250)
        released = pramble.perturb(frame, plan, key=run.to_bytes(32, "big"))
        try:
            found = fit(released, plan, "y ~ x * sex + age")
        except pramble.PrambleError as error:
            errors.append(error)
            continue
        if any("held near zero" in note for note in found.notes):
            held += 1
            assert np.isinf(found.standard_errors).any()
    assert any(isinstance(error, pramble.NotConverged) for error in errors)
    assert all("ake fewer covariates" in str(error) for error in errors)
    assert held >= 2


def test_the_scale_of_a_column_does_not_matter():
    frame = FRAME.assign(
        year=2000 + 10 * FRAME.age, tiny=FRAME.age * 1e-9, huge=1e9 * FRAME.age + 3e9
    )
    plain = fit(frame, PLANS["columns"], "y ~ x + age")
    for column in ("year", "tiny", "huge"):
        other = fit(frame, PLANS["columns"], f"y ~ x + {column}")
        np.testing.assert_allclose(plain.z[1:], other.z[1:], rtol=1e-5)
    bent = fit(frame, PLANS["columns"], "y ~ x + year + I(year ** 2)")
    flat = fit(frame, PLANS["columns"], "y ~ x + age + I(age ** 2)")
    assert bent.z[-1] == pytest.approx(flat.z[-1], rel=1e-3)


def test_covariates_that_determine_one_another_are_named():
    frame = FRAME.assign(months=FRAME.age * 12)
    with pytest.raises(pramble.NotIdentifiable, match="these do: age, months"):
        fit(frame, formula="y ~ age + months")


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"family": "probit"}, "family must be"),
        ({"covariates": ["y"]}, "without the response"),
        ({"response": "x"}, "two values; 'x' has 3"),
        ({"success": 7}, "success must be a value"),
        ({"success": 1, "family": "linear"}, "success= goes with the logistic"),
        ({"response": "sex", "family": "linear"}, "must hold numbers"),
        ({"response": "line", "family": "poisson"}, "must not be negative"),
        ({"response": "line", "family": "ordinal"}, "2 to 40"),
        ({"covariates": ["height"]}, "no column 'height'"),
        ({"covers": "sampling"}, "covers must be"),
        ({"formula": "y ~ x"}, "not both"),
        ({"covariates": None}, "needs a formula"),
        ({"survey": {"clusters": "x"}, "plan": PLANS["columns"]}, "'x' is randomised"),
        ({"survey": {"population_size": 3}}, "population_size"),
    ],
)
def test_regressions_that_make_no_sense_are_refused(keywords, words):
    arguments = {"response": "y", "covariates": ["age"], **keywords}
    with pytest.raises(pramble.InvalidInput, match=words):
        fit(FRAME, **arguments)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0, 1.0] * 5, "must not be negative"),
        ([0.0] * 20, "nor all zero"),
        ("x", "'x' is randomised"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    frame = {"y": [1.0, 2.0, 3.0, 4.0] * 5, "x": [0, 1, 0, 1] * 5}
    plan = {"x": pramble.randomized_response([0, 1], 2.0)}
    with pytest.raises(pramble.PrambleError, match=message):
        pramble.estimate_regression(
            frame, plan, response="y", covariates=["x"], family="linear", weights=weights
        )


def test_a_plan_that_cannot_give_the_table_is_refused():
    m = pramble.randomized_response(["no", "yes"], 1.0)
    halves = [pramble.Branch(pramble.mechanisms.plan.Fraction(1, 2), {n: m}) for n in ("a", "b")]
    plan = pramble.Plan(branches=halves)
    data = {"a": ["no", None] * 50, "b": [None, "yes"] * 50, "y": [0, 1] * 50}
    with pytest.raises(pramble.NotIdentifiable, match="a and b together"):
        fit(data, plan, "y ~ a + b")


def test_rare_classes_are_told_to_have_short_intervals():
    rng = np.random.default_rng(8)
    y = rng.choice(["a", "b", "c"], 4000, p=[0.5, 0.47, 0.03])
    frame = {"y": y.tolist(), "x": rng.normal(size=4000).tolist()}
    plan = {"y": pramble.randomized_response(["a", "b", "c"], 2.0)}
    released = pramble.perturb(frame, plan, key=b"k" * 32)
    found = pramble.estimate_regression(released, plan, "y ~ x", family="multinomial")
    assert [note.split(" is worth")[0] for note in found.notes] == ["What is released of c"]
    raw = pramble.estimate_regression(frame, {}, "y ~ x", family="multinomial")
    assert not raw.notes

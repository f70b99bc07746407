"""Plans: what is read, what is refused and how it is said, and that nothing odd gets through."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.errors import InvalidPlan
from pramble.releasing.decisions.decisions import ColumnDecision, Decisions
from pramble.releasing.decisions.parsing import decisions_from, read_decisions
from pramble.releasing.decisions.settings import COLUMN, PLAN, RISK
from pramble.releasing.decisions.toml import decisions_to_toml

SEX = {"categories": ["m", "f"]}


def test_a_full_plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        """
alpha = 3
split = "optimal"
prior = "uniform"
drop = ["name"]
output = "csv"
[columns.sex]
categories = ["m", "f"]
missing = "?"
[columns.age]
categories = [0, 1, 2]
prior = "public"
prior_probabilities = [0.5, 0.25, 0.25]
family = "general"
objective = "estimation"
weight = 2
[risk]
keys = ["sex", "age"]
population_size = 1000
"""
    )
    plan = read_decisions(path)
    assert plan.limit.alpha == 3
    sex, age = plan.columns
    assert sex.labels() == ("m", "f", "?")
    assert sex.prior == "uniform"
    assert age.prior_probabilities == (0.5, 0.25, 0.25)
    assert age.family == "general"
    assert plan.risk.model == "two-way"
    assert decisions_from(tomllib.loads(decisions_to_toml(plan))) == plan


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alfa": 1}, "The plan has no setting 'alfa' (did you mean 'alpha'?)."),
        ({"column": {}}, "The plan has no setting 'column' (did you mean 'columns'?)."),
        ({"alpha": "two"}, "The plan: alpha must be a positive number; found 'two'."),
        ({"alpha": True}, "The plan: alpha must be a positive number; found True."),
        ({"alpha": 0}, "The plan: alpha must be a positive number; found 0."),
        ({"alpha": float("nan")}, "The plan: alpha must be a positive number; found nan."),
        ({"prior_share": 0.7}, "prior_share must be a number in (0, 0.5); found 0.7."),
        ({"split": "equall"}, "found 'equall' (did you mean 'equal'?)."),
        ({"drop": "name"}, "drop must be a list of column names; found 'name'."),
        ({"drop": ["a", "a"]}, "drop must name each column once; 'a' stands twice."),
        ({"drop": ["sex"]}, "Column 'sex' is both randomised and dropped."),
        ({"columns": {}}, "The plan must name the columns to randomise"),
        ({"columns": 3}, "The plan must name the columns to randomise"),
        ({"columns": {"sex": 3}}, "Column 'sex' must be a table; found 3."),
        ({"columns": {"sex": {}}}, "Column 'sex' must declare its categories"),
        ({"columns": {"sex": {**SEX, "alpha": 1}}}, "in total and column 'sex' its own"),
        ({"columns": {"sex": {"categories": ["m"]}}}, "must be at least two; found 1."),
        ({"columns": {"sex": {"categories": ["m", "m"]}}}, "must be distinct; 'm' stands twice."),
        ({"columns": {"sex": {"categories": [0.5, 1]}}}, "whole numbers or booleans; found 0.5."),
        ({"columns": {"sex": {"categories": "all"}}}, "a list of labels, or \"seen\"; found 'all'"),
        ({"columns": {"sex": {**SEX, "missing": 0.5}}}, "must be a label, or true"),
        ({"columns": {"sex": {**SEX, "invariant": 1}}}, "must be true or false; found 1."),
        ({"columns": {"sex": {**SEX, "prior": "public"}}}, "needs one of prior_file and"),
        ({"columns": {"sex": {**SEX, "prior_file": "x.csv"}}}, 'which needs prior = "public".'),
        (
            {"columns": {"sex": {**SEX, "prior": "public", "prior_probabilities": [0.5, 0.4]}}},
            "must sum to 1; the sum is 0.9.",
        ),
        (
            {"columns": {"sex": {**SEX, "prior": "public", "prior_probabilities": [1.0]}}},
            "has 2 categories and 1 prior_probabilities.",
        ),
        ({"risk": {}}, "The table [risk] must state population_size."),
        ({"risk": {"keys": ["sex"], "population_size": 0}}, "positive whole number; found 0."),
    ],
)
def test_one_sentence_per_mistake(change, sentence):
    with pytest.raises(InvalidPlan) as caught:
        decisions_from({"alpha": 1.0, "columns": {"sex": SEX}, **change})
    assert sentence in str(caught.value)
    assert all(line.endswith(".") for line in str(caught.value).splitlines())


def test_all_mistakes_are_told_together():
    with pytest.raises(InvalidPlan) as caught:
        decisions_from({"alpha": -1, "outputt": "csv", "columns": {"sex": {"categories": 3}}})
    assert len(str(caught.value).splitlines()) == 3


def test_alpha_must_come_from_somewhere():
    with pytest.raises(InvalidPlan, match="no alpha in total, and column 'sex' none"):
        decisions_from({"columns": {"sex": SEX}})
    with pytest.raises(InvalidPlan, match="A split is of a total"):
        decisions_from({"split": "optimal", "columns": {"sex": {**SEX, "alpha": 1}}})
    plan = decisions_from({"columns": {"sex": {**SEX, "alpha": 1}, "age": {**SEX, "alpha": 0.5}}})
    assert plan.limit.alpha == 1.5


def test_seen_categories_are_explicit():
    settings = {"alpha": 1, "columns": {"sex": {"categories": "seen"}}}
    assert decisions_from(settings).columns[0].categories is None
    assert decisions_from({"alpha": 1, "columns": {"sex": {}}}, seen_allowed=True).columns


def test_unknown_columns_are_named_with_a_hint():
    plan = decisions_from({"alpha": 1, "columns": {"sxe": SEX}, "drop": ["nme"]})
    with pytest.raises(InvalidPlan) as caught:
        plan.check_columns(["sex", "name"])
    first, second = str(caught.value).splitlines()
    assert "did you mean 'sex'?" in first
    assert "did you mean 'name'?" in second


def test_missing_categories():
    assert ColumnDecision("x", categories=("a", "b"), missing=True).labels() == ("a", "b", None)
    assert ColumnDecision("x", categories=("a", "b"), missing="b").labels() == ("a", "b")
    assert ColumnDecision("x", categories=(True, False), missing=1).labels() == (True, False, 1)


def test_designs_that_need_no_prior():
    assert not ColumnDecision("x").needs_prior(2)
    assert ColumnDecision("x").needs_prior(3)
    assert not ColumnDecision("x", family="response").needs_prior(9)
    assert ColumnDecision("x", invariant=True).needs_prior(2)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["seen", "uniform", "public", "optimal", "general", "csv", "sex"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
keys = st.sampled_from([*PLAN, *COLUMN, *RISK, "columns", "risk"]) | st.text(max_size=5)
tables = st.dictionaries(keys, values, max_size=4)
documents = st.fixed_dictionaries(
    {},
    optional={
        "alpha": st.sampled_from([1, 0.5]) | values,
        "columns": st.dictionaries(st.sampled_from(["sex", "age"]), tables | st.just(SEX)) | values,
        "risk": tables | values,
        "drop": st.lists(st.sampled_from(["sex", "name"])) | values,
    },
)


@settings(max_examples=200)
@given(documents, tables)
def test_any_settings_give_a_plan_or_clear_words(document, more):
    try:
        plan = decisions_from({**more, **document})
    except InvalidPlan as error:
        words = str(error)
    else:
        assert isinstance(plan, Decisions)
        assert plan.limit.alpha > 0
        assert decisions_from(tomllib.loads(decisions_to_toml(plan))) == plan
        return
    assert words
    assert all(line.endswith(".") for line in words.split("\n"))


@settings(max_examples=100)
@given(st.binary(max_size=80) | st.text(alphabet='[]="a.1\n#{},', max_size=60).map(str.encode))
def test_any_bytes_give_a_plan_or_clear_words(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_bytes(data)
    with pytest.raises(InvalidPlan):
        read_decisions(path)


def test_absent_plans(tmp_path):
    with pytest.raises(InvalidPlan, match="There is no plan"):
        read_decisions(tmp_path / "no.toml")
    with pytest.raises(InvalidPlan, match="is a folder"):
        read_decisions(tmp_path)

"""Plans: what is read, what is refused and how it is said, and that nothing odd gets through."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.errors import InvalidPlan
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.document import COLUMN, PLAN, RISK, read_spec, spec_from, spec_to_toml
from pramble.releasing.spec.spec import ReleaseSpec

SEX = {"categories": ["m", "f"]}


def test_a_full_plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        """
alpha = 3
design = "columns"
prior = "uniform"
drop = ["name"]
output = "csv"
[columns.sex]
categories = ["m", "f"]
missing = "?"
[columns.age]
categories = [0, 1, 2]
prior = [0.5, 0.25, 0.25]
family = "general"
objective = "estimation"
[risk]
keys = ["sex", "age"]
population_size = 1000
"""
    )
    plan = read_spec(path)
    assert plan.limit.alpha == 3
    sex, age = plan.columns
    assert sex.labels() == ("m", "f", "?")
    assert sex.prior == "uniform"
    assert age.prior == (0.5, 0.25, 0.25)
    assert age.family == "general"
    assert plan.risk.model == "two-way"
    assert spec_from(tomllib.loads(spec_to_toml(plan))) == plan


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
        ({"family": "uniforn"}, "found 'uniforn' (did you mean 'uniform'?)."),
        ({"drop": "name"}, "drop must be a list of column names; found 'name'."),
        ({"drop": ["a", "a"]}, "drop must name each column once; 'a' is named twice."),
        ({"drop": ["sex"]}, "Column 'sex' is both randomised and dropped."),
        ({"columns": {}}, "The plan must name the columns to randomise"),
        ({"columns": 3}, "The plan must name the columns to randomise"),
        ({"columns": {"sex": 3}}, "Column 'sex' must be a table; found 3."),
        ({"columns": {"sex": {}}}, "Column 'sex' must declare its categories"),
        (
            {"design": "columns", "columns": {"sex": {**SEX, "alpha": 1}}},
            "in total and column 'sex' its own",
        ),
        ({"columns": {"sex": {"categories": ["m"]}}}, "must be at least two; found 1."),
        ({"columns": {"sex": {"categories": ["m", "m"]}}}, "must be distinct; 'm' is named twice."),
        ({"columns": {"sex": {"categories": [0.5, 1]}}}, "whole numbers or booleans; found 0.5."),
        ({"columns": {"sex": {"categories": "all"}}}, "a list of labels, or \"seen\"; found 'all'"),
        ({"columns": {"sex": {**SEX, "missing": 0.5}}}, "must be a label, or true"),
        ({"columns": {"sex": {**SEX, "invariant": 1}}}, "must be true or false; found 1."),
        ({"columns": {"sex": {**SEX, "prior": "public"}}}, "needs a prior_file"),
        ({"columns": {"sex": {**SEX, "prior_file": "x.csv"}}}, 'which needs prior = "public".'),
        (
            {"columns": {"sex": {**SEX, "prior": [0.5, 0.4]}}},
            "must sum to 1; the sum is 0.9.",
        ),
        (
            {"columns": {"sex": {**SEX, "prior": [1.0]}}},
            "has 2 categories and 1 probabilities.",
        ),
        ({"risk": {}}, "The table [risk] must state population_size."),
        ({"risk": {"keys": ["sex"], "population_size": 0}}, "positive whole number; found 0."),
    ],
)
def test_one_sentence_per_mistake(change, sentence):
    with pytest.raises(InvalidPlan) as caught:
        spec_from({"alpha": 1.0, "columns": {"sex": SEX}, **change})
    assert sentence in str(caught.value)
    assert all(line.endswith(".") for line in str(caught.value).splitlines())


def test_all_mistakes_are_told_together():
    with pytest.raises(InvalidPlan) as caught:
        spec_from({"alpha": -1, "outputt": "csv", "columns": {"sex": {"categories": 3}}})
    assert len(str(caught.value).splitlines()) == 3


def test_alpha_must_come_from_somewhere():
    with pytest.raises(InvalidPlan, match="no alpha in total, and column 'sex' none"):
        spec_from({"columns": {"sex": SEX}})
    columns = {"sex": {**SEX, "alpha": 1}, "age": {**SEX, "alpha": 0.5}}
    plan = spec_from({"design": "columns", "columns": columns})
    assert plan.limit.alpha == 1.5


def test_seen_categories_are_explicit():
    settings = {"alpha": 1, "columns": {"sex": {"categories": "seen"}}}
    assert spec_from(settings).columns[0].categories is None
    assert spec_from({"alpha": 1, "columns": {"sex": {}}}, seen_allowed=True).columns


def test_unknown_columns_are_named_with_a_hint():
    plan = spec_from({"alpha": 1, "columns": {"sxe": SEX}, "drop": ["nme"]})
    with pytest.raises(InvalidPlan) as caught:
        plan.check_columns(["sex", "name"])
    first, second = str(caught.value).splitlines()
    assert "did you mean 'sex'?" in first
    assert "did you mean 'name'?" in second


def test_missing_categories():
    assert ColumnSpec("x", categories=("a", "b"), missing=True).labels() == ("a", "b", None)
    assert ColumnSpec("x", categories=("a", "b"), missing="b").labels() == ("a", "b")
    assert ColumnSpec("x", categories=(True, False), missing=1).labels() == (True, False, 1)


def test_designs_that_need_no_prior():
    assert not ColumnSpec("x").needs_prior(2)
    assert ColumnSpec("x").needs_prior(3)
    assert not ColumnSpec("x", family="response").needs_prior(9)
    assert ColumnSpec("x", invariant=True).needs_prior(2)


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
        plan = spec_from({**more, **document})
    except InvalidPlan as error:
        words = str(error)
    else:
        assert isinstance(plan, ReleaseSpec)
        assert plan.limit.alpha > 0
        assert spec_from(tomllib.loads(spec_to_toml(plan))) == plan
        return
    assert words
    assert all(line.endswith(".") for line in words.split("\n"))


@settings(max_examples=100)
@given(st.binary(max_size=80) | st.text(alphabet='[]="a.1\n#{},', max_size=60).map(str.encode))
def test_any_bytes_give_a_plan_or_clear_words(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_bytes(data)
    with pytest.raises(InvalidPlan):
        read_spec(path)


def test_absent_plans(tmp_path):
    with pytest.raises(InvalidPlan, match="There is no plan"):
        read_spec(tmp_path / "no.toml")
    with pytest.raises(InvalidPlan, match="is a folder"):
        read_spec(tmp_path)


@pytest.mark.parametrize(
    "setting", [{"objective": "estimation"}, {"family": "general"}, {"alpha": 1.0}]
)
def test_a_setting_of_columns_never_changes_the_design(setting):
    """It was once enough to leave the joint design, with intervals several times wider."""
    with pytest.raises(InvalidPlan) as caught:
        spec_from({"alpha": 2, "columns": {"sex": {**SEX, **setting}, "age": SEX}})
    name = next(iter(setting))
    assert f"{name} of 'sex' goes with design = \"columns\"." in str(caught.value)
    assert f"Leave {name} of 'sex' out, or state design = \"columns\"." in str(caught.value)


def test_paper_is_another_word_for_columns():
    plan = spec_from({"alpha": 2, "design": "paper", "family": "general", "columns": {"sex": SEX}})
    assert (plan.design, plan.columns[0].family) == ("columns", "general")


def test_the_promise_alone_says_which_design_is_meant():
    assert spec_from({"alpha": 2, "columns": {"sex": SEX}}).design == "records"
    assert spec_from({"central": 1, "columns": {"sex": SEX}}).design == "tables"

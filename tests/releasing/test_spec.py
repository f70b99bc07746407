"""Plans: what is read, what is refused and how it is said, and that nothing odd gets through."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releasing.conftest import tried

from pramble.errors import InvalidPlan

SEX = {"categories": ["m", "f"]}
N = 12_000  # so many that nothing is noise, and no other plan is looked for
PEOPLE = {"sex": ["m", "f"] * (N // 2), "age": [0, 1, 2] * (N // 3), "name": [*"xxyy"] * (N // 4)}


def settled(plan, **given):
    """The plan of a release as it is written."""
    return tomllib.loads(tried(plan, PEOPLE, **given).outcome.plan)


def test_a_full_plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        """
alpha = 3
design = "columns"
prior = "uniform"
drop = ["name"]
copies = ["csv"]
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
population_size = 100000
"""
    )
    r = tried(path, PEOPLE)
    assert r.outcome.limit.alpha == 3
    sex, age = r.outcome.columns
    assert sex.categories == ("m", "f", "?")
    assert (sex.prior_source, sex.family) == ("uniform", "uniform")
    assert age.prior == (0.5, 0.25, 0.25)
    assert (age.family, age.objective) == ("general", "estimation")
    assert r.outcome.risk.model == "two-way"
    plan = tomllib.loads(r.outcome.plan)
    assert plan["columns"]["age"]["prior"] == [0.5, 0.25, 0.25]
    assert tried(plan, PEOPLE).outcome.plan == r.outcome.plan


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alfa": 1}, "The plan has no setting 'alfa' (did you mean 'alpha'?)."),
        ({"column": {}}, "The plan has no setting 'column' (did you mean 'columns'?)."),
        ({"alpha": "two"}, "The plan: alpha must be a positive number; found 'two'."),
        ({"alpha": True}, "The plan: alpha must be a positive number; found True."),
        ({"alpha": 0}, "The plan: alpha must be a positive number; found 0."),
        ({"alpha": float("nan")}, "The plan: alpha must be a positive number; found nan."),
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
        tried({"alpha": 1.0, "columns": {"sex": SEX}, **change})
    assert sentence in str(caught.value)
    assert all(line.endswith(".") for line in str(caught.value).splitlines())


def test_all_mistakes_are_told_together():
    with pytest.raises(InvalidPlan) as caught:
        tried({"alpha": -1, "copiess": ["csv"], "columns": {"sex": {"categories": 3}}})
    assert len(str(caught.value).splitlines()) == 3


def test_alpha_must_come_from_somewhere():
    with pytest.raises(InvalidPlan, match="no alpha in total, and column 'sex' none"):
        tried({"columns": {"sex": SEX}})
    columns = {"sex": {**SEX, "alpha": 1}, "age": {"categories": [0, 1, 2], "alpha": 0.5}}
    found = tried({"design": "columns", "prior": "uniform", "columns": columns}, PEOPLE)
    assert found.outcome.limit.alpha == 1.5


def test_seen_categories_are_explicit():
    plan = {"alpha": 1, "columns": {"sex": {"categories": "seen"}}}
    assert settled(plan)["columns"]["sex"]["categories"] == "seen"
    assert settled(None, alpha=1, columns=["sex"])["columns"]["sex"]["categories"] == "seen"


def test_unknown_columns_are_named_with_a_hint():
    with pytest.raises(InvalidPlan) as caught:
        tried({"alpha": 1, "columns": {"sxe": SEX}, "drop": ["nme"]}, PEOPLE)
    first, second = str(caught.value).splitlines()
    assert "did you mean 'sex'?" in first
    assert "did you mean 'name'?" in second


@pytest.mark.parametrize(
    ("declared", "missing", "categories"),
    [
        (["m", "f"], True, ("m", "f", None)),
        (["m", "f"], "f", ("m", "f")),
        (["m", "f"], "?", ("m", "f", "?")),
    ],
)
def test_missing_categories(declared, missing, categories):
    column = {"categories": declared, "missing": missing}
    found = tried({"alpha": 1, "design": "paper", "columns": {"sex": column}}, PEOPLE)
    assert found.outcome.columns[0].categories == categories


@pytest.mark.parametrize(
    ("name", "setting", "spends"),
    [
        ("sex", {}, False),
        ("age", {}, True),
        ("age", {"family": "response"}, False),
        ("sex", {"invariant": True}, True),
    ],
)
def test_designs_that_need_no_prior_spend_nothing_on_it(name, setting, spends):
    column = {"categories": ["m", "f"] if name == "sex" else [0, 1, 2], **setting}
    found = tried({"alpha": 1, "design": "paper", "columns": {name: column}}, PEOPLE)
    assert (found.outcome.columns[0].alpha_prior > 0) == spends


@settings(max_examples=100)
@given(st.binary(max_size=80) | st.text(alphabet='[]="a.1\n#{},', max_size=60).map(str.encode))
def test_any_bytes_give_a_plan_or_clear_words(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_bytes(data)
    with pytest.raises(InvalidPlan):
        tried(path)


def test_absent_plans(tmp_path):
    with pytest.raises(InvalidPlan, match="There is no plan"):
        tried(tmp_path / "no.toml")
    with pytest.raises(InvalidPlan, match="is a folder"):
        tried(tmp_path)


@pytest.mark.parametrize(
    "setting", [{"objective": "estimation"}, {"family": "general"}, {"alpha": 1.0}]
)
def test_a_setting_of_columns_never_changes_the_design(setting):
    """It was once enough to leave the joint design, with intervals several times wider."""
    with pytest.raises(InvalidPlan) as caught:
        tried({"alpha": 2, "columns": {"sex": {**SEX, **setting}, "age": SEX}})
    name = next(iter(setting))
    assert f"{name} of 'sex' goes with design = \"columns\"." in str(caught.value)
    assert f"Leave {name} of 'sex' out, or state design = \"columns\"." in str(caught.value)


def test_paper_is_another_word_for_columns():
    plan = {"alpha": 2, "design": "paper", "family": "general", "columns": {"sex": SEX}}
    found = settled(plan)
    assert found["design"] == "columns"
    assert found["columns"]["sex"]["family"] == "general"


def test_the_promise_alone_says_which_design_is_meant():
    local, columns = {"alpha": 2}, {"columns": {"sex": SEX}, "drop": ["age", "name"]}
    for promise, design in ((local, "records"), ({"central": 1}, "tables")):
        assert tried({**promise, **columns}, PEOPLE).manifest["design"]["kind"] == design

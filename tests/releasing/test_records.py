"""Releases of records: the default design, its promise, its figures, rules, repairs and priors."""

import json
import math
import tomllib
from fractions import Fraction
from itertools import product

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import AGES, SCHEMA, in_ledger, rewrite, tried

import pramble
from pramble import release
from pramble.errors import InvalidData, InvalidPlan, PrivacyError

COLUMNS = {
    "SEX": {"categories": ["Male", "Female"]},
    "AGE": {"categories": AGES},
    "RACESING": {},
}


@pytest.fixture
def small(tmp_path):
    """A file of three small columns, one of which says that a child has no job."""
    rng = np.random.default_rng(3)
    age = rng.choice(["child", "adult"], 4000, p=[0.25, 0.75])
    job = np.where(age == "child", "no", rng.choice(["no", "yes"], 4000))
    table = pa.table({"age": age, "job": job, "ill": rng.choice(["no", "yes"], 4000, p=[0.9, 0.1])})
    path = tmp_path / "small.parquet"
    pq.write_table(table, path)
    return path


RULE = {"if": {"age": "child"}, "then": {"job": "no"}}
SMALL = {
    "age": {"categories": ["child", "adult"]},
    "job": {"categories": ["no", "yes"]},
    "ill": {"categories": ["no", "yes"]},
}


def brute_force_alpha(plan):
    """The largest log ratio over all pairs of records and all releases of the whole record."""
    columns = list(plan.columns)
    labels = {name: own.labels.values for name, own in plan.column_labels().items()}
    laws = []
    for record in product(*labels.values()):
        held = dict(zip(columns, record, strict=True))
        law = {}
        for number, branch in enumerate(plan.branches):
            parts = [{(): 1.0}]
            possible = True
            for block, mechanism in branch.blocks.items():
                cell = tuple(held[name] for name in block)
                cell = cell if len(block) > 1 else cell[0]
                if cell not in mechanism.categories:
                    possible = False
                    break
                row = mechanism.matrix[mechanism.categories.index(cell)]
                parts.append(dict(zip(mechanism.outputs, row, strict=True)))
            if not possible:
                law = None
                break
            for outcome in product(*(part.items() for part in parts)):
                key = (number, *(label for label, _ in outcome))
                law[key] = float(branch.share) * math.prod(share for _, share in outcome)
        if law is not None:
            laws.append(law)
    worst = 0.0
    for one, two in product(laws, repeat=2):
        for key, share in one.items():
            if share > 0:
                assert two[key] > 0
                worst = max(worst, math.log(share / two[key]))
    return worst


@pytest.mark.parametrize("kind", ["people_file", "people_csv"])
def test_the_default_is_a_plan_for_records(request, people, tmp_path, kind):
    source = request.getfixturevalue(kind)
    r = release(source, tmp_path / "out", columns=COLUMNS, alpha=4.0, drop=["name"])
    assert len(r.plan.branches) > 1 or len(r.plan.branches[0].blocks) == 1
    assert r.outcome.record is not None
    assert r.outcome.columns == ()
    opened = pramble.open_release(tmp_path / "out")
    assert opened.plan == r.plan
    assert opened.data.num_rows == people.num_rows
    c = pramble.certify(opened)
    assert c.satisfies(4.0)
    assert not c.satisfies(3.8)
    e = pramble.estimate(opened.data, opened.plan, by=["SEX", "AGE"])
    sex, age = people["SEX"].to_pylist(), people["AGE"].to_pylist()
    pairs = list(zip(sex, age, strict=True))
    truth = [pairs.count(cell) / len(pairs) for cell in zip(*e.cells.values(), strict=True)]
    held = (e.lower <= truth) & (truth <= e.upper)
    assert held.sum() >= 14
    expected = next(t for t in r.outcome.tables if t.columns == ("SEX", "AGE")).error
    found = np.sqrt(np.mean(np.square(e.standard_errors)))
    assert found == pytest.approx(expected, rel=0.15)


def test_the_manifest_of_records_follows_its_schema_and_adds_up(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, drop=["name"])
    document = json.loads((tmp_path / "out" / "manifest.json").read_text())
    jsonschema.validate(document, SCHEMA)
    design = document["design"]
    assert design["kind"] == "records"
    spent = Fraction(design["alpha"]) + Fraction(design["prior"]["alpha_exact"])
    assert spent == Fraction(document["promise"]["spent"]["alpha_exact"]) <= 4
    assert design["prior"]["source"] == "private"
    assert design["prior"]["alpha"] > 0
    worth = document["worth"]["tables"]
    assert [table["columns"] for table in worth if table["wanted"]] == [
        ["SEX", "AGE"], ["SEX", "RACESING"], ["AGE", "RACESING"],
    ]  # fmt: skip
    assert [table["columns"] for table in worth if not table["wanted"]] == [
        [name] for name in COLUMNS
    ]
    assert all(table["standard_error"] > 0 for table in worth)
    assert pramble.Plan.from_json(document["plan"]) == r.plan


@pytest.mark.parametrize("settings", [{}, {"whole": True}, {"possible": [RULE]}, {"tables": "all"}])
def test_alpha_by_brute_force_over_all_records(small, tmp_path, settings):
    r = release(small, tmp_path / "out", columns=SMALL, alpha=1.5, prior="uniform", **settings)
    assert brute_force_alpha(r.plan) <= 1.5 + 1e-9
    assert brute_force_alpha(r.plan) == pytest.approx(1.5, abs=1e-6)


def test_the_paper_stays_one_word_away(people_file, tmp_path):
    r = release(people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, design="paper")
    assert r.plan.is_simple
    assert r.outcome.record is None


@pytest.mark.parametrize(
    "settings",
    [{"family": "general"}, {"columns": {"x": {"objective": "estimation"}}}],
)
def test_settings_of_columns_are_refused_with_records_and_name_both_ways_out(settings):
    columns = {"x": {"categories": ["a", "b"]} | settings.get("columns", {}).get("x", {})}
    given = {"alpha": 1.0, **settings, "columns": columns}
    assert tried({**given, "design": "paper"}).manifest["design"]["kind"] == "columns"
    for design in ({}, {"design": "records"}):
        with pytest.raises(InvalidPlan, match=r'Leave .* out, or state design = "columns"'):
            tried({**given, **design})


def test_settings_of_records_do_not_go_with_the_paper():
    columns = {"x": {"categories": ["a", "b"]}}
    with pytest.raises(InvalidPlan, match="tables goes with"):
        tried({"alpha": 1.0, "columns": columns, "design": "paper", "tables": 1})


def test_plans_for_records_are_written_and_read_back(small):
    given = {
        "alpha": 2.0, "columns": SMALL, "tables": [["age", "job"], ["ill"]], "whole": True,
        "possible": [{**RULE, "repair": {"job": "no"}}], "objective": "information",
    }  # fmt: skip
    written = tried(given, small).outcome.plan
    plan = tomllib.loads(written)
    assert plan["tables"] == given["tables"]
    assert plan["possible"] == given["possible"]
    assert tried(plan, small).outcome.plan == written


def test_rules_that_records_break_are_refused_before_anything_is_written(small, tmp_path):
    table = pq.read_table(small)
    ages = table["age"].to_pylist()
    jobs = table["job"].to_pylist()
    jobs[ages.index("child")] = "yes"
    pq.write_table(table.set_column(1, "job", pa.array(jobs)), small)
    first = ages.index("child") + 1
    with pytest.raises(InvalidData, match=rf"Rule 1 .*broken by 1 rows.*row {first}\."):
        release(small, tmp_path / "out", columns=SMALL, alpha=1.0, possible=[RULE])
    assert not (tmp_path / "out").exists()
    mended = {**RULE, "repair": {"job": "no"}}
    r = release(small, tmp_path / "out", columns=SMALL, alpha=1.0, possible=[mended])
    cells = {
        cell for branch in r.plan.branches for block, m in branch.blocks.items()
        if set(block) >= {"age", "job"} for cell in m.outputs
    }  # fmt: skip
    assert cells
    for branch in r.plan.branches:
        for block, mechanism in branch.blocks.items():
            if set(block) >= {"age", "job"}:
                at = block.index("age"), block.index("job")
                assert all((c[at[0]], c[at[1]]) != ("child", "yes") for c in mechanism.outputs)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    "rule",
    [
        {"if": {"age": {"below": 15}}, "then": {"job": 0}, "repair": {"job": 0}},
        {"never": {"age": [3, 9], "job": [1]}, "repair": {"job": 0}},
    ],
)
def test_repairs_of_numbers_in_files_of_both_kinds(tmp_path, kind, rule):
    table = pa.table({"age": [3, 40, 9, 41] * 50, "job": [1, 1, 0, 0] * 50})
    path = tmp_path / f"x.{kind}"
    (pq.write_table if kind == "parquet" else pacsv.write_csv)(table, path)
    columns = {"age": {"categories": [3, 9, 40, 41]}, "job": {"categories": [0, 1]}}
    r = release(path, tmp_path / "out", columns=columns, alpha=1.0, possible=[rule])
    jobs = next(c for c in r.outcome.record.columns if c.name == "job")
    assert jobs.before == (150, 50)
    ages = next(c for c in r.outcome.record.columns if c.name == "age")
    assert ages.before == (50, 50, 50, 50)


def test_a_rule_about_an_unknown_column_or_label_is_named(small, tmp_path):
    for rule, says in (
        ({"never": {"sex": "f", "job": "no"}}, "'sex'"),
        ({"never": {"age": "old", "job": "no"}}, "'old', which is no category"),
    ):
        with pytest.raises(InvalidPlan, match=says):
            release(small, tmp_path / "out", columns=SMALL, alpha=1.0, possible=[rule])


def test_tables_that_will_be_noise_are_told_before_writing(people_file, tmp_path):
    r = release(
        people_file, tmp_path / "out", columns=COLUMNS, alpha=0.5, dry_run=True, ledger=False
    )
    (said,) = [warning for warning in r.outcome.warnings if "will be noise" in warning]
    assert "tables = 1" in said
    assert any(table.useless for table in r.outcome.tables)
    good = release(
        people_file, tmp_path / "out", columns=["SEX"], alpha=4.0, dry_run=True, ledger=False
    )
    assert not any("will be noise" in warning for warning in good.outcome.warnings)


def test_confidential_tables_are_flagged_and_not_printed(people_file, tmp_path):
    with pytest.raises(PrivacyError, match="confidential_prior_allowed"):
        release(people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, prior="confidential")
    r = release(
        people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, prior="confidential",
        confidential_prior_allowed=True,
    )  # fmt: skip
    assert r.manifest["promise"]["conditional_on_prior"] is True
    assert r.manifest["design"]["prior"]["tables"] == []
    assert "worth" not in r.manifest


@pytest.mark.parametrize("whole", [True, False])
def test_public_tables(people, people_file, tmp_path, whole):
    public = tmp_path / "public.csv"
    if whole:
        plain = people.select(["SEX", "AGE", "RACESING"])
        pacsv.write_csv(
            plain.cast(pa.schema([(n, pa.string()) for n in plain.column_names])), public
        )
    else:
        rows = [
            (name, value, count)
            for name in ("SEX", "AGE", "RACESING")
            for value, count in zip(*np.unique(people[name].to_pylist(), return_counts=True),
                                    strict=True)
        ]  # fmt: skip
        text = "column,category,count\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
        public.write_text(text)
    r = release(
        people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, prior="public",
        prior_file=str(public), drop=["name"],
    )  # fmt: skip
    prior = r.manifest["design"]["prior"]
    assert prior["source"] == "public"
    assert prior["alpha"] == 0
    assert len(prior["tables"]) == 3
    assert {len(table["columns"]) for table in prior["tables"]} == {2 if whole else 1}
    assert pramble.open_release(r.folder).alpha <= 4.0


def test_empty_cells_as_a_category_keep_records_whole(tmp_path):
    table = pa.table({"a": ["x", None, "y"] * 400, "b": ["p", "q", "q"] * 400})
    columns = {"a": {"categories": ["x", "y"], "missing": True}, "b": {"categories": ["p", "q"]}}
    r = release(table, tmp_path / "out", columns=columns, alpha=6.0, ledger=False, allow=["b"])
    assert len(r.plan.branches) == 1
    assert any("nobody could tell from a blank" in warning for warning in r.outcome.warnings)
    assert set(pramble.open_release(r.folder).data["a"].to_pylist()) == {"x", "y", None}
    named = {**columns, "a": {"categories": ["x", "y"], "missing": "none"}}
    r = release(table, tmp_path / "two", columns=named, alpha=6.0, ledger=False)
    assert not any("nobody could tell" in warning for warning in r.outcome.warnings)


def test_a_plan_of_records_is_entered_in_the_ledger(people_file, tmp_path):
    ledger = tmp_path / "own.sqlite"
    r = release(people_file, tmp_path / "out", columns=COLUMNS, alpha=2.0, ledger=ledger)
    (entry,) = in_ledger(ledger)
    assert entry["alpha"] == r.alpha


def test_a_person_of_several_rows_gets_a_part_of_alpha_for_each(tmp_path):
    table = pa.table({
        "pid": [i // 2 for i in range(2000)],
        "a": ["x", "y", "z", "x"] * 500,
        "b": ["p", "q"] * 1000,
    })  # fmt: skip
    r = release(
        table, tmp_path / "out", columns=["a", "b"], alpha=4.0, person="pid", ledger=False,
        allow=["pid"],
    )  # fmt: skip
    opened = pramble.open_release(r.folder)
    assert pramble.certify(opened.plan).satisfies(2.0)
    assert pramble.certify(opened).rows == 2
    assert pramble.certify(opened).satisfies(4.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["design"].update(alpha=1.0), "states α = 1.0 for the record"),
        (lambda d: d["design"].pop("alpha"), "lacks its alpha"),
        (lambda d: d["design"].update(kind="columns"), "lacks its alpha"),
        (lambda d: d["design"]["prior"]["tables"][0]["probabilities"].pop(), "is no law"),
        (lambda d: d["design"]["prior"]["tables"][0].update(columns=["x"]), "does not randomise"),
    ],
)
def test_a_forged_manifest_of_records_is_refused(people_file, tmp_path, change, says):
    r = release(people_file, tmp_path / "out", columns=COLUMNS, alpha=4.0, pages=False)
    rewrite(r.folder, change)
    with pytest.raises(InvalidData, match=says):
        pramble.open_release(r.folder)


def test_tables_that_are_too_large_give_way_and_named_ones_are_refused(tmp_path):
    rng = np.random.default_rng(2)
    sizes = {"a": 60, "b": 60, "c": 2}
    table = pa.table({name: rng.integers(0, size, 3000) for name, size in sizes.items()})
    columns = {name: {"categories": list(range(size))} for name, size in sizes.items()}
    asked = {"columns": columns, "alpha": 8.0, "prior": "uniform", "dry_run": True, "ledger": False}
    r = release(table, tmp_path / "out", **asked)
    assert [one.columns for one in r.outcome.tables if one.wanted] == [("a", "c"), ("b", "c")]
    assert any("more than 3,000 cells" in warning for warning in r.outcome.warnings)
    with pytest.raises(InvalidPlan, match="The table a × b has more than 3,000 cells"):
        release(table, tmp_path / "out", **asked, tables=[["a", "b"]])
    with pytest.raises(pramble.InvalidInput, match="a × b has 3,600"):
        pramble.design_record(sizes, 1.0)

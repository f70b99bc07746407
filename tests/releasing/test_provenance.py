"""Where categories, bands, merged labels and rules came from: in plans, manifests and warnings."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyreadstat
import pytest
from tests.releasing.conftest import tried
from typer.testing import CliRunner

import pramble
from pramble.app.columns import settings_sent
from pramble.app.tasks import survey
from pramble.app.wizard import Wizard
from pramble.cli.app import app
from pramble.errors import InvalidPlan

REGIONS = ["east", "north", "south"]
REVEALED = "The categories of {} were read off the file: the release reveals values that occur"
N = 3000


@pytest.fixture(autouse=True)
def inside(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def file(inside):
    """People of three regions, but for one person of Atlantis and four of Mu."""
    rng = np.random.default_rng(5)
    region = np.array(REGIONS * (N // 3), dtype=object)
    region[7], region[[1, 2, 4, 5]] = "Atlantis", "Mu"
    table = {
        "region": region,
        "sex": rng.choice(["f", "m"], N),
        "grade": np.where(np.arange(N) < 3, 9, rng.integers(1, 4, N)),
        "amount": np.round(rng.normal(0, 900, N), 2),
    }
    pq.write_table(pa.table(table), "people.parquet")
    return Path("people.parquet")


def run(*words):
    answer = CliRunner().invoke(app, list(map(str, words)))
    assert answer.exception is None, repr(answer.exception)
    return answer.output


def drafted(*options):
    run("init", "people.parquet", "--out", "plan.toml", *options)
    return tomllib.loads(Path("plan.toml").read_text(encoding="utf-8"))


def begun(file):
    wizard = Wizard()
    wizard.take_survey(survey(file, {}))
    return wizard


def wizards_plan(file):
    wizard = begun(file)
    wizard.close()
    return {"plan": {"columns": wizard.plan["columns"], "drop": wizard.plan["drop"]}}


def only_region(settings):
    return {"columns": {"region": settings}, "drop": ["sex", "grade", "amount"]}


ALL = ["Atlantis", "Mu", *REGIONS]
WAYS = {
    "init": lambda _: {"plan": {**drafted("--accept-seen")}},
    "init, merged": lambda _: {"plan": {**drafted("--merge-rare")}},
    "names of columns": lambda _: {"columns": ["region"], "drop": ["sex", "grade", "amount"]},
    "keywords": lambda _: only_region({"categories": {"seen": ALL}}),
    "plan, the word": lambda _: {"plan": only_region({"categories": "seen"})},
    "plan, a list": lambda _: {"plan": only_region({"categories": {"seen": ALL}})},
    "plan, merged": lambda _: {
        "plan": only_region(
            {
                "categories": [*REGIONS, "other"],
                "merge": {"seen": {"other": ["Mu", "Atlantis"]}},
            }
        )
    },
    "app": wizards_plan,
}
PROMISES = {
    "local": {"alpha": 2.0},
    "shuffled": {"central": 1.0, "design": "records"},
    "tables": {"central": 1.0},
}  # fmt: skip


def rehearsed(file, given, promise):
    given = dict(given)
    if isinstance(given.get("plan"), dict):
        # What `init` says of a local promise has no place beside another.
        kept = ("columns", "drop")
        given["plan"] = {name: given["plan"][name] for name in kept} | PROMISES[promise]
        return tried(given["plan"], file, tables=1)
    return tried(None, file, tables=1, **given, **PROMISES[promise])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("way", WAYS)
def test_what_one_row_holds_is_said_to_be_seen(file, way, promise):
    made = rehearsed(file, WAYS[way](file), promise)
    sources = {one["name"]: one.get("categories_from") for one in made.manifest["columns"]}
    assert sources["region"] == "seen"
    said = " ".join(made.outcome.warnings)
    assert "region were read off the file" in said or "region, sex were read off" in said
    assert "Atlantis" not in said
    rare = 1 if "merged" in way else 2
    assert f"fewer than 10 rows hold were seen in the file: {rare} of region" in said
    assert any("region" in note and "off the file" in note for note in made.manifest["notes"])
    if promise != "local":
        promised = made.manifest["promise"]
        assumed = promised.get("assumes") or promised["central"]["assumes"]
        assert any("region" in one and "taken as known" in one for one in assumed)


def test_a_try_warns_of_what_was_seen_and_gives_no_values(file):
    run("init", file, "--accept-seen", "--columns", "region", "--out", "plan.toml")
    said = run("try", file, "--plan", "plan.toml", "--alpha", "2", "--central", "1")
    flat = " ".join(said.split())
    assert flat.count("fewer than 10 rows hold were seen in the file: 2 of region") == 1
    assert REVEALED.format("region") in flat
    assert "Atlantis" not in said


@pytest.mark.parametrize("promise", PROMISES)
def test_a_declared_plan_says_nothing_of_the_file(file, promise):
    made = rehearsed(file, {"plan": only_region({"categories": ALL})}, promise)
    assert made.manifest["columns"][0]["categories_from"] == "declared"
    said = " ".join([*made.outcome.warnings, *made.manifest["notes"], str(made.manifest)])
    assert "off the file" not in said
    assert "fewer than" not in said
    assert not made.outcome.rare


@pytest.mark.parametrize(
    ("settings", "source", "sentence"),
    [
        ({"categories": {"standard": ALL}}, "standard", ""),
        ({"categories": {"standard": ALL}, "missing": "?"}, "declared", ""),
        ({"categories": ALL, "missing": {"seen": "?"}}, "seen", "Some cells of region are empty"),
        ({"categories": {"standard": ALL}, "merge": {"seen": ["Mu"]}}, None, ""),
    ],
)
def test_the_source_of_a_column_is_that_of_its_least_known_part(file, settings, source, sentence):
    if source is None:  # a list in a merge is of old labels, whatever the new one is called
        settings = {"categories": ["seen", "Atlantis", *REGIONS], "merge": {"seen": ["Mu"]}}
        source = "declared"
    made = rehearsed(file, {"plan": only_region(settings)}, "local")
    assert made.manifest["columns"][0]["categories_from"] == source
    said = " ".join(made.outcome.seen)
    assert sentence in said
    assert bool(said) == bool(sentence)


def test_bands_from_the_numbers_of_the_file_are_seen_and_usual_ones_are_standard(inside):
    rng = np.random.default_rng(2)
    table = {"age": rng.integers(0, 90, N), "amount": np.round(rng.normal(0, 900, N), 2)}
    pq.write_table(pa.table(table), "people.parquet")
    plan = drafted("--accept-seen")
    assert [*plan["columns"]["age"]["bands"]] == ["standard"]
    assert [*plan["columns"]["amount"]["bands"]] == ["seen"]
    made = tried(plan, Path("people.parquet"), prior="uniform")
    sources = [one["categories_from"] for one in made.manifest["columns"]]
    assert sources == ["standard", "seen"]
    [sentence] = made.outcome.seen
    assert sentence.startswith("The bands of amount were made from the numbers in the file")


SICK = ["Kuru", "mild", "severe"]


def listed_in_parquet():
    """An ordered categorical and quantiles: pandas makes the categories of both from the values."""
    cases = np.resize(SICK[1:], N).astype(object)
    cases[7] = SICK[0]
    amount = pd.qcut(np.random.default_rng(2).normal(0, 900, N), 4).rename_categories(str)
    frame = pd.DataFrame({"disease": pd.Categorical(cases, ordered=True), "amount": amount})
    frame.to_parquet("people.parquet")
    return Path("people.parquet"), SICK, [*amount.categories]


def listed_in_stata():
    """Labels as Stata's encode makes them: numbers of the values in the order of the alphabet."""
    codes = np.resize([2, 3], N)
    codes[7] = 1
    frame = pd.DataFrame({"disease": codes, "amount": np.repeat([1, 2, 3, 4], N // 4)})
    quarters = {code: f"quarter {code}" for code in range(1, 5)}
    labels = {"disease": dict(enumerate([*SICK, "none"], 1)), "amount": quarters}
    pyreadstat.write_dta(frame, "people.dta", variable_value_labels=labels)
    return Path("people.dta"), [1, 2, 3, 4], [1, 2, 3, 4]


@pytest.mark.parametrize("listed", [listed_in_parquet, listed_in_stata])
def test_what_a_file_lists_is_seen_and_its_rare_values_are_counted(listed):
    file, sick, quarters = listed()
    run("init", file, "--out", "declined.toml")
    declined = Path("declined.toml").read_text(encoding="utf-8")
    assert "Kuru" not in declined
    assert "standard = [" not in declined
    columns = tomllib.loads(declined)["columns"]
    assert [own["categories"] for own in columns.values()] == [[], []]

    said = run("--show-values", "init", file, "--accept-seen", "--out", "plan.toml")
    assert said.splitlines()[0] == f"disease: {sick[0]} (1 row)"
    plan = tomllib.loads(Path("plan.toml").read_text(encoding="utf-8"))
    assert plan["columns"]["disease"] == {"categories": {"seen": sick}}
    assert plan["columns"]["amount"] == {"categories": {"seen": quarters}}
    made = tried(plan, file, tables=1, prior="uniform")
    assert [one["categories_from"] for one in made.manifest["columns"]] == ["seen", "seen"]
    assert "rows hold were seen in the file: 1 of disease." in " ".join(made.outcome.warnings)

    wizard = Wizard()
    wizard.take_survey(survey(file, {}))
    assert wizard.undeclared == ["disease", "amount"]  # nobody has ticked that they are known
    wizard.merge_rare("disease")
    wizard.close()
    left = [*map(str, sick[1:]), "other"]
    merged = {"categories": {"seen": left}, "merge": {"seen": {"other": sick[:1]}}}
    assert wizard.columns["disease"] == merged


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_true_and_false_are_known_without_the_file(inside, ending):
    table = pa.table({"ill": [i == 7 for i in range(N)], "old": [None, True, False] * (N // 3)})
    path = inside / f"people.{ending}"
    (pq.write_table if ending == "parquet" else pacsv.write_csv)(table, path)
    run("init", path, "--decline-seen", "--out", "plan.toml")
    columns = tomllib.loads(Path("plan.toml").read_text(encoding="utf-8"))["columns"]
    assert columns["ill"] == {"categories": {"standard": [False, True]}}
    assert columns["old"]["categories"] == {"standard": ["no", "yes"]}
    assert "fewer than" not in Path("plan.toml").read_text(encoding="utf-8")


def test_a_rule_may_be_seen(file):
    plan = {
        "columns": {"sex": {"categories": ["f", "m"]}, "grade": {"categories": [1, 2, 3, 9]}},
        "drop": ["region", "amount"],
        "possible": [{"never": {"sex": "f", "grade": 9}, "repair": {"sex": "m"}, "seen": True}],
    }
    for promise in ("local", "tables"):
        made = tried({**plan, **PROMISES[promise]}, file, prior="uniform")
        [sentence] = made.outcome.seen
        assert sentence.startswith("The rule on grade, sex was read off the file")
        assert sentence in made.manifest["notes"]
        assert tomllib.loads(made.outcome.plan)["possible"][0]["seen"] is True
    declared = {**plan, "possible": [{**plan["possible"][0], "seen": False}]}
    assert tried({**declared, "alpha": 2.0}, file, prior="uniform").outcome.seen == ()
    with pytest.raises(InvalidPlan, match="possible must be true or false; found 'yes'"):
        tried({**plan, "possible": [{**plan["possible"][0], "seen": "yes"}], "alpha": 2.0}, file)


@pytest.mark.parametrize(
    "settings",
    [
        {"categories": {"seen": ALL}},
        {"categories": {"standard": ALL}},
        {"categories": [*ALL, "seen"], "missing": {"seen": "?"}},
        {"categories": [*REGIONS, "other"], "merge": {"seen": {"other": ["Mu", "Atlantis"]}}},
        {"categories": [*REGIONS, "standard"], "merge": {"standard": ["Mu", "Atlantis"]}},
    ],
)
def test_where_things_came_from_survives_writing_and_changing_a_plan(file, settings):
    made = tried({**only_region(settings), "alpha": 2.0, "tables": 1}, file)
    plan = tomllib.loads(made.outcome.plan)
    assert plan["columns"]["region"] == settings
    Path("again.toml").write_text(made.outcome.plan, encoding="utf-8")
    changed = tried("again.toml", file, alpha=1.0)
    assert tomllib.loads(changed.outcome.plan)["columns"]["region"] == settings
    assert changed.manifest["columns"] == made.manifest["columns"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"categories": {"seen": ["m"]}}, "categories must be at least two; found 1"),
        ({"categories": {"guessed": ["m", "f"]}}, "categories must be a list of labels"),
        ({"bands": {"seen": [3, 1]}}, "bands must be two or more increasing numbers"),
        ({"categories": ["m", "f"], "merge": {"seen": {}}}, "merge must be a table from new"),
    ],
)
def test_what_was_seen_is_read_like_what_is_declared(file, settings, sentence):
    with pytest.raises(InvalidPlan, match=sentence):
        tried({"alpha": 1.0, "columns": {"sex": settings}}, file)


def test_rare_values_are_listed_first_and_stand_in_the_plan(file):
    said = run("--show-values", "init", file, "--accept-seen", "--out", "plan.toml")
    assert said.splitlines()[0] == "region: Atlantis (1 row), Mu (4 rows)"
    assert said.splitlines()[1] == "grade: 9 (3 rows)"
    assert "--merge-rare" in said.splitlines()[2]
    text = Path("plan.toml").read_text(encoding="utf-8")
    assert "# fewer than 10 rows hold 2 values: Atlantis (1 row), Mu (4 rows)" in text
    # Into a log go numbers alone, and into a plan that takes no values none.
    said = run("init", file, "--out", "other.toml")
    assert said.splitlines()[0] == "region: 2 values"
    assert "Atlantis" not in said + Path("other.toml").read_text(encoding="utf-8")


def test_rare_values_are_merged_into_other(file):
    columns = drafted("--merge-rare")["columns"]
    assert columns["region"] == {
        "categories": {"seen": [*REGIONS, "other"]},
        "merge": {"seen": {"other": ["Atlantis", "Mu"]}},
    }
    assert columns["grade"]["categories"] == {"seen": ["1", "2", "3", "other"]}
    with pytest.warns(pramble.errors.PrambleWarning):
        made = pramble.release(file, "out", plan="plan.toml", ledger=False, pages=False, tables=1)
    data = pramble.open_release(made.folder).data
    assert set(data["grade"].to_pylist()) <= {"1", "2", "3", "other", None}


def test_rare_values_join_the_others_that_there_are(inside):
    labels = ["a", "b", "Other"] * (N // 3)
    labels[0] = "Mu"
    pq.write_table(
        pa.table({"town": labels, "true": [i % 900 == 1 for i in range(N)]}), "people.parquet"
    )
    columns = drafted("--merge-rare")["columns"]
    assert columns["town"]["categories"] == {"seen": ["a", "b", "Other"]}
    assert columns["town"]["merge"] == {"seen": {"Other": ["Mu"]}}
    assert columns["true"] == {"categories": {"standard": [False, True]}}


def test_the_report_lists_rare_values_and_the_summary_says_what_was_seen(file):
    plan = only_region({"categories": "seen"}) | {"alpha": 2.0}
    with pytest.warns(pramble.errors.PrambleWarning, match="seen in the file: 2 of region"):
        made = pramble.release(file, "out", plan=plan, ledger=False)
    report = Path("out-report.html").read_text(encoding="utf-8")
    summary = (made.folder / "summary.html").read_text(encoding="utf-8")
    assert '<td class="text">Atlantis</td><td>1</td>' in report
    assert '<td class="text">Atlantis</td>' not in summary
    assert REVEALED.format("region") in summary
    assert "fewer than" not in summary + str(made.manifest)


def form_of(wizard, name, **changes):
    """What the form of a column sends, as it stands or with changes."""
    return {
        "categories": "\n".join(map(str, wizard.look(name).labels)),
        "declared": False,
        **changes,
    }


def test_the_app_declares_what_is_confirmed_and_nothing_else(file):
    wizard = begun(file)
    assert set(wizard.undeclared) == {"region", "sex", "grade", "amount"}
    own = settings_sent(wizard, "region", form_of(wizard, "region"))
    assert own == {"categories": {"seen": ALL}}
    longer = "\n".join([*ALL, "west"])
    own = settings_sent(wizard, "region", form_of(wizard, "region", categories=longer))
    assert own == {"categories": {"seen": [*ALL, "west"]}}
    own = settings_sent(wizard, "region", form_of(wizard, "region", declared=True))
    assert own == {"categories": ALL}
    wizard.settle("region", own)
    assert "region" not in wizard.undeclared
    again = settings_sent(wizard, "region", form_of(wizard, "region"))
    assert again == {"categories": {"seen": ALL}}
    wizard.merge_rare("grade")
    assert wizard.columns["grade"]["merge"] == {"seen": {"other": [9]}}
    wizard.close()

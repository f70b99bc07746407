"""Labels of values, titles of variables and missing codes travel through a release and back."""

import json
import shutil
import tomllib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

import pramble
from pramble.errors import InvalidData

N = 400
RNG = np.random.default_rng(5)
KEY = bytes(range(32))
RACE = {1: "Weiß", 2: "Schwarz", 7: "Other", 9: "Other"}
IN_WORDS = ["Weiß", "Schwarz", "Other (7)", "Other (9)"]
SEX = {"m": "männlich", "f": "weiblich"}
# 3 has no label, and 8 labels nobody.
MOOD = {0: "very low", 1: "low", 4: "high", 8: "Kuru"}
MOODS = ["very low", "low", "3", "high"]
AGE = {99: "unknown"}
TITLES = {"race": "Herkunft (Größe)", "mood": "How do you feel?", "age": "Age in years"}


def people():
    return pd.DataFrame(
        {
            "race": RNG.choice([1, 2, 7, 9], N).astype(float),
            "mood": RNG.choice([0, 1, 3, 4], N).astype(float),
            "age": np.append(np.resize(np.arange(20, 50), N - 1), 99).astype(float),
        }
    )


def spss(path):
    frame = people()
    frame["sex"] = RNG.choice(["m", "f", "x"], N)
    frame["work"] = RNG.choice([1, 2, 8, 9], N)
    pyreadstat.write_sav(
        frame,
        path,
        column_labels=[TITLES.get(name) for name in frame.columns],
        variable_value_labels={
            "race": RACE,
            "mood": MOOD,
            "age": AGE,
            "sex": {**SEX, "x": "refused"},
            "work": {1: "yes", 2: "no", 8: "don't know", 9: "keine Angabe"},
        },
        missing_ranges={"work": [8, 9], "sex": ["x"], "race": [-1]},
    )
    return path


def stata(path):
    frame = people()
    frame["work"] = RNG.choice(np.array([1, 2, "a", "b"], dtype=object), N)
    frame["work"] = [int(one) if one in ("1", "2", 1, 2) else one for one in frame["work"]]
    pyreadstat.write_dta(
        frame,
        path,
        column_labels=[TITLES.get(name) for name in frame.columns],
        variable_value_labels={
            "race": RACE,
            "mood": MOOD,
            "age": AGE,
            "work": {1: "yes", 2: "no", "a": "don't know", "b": "keine Angabe"},
        },
        missing_user_values={"work": ["a", "b"]},
    )
    return path


MAKERS = {"sav": spss, "dta": stata}
OTHERS = {".sav": ["age", "sex", "work"], ".dta": ["age", "work"]}
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}


@pytest.fixture(scope="module", params=MAKERS)
def file(request, tmp_path_factory):
    return MAKERS[request.param](tmp_path_factory.mktemp("source") / f"people.{request.param}")


def released(file, folder, columns, **settings):
    options = {"person": False, "ledger": False, "pages": False, "key": KEY, **settings}
    if "central" not in options:
        options = {"alpha": 3.0, "prior": "uniform", **options}
    pramble.release(file, folder, columns=columns, **options)
    return pramble.open_release(folder)


def categories(release, name):
    plan = release.plan.to_json()
    if "columns" in plan and isinstance(plan["columns"], dict):
        return plan["columns"][name]
    table = pramble.estimate(release, by=[name], covers="randomisation").cells[name]
    return list(table)


def stated(release):
    return {one["name"]: one for one in release.manifest["columns"]}


PROTECTED = {"race": {}, "mood": {}, "work": {"missing": "no answer"}}


@pytest.mark.parametrize("promise", [{"alpha": 6.0}, {"central": 3.0}])
def test_readers_see_labels_in_the_order_of_the_codes(file, tmp_path, promise):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    made = released(file, tmp_path / "out", PROTECTED, drop=drop, **promise)
    assert categories(made, "race") == IN_WORDS
    assert categories(made, "mood") == MOODS
    assert categories(made, "work") == ["yes", "no", "no answer"]
    complete = made.synthetic
    assert set(complete["race"].to_pylist()) <= set(IN_WORDS)
    found = stated(made)
    assert found["race"]["codes"] == [
        {"code": code, "label": label} for code, label in zip(RACE, IN_WORDS, strict=True)
    ]
    assert [one["code"] for one in found["mood"]["codes"]] == [0, 1, 3, 4]
    missing = [(one["code"], one["label"]) for one in found["work"]["missing"]]
    codes = (8, 9) if file.suffix == ".sav" else (".a", ".b")
    assert missing == [*zip(codes, ("don't know", "keine Angabe"), strict=True)]
    assert found["race"]["label"] == TITLES["race"]
    assert found["race"]["categories_from"] == "seen"
    # What labels nobody in the file is not published.
    written = [path.read_bytes() for path in made.folder.rglob("*") if path.is_file()]
    assert not any(b"Kuru" in content for content in written)


@pytest.mark.parametrize("promise", [{"alpha": 6.0}, {"central": 3.0}])
def test_parquet_files_carry_titles(file, tmp_path, promise):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    made = released(file, tmp_path / "out", PROTECTED, drop=drop, **promise)
    files = sorted(made.folder.glob("*.parquet"))
    assert len(files) == 2
    for path in files:
        schema = pq.read_schema(path)
        assert schema.field("race").metadata[b"label"].decode() == TITLES["race"]
        assert b"label" not in (schema.field("work").metadata or {})
    again = released(file, tmp_path / "again", PROTECTED, drop=drop, **promise)
    if "alpha" in promise:
        for path in files:
            assert path.read_bytes() == (again.folder / path.name).read_bytes()


@pytest.mark.parametrize("copy", ["dta", "sav"])
def test_copies_go_back_to_the_codes_of_the_source(file, tmp_path, copy):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    made = released(file, tmp_path / "out", PROTECTED, drop=drop, copies=["stata", "spss", "csv"])
    frame, about = READERS[copy](made.folder / f"synthetic.{copy}", user_missing=True)
    labels = about.variable_value_labels
    assert labels["race"] == dict(zip(RACE, IN_WORDS, strict=True))
    assert labels["mood"] == dict(zip((0, 1, 3, 4), MOODS, strict=True))
    assert about.column_names_to_labels["race"] == TITLES["race"]
    assert about.column_names_to_labels["work"] == "work"
    work = {code: label for code, label in labels["work"].items() if label in ("yes", "no")}
    assert work == {1: "yes", 2: "no"}
    (more,) = [code for code, label in labels["work"].items() if label == "no answer"]
    assert more not in (1, 2, 8, 9)
    if file.suffix == f".{copy}":
        gone = {"don't know", "keine Angabe"}
        assert gone < {*labels["work"].values()}
        if copy == "sav":
            assert [part["lo"] for part in about.missing_ranges["work"]] == [8, 9]
            assert [part["lo"] for part in about.missing_ranges["race"]] == [-1]
    shown = [labels["race"][one] for one in frame["race"]]
    assert shown == made.synthetic["race"].to_pylist()
    text = pd.read_csv(made.folder / "synthetic.csv", dtype=str, keep_default_na=False)
    assert text["race"].tolist() == shown
    # A copy is a source whose labels are those of the first.
    twice = released(
        made.folder / f"synthetic.{copy}", tmp_path / "twice", ["race", "mood"], drop=["work"]
    )
    assert categories(twice, "race") == IN_WORDS
    assert stated(twice)["race"]["codes"] == stated(made)["race"]["codes"]


def test_strings_with_labels_go_back_to_strings_in_spss(tmp_path):
    file = spss(tmp_path / "people.sav")
    columns = {"sex": {"missing": "keine Angabe"}, "race": {}}
    made = released(
        file, tmp_path / "out", columns, drop=["age", "work", "mood"], copies=["stata", "spss"]
    )
    assert categories(made, "sex") == ["weiblich", "männlich", "keine Angabe"]
    frame, about = pyreadstat.read_sav(made.folder / "synthetic.sav", user_missing=True)
    assert about.variable_value_labels["sex"] == {**SEX, "x": "refused"}
    assert about.missing_ranges["sex"] == [{"lo": "x", "hi": "x"}]
    words = [SEX.get(one, one) for one in frame["sex"]]
    assert words == made.synthetic["sex"].to_pylist()
    _, about = pyreadstat.read_dta(made.folder / "synthetic.dta")  # no labels of strings there
    assert [*about.variable_value_labels["sex"].values()] == [
        "weiblich",
        "männlich",
        "keine Angabe",
    ]


CODES = {
    "race": {"categories": [9, 7, 2, 1], "distance": {"groups": {"a": [1, 2], "b": [7, 9]}}},
    "mood": {"categories": ["sad", 3, 4], "merge": {"sad": [0, 1]}, "distance": "path"},
    "work": {"categories": [2, 1], "missing": 5, "distance": "path"},
}
WORDS = {
    "race": {
        "categories": IN_WORDS[::-1],
        "distance": {"groups": {"a": IN_WORDS[:2], "b": IN_WORDS[2:]}},
    },
    "mood": {
        "categories": ["sad", "3", "high"],
        "merge": {"sad": ["very low", "low"]},
        "distance": "path",
    },
    "work": {"categories": ["no", "yes"], "missing": "5", "distance": "path"},
}
RULES = (
    [
        {"if": {"race": 9}, "then": {"mood": [3, 4]}, "repair": {"mood": 3}},
        {"never": {"race": [1], "mood": 4}, "repair": {"mood": "sad"}},
    ],
    [
        {"if": {"race": "Other (9)"}, "then": {"mood": ["3", "high"]}, "repair": {"mood": "3"}},
        {"never": {"race": ["Weiß"], "mood": "high"}, "repair": {"mood": "sad"}},
    ],
)


def test_a_plan_in_codes_is_the_plan_in_labels(file, tmp_path):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    found = []
    for name, columns, rules in zip("ab", (CODES, WORDS), RULES, strict=True):
        made = released(file, tmp_path / name, columns, drop=drop, possible=rules, whole=True)
        found.append([
            path.read_bytes() for path in sorted(made.folder.glob("*.parquet"))
        ])  # fmt: skip
        assert categories(made, "race") == IN_WORDS[::-1]
        assert categories(made, "mood") == ["sad", "3", "high"]
        # Codes that were merged are in no category of their own.
        assert [one["code"] for one in stated(made)["mood"]["codes"]] == [3, 4]
    assert found[0] == found[1]


def test_a_plan_as_it_was_used_makes_the_same_release(file, tmp_path):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    settings = {"person": False, "ledger": False, "pages": False, "key": KEY, "prior": "uniform"}
    made = pramble.release(
        file, tmp_path / "a", columns=PROTECTED, alpha=3.0, drop=drop, **settings
    )
    plan = tomllib.loads(made.outcome.plan)
    again = pramble.release(file, tmp_path / "b", plan=plan, ledger=False, pages=False, key=KEY)
    for name in ("randomised.parquet", "synthetic.parquet"):
        assert (made.folder / name).read_bytes() == (again.folder / name).read_bytes()
    assert made.manifest["columns"] == again.manifest["columns"]


def test_a_release_in_labels_is_audited(file, tmp_path):
    made = released(
        file, tmp_path / "out", {"race": {}, "mood": {}}, central=1.0, pages=True,
        drop=READERS[file.suffix[1:]](file)[0].columns[2:].to_list(), copies=["stata", "spss"],
    )  # fmt: skip
    found = pramble.audit(made.folder, file, key=KEY)
    assert found.passed, found
    assert "synthetic.sav" in found.columns()["name"]


def test_labels_that_nobody_has_are_no_recoding(tmp_path):
    path = tmp_path / "people.dta"
    frame = pd.DataFrame({"a": [1, 2] * 60, "b": [5, 6, 7] * 40})
    pyreadstat.write_dta(frame, path, variable_value_labels={"a": {8: "eight"}, "b": {9: "nine"}})
    release = released(path, tmp_path / "out", {"a": {}, "b": {}}, central=1.0)
    assert categories(release, "b") == [5, 6, 7]
    assert pramble.audit(tmp_path / "out", path, key=KEY).passed


def test_labels_of_special_values_make_no_text_of_numbers(file, tmp_path):
    others = [
        name for name in ("race", "mood", "work", "sex") if name != "sex" or file.suffix == ".sav"
    ]
    made = released(file, tmp_path / "seen", ["age"], drop=others, copies=["spss"])
    assert categories(made, "age") == [*range(20, 50), 99]
    assert stated(made)["age"]["codes"] == [{"code": 99, "label": "unknown"}]
    _, about = pyreadstat.read_sav(made.folder / "synthetic.sav")
    assert about.variable_value_labels["age"] == {99: "unknown"}
    banded = {"age": {"bands": [0, 30, 40]}, "mood": {"bands": [0, 1, 4]}}
    others = [name for name in others if name != "mood"]
    made = released(file, tmp_path / "bands", banded, drop=others)
    assert categories(made, "mood") == ["0", "1-3", "4+"]
    assert "codes" not in stated(made)["mood"]
    columns = {"age": {"categories": [*range(20, 50), 99]}, "mood": {"categories": [0, 1, 3, 4]}}
    made = released(file, tmp_path / "rule", columns, drop=others, possible=[])
    assert categories(made, "mood") == MOODS
    shutil.rmtree(tmp_path / "rule")
    made = released(file, tmp_path / "rule", columns, drop=others, possible=[
        {"never": {"mood": {"below": 0}, "age": 20}}
    ])  # fmt: skip
    assert categories(made, "mood") == [0, 1, 3, 4]
    assert stated(made)["mood"]["codes"][0] == {"code": 0, "label": "very low"}


def test_columns_as_they_were_keep_codes_and_have_labels_of_those_that_occur(file, tmp_path):
    others = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    made = released(
        file, tmp_path / "out", {"race": {}}, drop=others, allow=["mood", "work"], copies=["spss"]
    )
    codes = [None if one is None else int(one) for one in made.data["mood"].to_pylist()]
    source = READERS[file.suffix[1:]](file)[0]["mood"]
    assert codes == source.astype(int).tolist()
    assert [one["code"] for one in stated(made)["mood"]["codes"]] == [0, 1, 4]
    assert stated(made)["mood"]["label"] == TITLES["mood"]


@pytest.mark.parametrize(
    "change",
    [
        {"codes": [{"code": 1, "label": "nobody"}]},
        {"codes": [{"code": 1, "label": IN_WORDS[0]}, {"code": 1, "label": IN_WORDS[1]}]},
        {"codes": [{"code": 1, "label": IN_WORDS[0]}, {"code": 2, "label": IN_WORDS[0]}]},
        {"codes": [{"code": 1, "label": IN_WORDS[0]}, {"code": "2", "label": IN_WORDS[1]}]},
        {"codes": [{"code": True, "label": IN_WORDS[0]}]},
        {"codes": [{"code": 1.5, "label": IN_WORDS[0]}]},
        {"codes": [{"code": [1], "label": IN_WORDS[0]}]},
        {"codes": [{"code": 1}]},
        {"missing": [{"code": 8, "label": "a"}, {"code": 8, "label": "b"}]},
        {"missing": [{"code": 8, "label": ""}]},
        {"label": "x" * 1001},
        {"label": 5},
    ],
)
def test_words_that_are_not_of_the_release_are_refused(tmp_path, change):
    folder = tmp_path / "out"
    released(stata(tmp_path / "people.dta"), folder, ["race"], drop=["age", "mood", "work"])
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["columns"][0].update(change)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match="damaged"):
        pramble.open_release(folder)


def test_a_first_plan_shows_titles_and_meanings_and_is_taken(file, tmp_path):
    from typer.testing import CliRunner

    from pramble.cli.app import app

    plan = tmp_path / "plan.toml"
    done = CliRunner().invoke(app, ["init", str(file), "--accept-seen", "--out", str(plan)])
    assert done.exit_code == 0, done.output
    text = plan.read_text(encoding="utf-8")
    assert f"[columns.race]  # {TITLES['race']}; 4 values" in text
    assert "# 1 = Weiß; 2 = Schwarz; 7 = Other (7); 9 = Other (9)" in text
    assert "# 1 = yes; 2 = no\n" in text
    made = pramble.release(
        file, tmp_path / "out", plan=plan, person=False, ledger=False, pages=False
    )
    assert categories(made, "work") == ["yes", "no", "missing"]
    assert categories(made, "race") == IN_WORDS
    # What a file lists counts as seen, also a value that no row has.
    assert stated(made)["race"]["categories_from"] == "seen"


@pytest.mark.parametrize("promise", [{"alpha": 6.0}, {"central": 3.0}])
def test_titles_are_shown_where_names_are(file, tmp_path, promise):
    drop = [name for name in ("age", "sex") if name != "sex" or file.suffix == ".sav"]
    made = released(file, tmp_path / "out", PROTECTED, drop=drop, **promise)
    assert made.titles == {name: TITLES[name] for name in ("race", "mood")}
    assert f"race: {TITLES['race']}" in str(made)
    found = pramble.estimate(made, by=["race", "work"])
    assert f"race: {TITLES['race']}" in str(found)
    assert str(found).splitlines()[2].split()[:2] == ["race", "work"]
    (axes,) = found.plot().axes
    assert axes.get_title(loc="left").startswith(f"{TITLES['race']}, work")
    shares = pramble.estimate(made, by=["race"], given=["mood"])
    assert TITLES["mood"] in str(shares)


def test_odd_labels_do_no_harm(tmp_path):
    frame = pd.DataFrame(
        {
            "a": RNG.choice([1.0, 2.0, 3.0, 1.5], N),
            "b": RNG.choice(["", "x", "y", "zz"], N),
            "c": RNG.choice([1, 2, 3, 4], N),
        }
    )
    frame.loc[0, "c"] = 91
    labels = {
        "a": {1: "Yes", 2: "", 3: "2", 1.5: "half"},
        "b": {"": "blank", "x": "y", "y": "x", "zz": "missing"},
        "c": {
            1: "Other",
            2: "Other",
            3: "Other (2)",
            4: "four",
            **{n: f"m{n}" for n in range(91, 96)},
        },
    }
    gone = {"c": [{"lo": 90, "hi": 99}], "b": [""], "a": [-9.5, -8]}
    pyreadstat.write_sav(
        frame, tmp_path / "odd.sav", variable_value_labels=labels, missing_ranges=gone
    )
    columns = {"a": {}, "b": {"missing": "nothing"}, "c": {"missing": "m"}}
    made = released(tmp_path / "odd.sav", tmp_path / "out", columns, copies=["spss", "stata"])
    assert categories(made, "a") == ["Yes", "1.5", "2", "2 (3)"]
    assert categories(made, "b") == ["y", "x", "missing", "nothing"]
    expected = ["Other (1)", "Other (2)", "Other (2) (3)", "four (4)"]
    assert categories(made, "c") == [*expected, "m"]
    assert [one["code"] for one in stated(made)["c"]["missing"]] == [*range(91, 96)]
    _, about = pyreadstat.read_sav(made.folder / "synthetic.sav", user_missing=True)
    assert about.missing_ranges["c"] == [{"lo": 91, "hi": 95}]
    assert about.variable_value_labels["c"][91] == "m91"


@pytest.mark.parametrize("promise", [{"alpha": 6.0}, {"central": 3.0}])
def test_a_release_in_labels_is_made_again_without_its_plan(file, tmp_path, promise):
    columns = {"race": {}, "mood": {"categories": [0, 1, 3, 4]}}
    made = released(file, tmp_path / "out", columns, drop=OTHERS[file.suffix], **promise)
    assert "withheld" not in made.manifest["settings"]
    assert pramble.audit(tmp_path / "out", file, key=KEY).passed


def test_a_central_promise_states_that_words_are_public(file, tmp_path):
    columns, drop = {"race": {}, "mood": {}}, OTHERS[file.suffix]
    made = released(file, tmp_path / "out", columns, drop=drop, central=3.0)
    said = "neighbouring files have the same titles, labels and codes"
    assert said in " ".join(made.manifest["promise"]["assumes"])
    plain = {"race": [1, 2, 7] * 50, "mood": [0, 1, 3] * 50}
    other = released(plain, tmp_path / "plain", columns, central=3.0)
    assert said not in " ".join(other.manifest["promise"]["assumes"])


@pytest.mark.parametrize("number", range(4))
def test_rows_that_are_left_out_leave_no_labels(tmp_path, number):
    """The only row of a value may be one that is not used."""
    people = pd.DataFrame({"race": RNG.choice([1, 2], N), "town": RNG.choice([1, 2], N)})
    people["who"], people.loc[0, "town"] = np.arange(N) // 2, 7
    towns = {1: "here", 2: "there", 7: "a place of one"}
    pyreadstat.write_sav(
        people, tmp_path / "people.sav", variable_value_labels={"race": RACE, "town": towns}
    )
    made = released(
        tmp_path / "people.sav", tmp_path / "out", {"race": {"categories": [1, 2]}},
        person="who", rows_per_person=1, allow=["town"], key=bytes([number]) * 32,
    )  # fmt: skip
    assert len(made.data) == N // 2
    assert "a place of one" not in json.dumps(made.manifest)

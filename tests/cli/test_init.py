"""``pramble init``: the same plan from every format, plans that release, and one sentence each."""

import datetime as dt
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from typer.testing import CliRunner

from pramble.cli.app import app
from pramble.errors import InvalidInput

N = 400
RNG = np.random.default_rng(8)
runner = CliRunner()


def draw(*labels):
    return RNG.choice(list(labels), N)


PEOPLE = pa.table(
    {
        "serial": [f"p{i:04}" for i in range(N)],
        "sex": draw("male", "female"),
        "age": RNG.integers(0, 97, N),
        "marital": draw(1, 2, 3, 4, 10),
        "health": draw("very good", "good", "fair", "bad"),
        "band": [None if i % 11 == 0 else ("under 15", "15-24", "65+")[i % 3] for i in range(N)],
        "children": pa.array([None if i % 13 == 0 else int(i % 5) for i in range(N)], pa.int64()),
        "income": np.round(RNG.gamma(2, 1500, N), 2),
        "weight": np.round(RNG.gamma(2, 10, N), 3),
        "born": [dt.date(1930, 1, 1) + dt.timedelta(days=int(d)) for d in RNG.integers(0, 9999, N)],
        "remark": [f"{'words and more words about it ' * 2}{i % 70}" for i in range(N)],
        "place": draw("x"),
    }
)
FRAME = PEOPLE.to_pandas()
FILES = {
    "people.parquet": lambda path: pq.write_table(PEOPLE, path, row_group_size=150),
    "people.csv": lambda path: pl.from_arrow(PEOPLE).write_csv(path),
    "european.csv": lambda path: pl.from_arrow(PEOPLE).write_csv(
        path, separator=";", decimal_comma=True
    ),
    "people.tsv": lambda path: pl.from_arrow(PEOPLE).write_csv(path, separator="\t"),
    "people.arrow": lambda path: pa.feather.write_feather(PEOPLE, path),
    "people.dta": lambda path: pyreadstat.write_dta(FRAME, path),
    "people.sav": lambda path: pyreadstat.write_sav(FRAME, path),
    "people.xlsx": lambda path: FRAME.to_excel(path, index=False),
}


@pytest.fixture(autouse=True)
def inside(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    answer = runner.invoke(app, list(map(str, arguments)))
    assert answer.exception is None, repr(answer.exception)
    return answer.output


def refused(*arguments):
    answer = runner.invoke(app, list(map(str, arguments)))
    assert isinstance(answer.exception, InvalidInput), answer.output
    return str(answer.exception)


def without_file(text):
    return re.sub(r"\n# How the file is read.*?\n(?=\n)", "", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    for name, write in FILES.items():
        write(folder / name)
        run("init", folder / name, "--accept-seen", "--out", folder / f"{name}.toml")
    return {name: (folder / f"{name}.toml").read_text(encoding="utf-8") for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_the_same_data_gives_the_same_plan_from_every_format(plans, name):
    assert without_file(plans[name]) == plans["people.parquet"]


def test_the_plan_says_what_a_curator_would(plans):
    plan = tomllib.loads(plans["people.parquet"])
    columns = plan["columns"]
    assert columns == {
        "sex": {"categories": {"seen": ["female", "male"]}},
        "age": {"bands": {"standard": [0, 15, 25, 35, 45, 55, 65, 75]}},
        "marital": {"categories": {"seen": [1, 2, 3, 4, 10]}},
        "health": {"categories": {"seen": ["bad", "fair", "good", "very good"]}},
        "band": {
            "categories": {"seen": ["under 15", "15-24", "65+"]},
            "missing": {"seen": "missing"},
        },
        "children": {"categories": {"seen": [0, 1, 2, 3, 4]}, "missing": {"seen": -1}},
        "income": {"bands": {"seen": [0, 2000, 4000, 6000]}},
    }
    assert plan["drop"] == ["serial", "weight", "born", "remark", "place"]
    reasons = dict(re.findall(r'^  "(\w+)",  # ([\w ]+):', plans["people.parquet"], re.MULTILINE))
    assert reasons == {
        "serial": "identifier",
        "weight": "weight",
        "born": "date",
        "remark": "free text",
        "place": "constant",
    }


def lines_of(header, *columns, separator=","):
    rows = [header, *zip(*columns, strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def numbered(word):
    return [f"{word}{i}" for i in range(N)]


def test_repeated_names_are_refused_in_a_sentence(inside):
    (inside / "people.csv").write_text("sex,sex\nf,m\nm,f\n")
    assert "must name each column once" in refused("init", "people.csv", "--accept-seen")
    assert not (inside / "plan.toml").exists()


@pytest.fixture
def csv(inside):
    text = lines_of(["sex", "region", "town"], draw("f", "m"), draw("n", "s"), draw("a", "b"))
    (inside / "people.csv").write_text(text)
    return inside


def test_what_was_only_seen_is_left_to_declare_and_said_to_be(csv):
    said = run("init", "people.csv")
    assert "The categories of sex, region, town are left for you to declare" in said
    text = (csv / "plan.toml").read_text()
    assert text.count("declare every possible value") == 3
    assert "[columns.region]  # 2 values seen\ncategories = []" in text


def test_declined_bands_are_left_open_unless_they_are_known_to_all(inside):
    text = lines_of(["age", "salary"], RNG.integers(0, 90, N), RNG.integers(0, 9_000, N))
    (inside / "people.csv").write_text(text)
    run("init", "people.csv", "--decline-seen")
    columns = tomllib.loads((inside / "plan.toml").read_text())["columns"]
    usual = {"standard": [0, 15, 25, 35, 45, 55, 65, 75]}
    assert columns == {"age": {"bands": usual}, "salary": {"bands": []}}


def test_a_plan_is_refused_where_it_cannot_stand_before_the_file_is_read(csv):
    answer = runner.invoke(app, ["init", "absent.csv", "--out", "nowhere/p.toml"])
    assert answer.exit_code == 2
    assert "'nowhere'" in answer.stderr
    (csv / "plan.toml").write_text("mine")
    assert "exists already" in refused("init", "people.csv", "--accept-seen")
    assert (csv / "plan.toml").read_text() == "mine"


def test_columns_are_chosen_by_name(csv):
    said = run("init", "people.csv", "--accept-seen", "--columns", "town, sex")
    plan = tomllib.loads((csv / "plan.toml").read_text())
    assert list(plan["columns"]) == ["sex", "town"]
    assert plan["drop"] == ["region"]
    assert "Not chosen, dropped: region." in said
    assert "did you mean 'town'" in refused("init", "people.csv", "--out", "p", "--columns", "twon")


def test_a_weight_or_an_identifier_is_randomised_only_by_name(inside):
    text = lines_of(["id", "weight"], numbered("p"), RNG.integers(40, 150, N))
    (inside / "people.csv").write_text(text)
    said = run("init", "people.csv", "--accept-seen", "--out", "none.toml")
    assert "No column was found to randomise" in said
    run("init", "people.csv", "--accept-seen", "--columns", "weight")
    plan = tomllib.loads((inside / "plan.toml").read_text())
    assert "bands" in plan["columns"]["weight"]
    assert "Column 'id' cannot be randomised as it is (identifier" in refused(
        "init", "people.csv", "--accept-seen", "--columns", "id", "--out", "p.toml"
    )


def test_how_the_file_is_read_can_be_said_and_stands_in_the_plan(inside):
    text = lines_of(["sexe", "taille"], draw("é", "h", "zz"), draw("1,5", "zz"), separator="|")
    (inside / "people.csv").write_bytes(text.encode("latin-1"))
    run(
        "init", "people.csv", "--accept-seen", "--separator", "|", "--encoding", "latin-1",
        "--decimal", ",", "--missing", "zz,-9",
    )  # fmt: skip
    plan = tomllib.loads((inside / "plan.toml").read_text())
    assert plan["file"]["encoding"] == "latin-1"
    assert (plan["file"]["separator"], plan["file"]["decimal"]) == ("|", ",")
    assert plan["file"]["missing"] == ["zz", "-9"]
    assert plan["columns"]["sexe"] == {
        "categories": {"seen": ["h", "é"]},
        "missing": {"seen": "missing"},
    }


def test_a_sheet_can_be_named(inside):
    import pandas as pd

    with pd.ExcelWriter("people.xlsx") as book:
        pd.DataFrame({"note": ["none"]}).to_excel(book, sheet_name="about", index=False)
        FRAME[["sex", "age"]].to_excel(book, sheet_name="data", index=False)
    run("init", "people.xlsx", "--accept-seen", "--sheet", "data")
    plan = tomllib.loads((inside / "plan.toml").read_text())
    assert plan["file"] == {"sheet": "data"}
    assert list(plan["columns"]) == ["sex", "age"]


def test_of_many_columns_those_an_intruder_knows_are_proposed(inside):
    names = [f"q{i}" for i in range(30)] + ["Geschlecht", "Alter", "Bundesland", "Familienstand"]
    columns = {name: draw("a", "b", "c") for name in names}
    columns["Alter"] = RNG.integers(0, 90, N)
    pq.write_table(pa.table(columns), "people.parquet")
    said = run("init", "people.parquet", "--accept-seen")
    text = (inside / "plan.toml").read_text()
    plan = tomllib.loads(text)
    assert list(plan["columns"]) == ["Geschlecht", "Alter", "Bundesland", "Familienstand"]
    assert plan["drop"] == [f"q{i}" for i in range(30)]
    assert '"q0",  # categorical, not chosen: 3 values' in text
    assert "To randomise: Geschlecht, Alter, Bundesland, Familienstand." in said
    assert "and 22 more. Others are chosen with --columns." in said
    assert len(text.splitlines()) < 100


def test_columns_that_tell_others_are_marked(inside):
    region = draw("n", "s", "e")
    names = {"n": "north", "s": "south", "e": "east"}
    table = {
        "sex": draw("f", "m"),
        "region": region,
        "region_name": [names[one] for one in region],
        "town": [f"{one}{RNG.integers(20)}" for one in region],
        **{f"education_{i}": draw("a", "b") for i in range(8)},
    }
    pq.write_table(pa.table(table), "people.parquet")
    run("init", "people.parquet", "--accept-seen", "--columns", "sex,region,region_name")
    text = (inside / "plan.toml").read_text()
    assert "# of 'region' and this column one follows from the other" in text
    assert '"town",  # categorical, not chosen: 60 values; too many' in text


def promise_in(plan):
    """What a plan promises."""
    found = tomllib.loads(Path(plan).read_text(encoding="utf-8"))
    return {name: found[name] for name in ("alpha", "central", "delta") if name in found}


def test_a_promise_against_readers_alone_is_stated(csv):
    run("init", "people.csv", "--accept-seen", "--central", 0.5, "--out", "said.toml")
    assert promise_in("said.toml") == {"central": 0.5, "delta": 1e-6}
    text = Path("said.toml").read_text(encoding="utf-8")
    assert '"auto"' in text
    assert "[risk]" not in text  # both are of records, and refused of tables
    assert "published as it is" not in text
    run("init", "people.csv", "--out", "all.toml", "--accept-seen")
    assert promise_in("all.toml") == {"alpha": 2.0}
    answer = runner.invoke(app, ["init", "people.csv", "--alpha", "1", "--central", "1"])
    assert isinstance(answer.exception, InvalidInput)


def test_a_column_that_follows_from_another_is_not_proposed_beside_it(inside):
    """Both would spend the budget on one thing."""
    grades = draw("low", "middle", "high")
    table = {
        "sex": draw("f", "m"),
        "education": grades,
        "education_level": [["low", "middle", "high"].index(one) for one in grades],
    }
    pq.write_table(pa.table(table), "people.parquet")
    said = run("init", "people.parquet", "--accept-seen")
    assert "To randomise: sex, education." in said
    text = (inside / "plan.toml").read_text()
    assert '"education_level",  # categorical, not chosen: 3 values; as it is, it tells' in text


@pytest.fixture
def visits(tmp_path):
    """Encounters: people with one to four rows."""
    who = np.repeat(np.arange(120), np.arange(120) % 4 + 1)
    path = tmp_path / "visits.csv"
    frame = pl.DataFrame({"patient_id": who, "sex": np.where(who % 3, "f", "m")})
    frame.write_csv(path)
    return path


def planned(path, *options):
    """What is said, and the plan that is written."""
    out = path.parent / "plan.toml"
    answer = runner.invoke(app, ["init", str(path), "--out", str(out), "--accept-seen", *options])
    assert answer.exit_code == 0, answer.stderr
    return answer.stderr, out.read_text()


def test_people_with_several_rows_are_reported_first_and_stated_in_the_plan(visits):
    said, text = planned(visits)
    first, second = said.splitlines()[:2]
    assert first == "Rows share values of 'patient_id': 90 of 120 have 2 to 4 rows."
    assert 'person = "patient_id", as nobody was there to ask' in second
    assert tomllib.loads(text)["person"] == "patient_id"
    assert "# rows_per_person = 3" in text
    assert "1 row: 25.0 %, 2 rows: 50.0 %, 3 rows: 75.0 %, 4 rows: 100.0 %" in text
    assert "patient_id" in tomllib.loads(text)["drop"]


@pytest.mark.parametrize(
    ("option", "stated"),
    [
        ("false", False),
        ("patient_id", "patient_id"),
        ("patient_id,sex", ["patient_id", "sex"]),
        ('{household="patient_id"}', {"household": "patient_id"}),
    ],
)
def test_whose_rows_these_are_is_said_beforehand(visits, option, stated):
    said, text = planned(visits, "--person", option)
    assert "nobody was there" not in said
    plan = tomllib.loads(text)
    assert plan["person"] == stated
    assert not {"patient_id", "sex"} & set(plan.get("columns", {})) & set(option.split(","))


def test_whose_rows_these_are_must_be_columns_of_the_file(visits):
    command = ["init", str(visits), "--out", str(visits.parent / "plan.toml"), "--person"]
    for option, reason in (("patent", "'patent', which the file"), ("{household=1}", "must be a")):
        answer = runner.invoke(app, [*command, option])
        assert answer.exit_code != 0
        assert reason in str(answer.exception or answer.stderr)


def test_on_a_terminal_you_are_asked(visits):
    """The answer takes the place of what was found."""
    terminal, theirs = pty.openpty()
    command = "from pramble.cli import main; main()"
    asked = subprocess.Popen(
        [sys.executable, "-c", command, "init", str(visits), "--accept-seen"],
        stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, cwd=visits.parent,
    )  # fmt: skip
    os.write(terminal, b"false\n")
    assert asked.wait(timeout=240) == 0
    said = os.read(terminal, 100_000).decode()
    assert "Whose rows are these" in said
    assert tomllib.loads((visits.parent / "plan.toml").read_text())["person"] is False


def test_a_file_of_one_row_each_has_a_comment(tmp_path):
    path = tmp_path / "people.csv"
    pl.from_arrow(PEOPLE).write_csv(path)
    _, text = planned(path)
    assert "\n# person = false\n" in text
    assert "person" not in tomllib.loads(text)


def test_a_release_takes_the_option_as_toml(visits):
    options = ["release", str(visits), "--columns", "sex", "--drop", "patient_id", "--central", "1"]
    options += ["--dry-run", "--no-ledger"]
    answer = runner.invoke(app, options)
    assert answer.exit_code != 0
    for option, warns in (
        ("false", True),
        ("patient_id", False),
        ('{household="patient_id"}', False),
    ):
        answer = runner.invoke(app, [*options, "--person", option])
        assert answer.exit_code == 0, answer.stderr
        assert ("every row is another person" in answer.stderr) == warns

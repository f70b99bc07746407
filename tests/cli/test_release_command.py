"""The curator's commands: exit codes, words, JSON, and no traceback."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pramble import datasets, open_release
from pramble.cli.app import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def inside(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    people = datasets.synthetic_new_york(3000, seed=5).select(["SEX", "AGE", "MARST"])
    people = people.append_column("person_id", pa.array([f"p{i}" for i in range(3000)]))
    pq.write_table(people, "people.parquet")
    return tmp_path


PUBLISHED = {
    *("analysis.R", "analysis.py", "codebook.xml", "manifest.json"),
    *("randomised.parquet", "summary.html", "synthetic.parquet"),
}


def run(*arguments, code=0, words=None):
    answer = runner.invoke(app, list(map(str, arguments)), input=words)
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        answer.error = str(answer.exception)
    assert answer.exit_code == code, answer.output + str(answer.exception)
    return answer


def test_init_then_release_then_open(inside):
    run("init", "people.parquet", "--accept-seen")
    answer = run("release", "people.parquet", "--plan", "plan.toml", "--out", "out")
    assert "Released to out: 3,000 rows, α = 2 a record" in answer.output
    assert open_release("out").data.column_names == ["SEX", "AGE", "MARST"]
    assert {path.name for path in (inside / "out").iterdir()} == PUBLISHED


def test_copies_are_asked_for(inside):
    given = ["people.parquet", "--columns", "SEX", "--alpha", "2", "--design", "paper"]
    run("release", *given, "--out", "out", "--set", "copies=csv,stata", "--no-ledger")
    names = {path.name for path in (inside / "out").iterdir()}
    assert names == {*PUBLISHED, "synthetic.csv", "synthetic.dta"}
    assert [copy["format"] for copy in open_release("out").manifest["copies"]] == ["csv", "stata"]
    answer = run("release", *given, "--out", "other", "--set", "copies=sas", code=1)
    assert "copies must be one of 'csv', 'stata', 'spss', 'excel'; found 'sas'" in answer.error


def test_release_from_options_in_json(inside):
    answer = run(
        "--quiet", "release", "people.parquet", "--out", "out", "--columns", "SEX, AGE",
        "--alpha", 2, "--drop", "person_id", "--set", "copies=csv", "--json",
    )  # fmt: skip
    document = json.loads(answer.stdout)
    assert document["alpha"] <= 2
    wanted = [table["columns"] for table in document["tables"] if table["wanted"]]
    assert wanted == [["SEX", "AGE"]]
    assert (inside / "out" / "synthetic.csv").exists()


def test_a_dry_run_needs_no_folder():
    keys = ["--set", "risk.keys=SEX,AGE,MARST", "--set", "risk.population_size=100000"]
    answer = run(
        "release", "people.parquet", "--columns", "SEX,AGE", "--alpha", 2, "--dry-run", *keys
    )
    assert "nothing was written" in answer.output
    assert "expected right matches" in answer.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--columns", "SEX", "--alpha", "1"], 2),
        (["--out", "out", "--alpha", "1"], 2),
        (["--out", "out", "--columns", "SEX", "--plan", "plan.toml"], 1),
        (["--out", "out", "--columns", "SEX"], 1),
        (["--out", "out", "--columns", "SXE", "--alpha", "1"], 1),
        (["--out", "out", "--columns", "SEX", "--alpha", "-1"], 1),
        (["--out", "out", "--columns", "AGE", "--alpha", "1", "--prior", "confidential"], 1),
        (["--out", "out", "--columns", "SEX", "--alpha", "3", "--budget", "2"], 1),
        (["--out", "out", "--plan", "no.toml"], 1),
    ],
)
def test_refusals(inside, arguments, code):
    run("release", "people.parquet", *arguments, code=code)
    assert not (inside / "out").exists()


def test_a_users_mistake_is_one_sentence_and_no_traceback(inside):
    answer = subprocess.run(
        [sys.executable, "-c", "from pramble.cli import main; main()", "release", "people.parquet",
         "--out", "out", "--columns", "SXE", "--alpha", "1"],
        capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.strip().splitlines()[-1] == (
        "pramble: The plan names the column 'SXE' to randomise, which the file does not have "
        "(did you mean 'SEX'?)."
    )
    assert "Traceback" not in answer.stderr


def test_the_ledger_lists_and_exports(inside):
    for out in ("a", "b"):
        run("release", "people.parquet", "--out", out, "--columns", "SEX", "--alpha", 1)
    rows = json.loads(run("ledger", "--json").stdout)
    assert [row["total"] for row in rows] == [1.0, 2.0]
    assert run("ledger", "--csv").stdout.splitlines()[1].startswith("1,")
    assert "done" in run("ledger").output
    run("ledger", "--cancel", 1, code=1)
    assert {row["file"] for row in rows} == {"people.parquet"}
    run("ledger", "--people", "people", "--budget", 2.5)
    assert json.loads(run("ledger", "--json", "--people", "people").stdout)[0]["budget"] == 2.5
    run("release", "people.parquet", "--out", "c", "--columns", "SEX", "--alpha", 1, code=1)
    run("ledger", "--people", "nobody", "--budget", 2, code=1)

"""``pramble assess`` and ``pramble calibrate``: what they print, and how they end."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app

KEYS = "age,sex,region"


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(21)
    path = tmp_path / "people.csv"
    pl.DataFrame(
        {
            "age": rng.choice(["young", "middle", "old"], 200),
            "sex": rng.choice(["f", "m"], 200),
            "region": rng.choice([f"r{i}" for i in range(30)], 200),
            "home": rng.integers(0, 80, 200),
            "w": np.full(200, 10.0),
        }
    ).write_csv(path)
    return path


def run(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])


def test_assess_prints_what_the_library_answers(people):
    a = pramble.assess(people, KEYS.split(","), population_size=2000)
    answer = run("assess", people, "--keys", KEYS, "--population", 2000)
    assert answer.exit_code == 0, answer.output
    for figure in ("200", "2,000", f"{a.sample_uniques:,}", f"{a.tau1:.4g}", f"{a.tau2:.4g}"):
        assert figure in answer.output
    assert "confidential" not in answer.output


def test_assess_in_json(people):
    a = pramble.assess(people, KEYS.split(","), weights="w", model="independence")
    answer = run(
        "assess", people, "--keys", "age,sex", "--keys", "region", "--weights", "w",
        "--model", "independence", "--json",
    )  # fmt: skip
    figures = json.loads(answer.stdout)
    assert figures["tau1"] == a.tau1
    assert figures["sum_of_individual_risk"] == pytest.approx(a.records["individual"].sum())


def test_rules_on_the_command_line(people):
    data = pl.read_csv(people).filter(~((pl.col("age") == "old") & (pl.col("region") == "r0")))
    data.write_csv(people)
    answer = run(
        "assess", people, "--keys", KEYS, "--population", 2000, "--json",
        "--model", "independence", "--impossible", "age=old,region=r0",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    plain = pramble.assess(people, KEYS.split(","), population_size=2000, model="independence")
    assert json.loads(answer.stdout)["tau2"] != pytest.approx(plain.tau2, rel=1e-3)
    broken = run("assess", people, "--keys", KEYS, "--population", 2000, "--impossible", "age:old")
    assert "A rule must read like" in str(broken.exception)


def test_calibrate_writes_a_plan_that_assess_reads(people, tmp_path):
    plan, plot = tmp_path / "plan.json", tmp_path / "curve.svg"
    answer = run(
        "calibrate", people, "--keys", KEYS, "--population", 2000, "--column", "region",
        "--at-most", 2.0, "--plan", plan, "--plot", plot, "--json",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert found["value"] <= 2.0
    assert plot.read_text(encoding="utf-8").count("<svg") == 1
    again = run("assess", people, "--keys", KEYS, "--population", 2000, "--plan", plan, "--json")
    left = json.loads(again.stdout)["after"][str(plan)]
    assert left["tau2"] == pytest.approx(found["value"])
    table = run("assess", people, "--keys", KEYS, "--population", 2000, "--plan", plan)
    assert "Risk left" in table.output
    shown = run(
        "calibrate", people, "--keys", KEYS, "--population", 2000, "--column", "region",
        "--at-most", 2.0,
    )  # fmt: skip
    assert f"{found['alpha']:.6g}" in shown.output
    assert "looking at the data" in " ".join(shown.output.split())


def test_calibrate_ends_with_one_when_no_alpha_does_it(people):
    answer = run(
        "calibrate", people, "--keys", KEYS, "--population", 2000, "--column", "sex",
        "--at-most", 0.0001, "--json",
    )  # fmt: skip
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["met"] is False
    assert "No α tried" in answer.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--keys", "age,height", "--population", "2000"], "no column 'height'"),
        (["--keys", "age", "--population", "20"], "at least the file's 200 records"),
        (["--keys", "age"], "population_size is needed"),
        (
            ["--keys", "age", "--population", "2000", "--plan", "none.json"],
            "Cannot read a mechanism",
        ),
    ],
)
def test_refusals_are_one_sentence_and_exit_one(people, words, sentence):
    answer = subprocess.run(
        [sys.executable, "-c", "from pramble.cli import main; main()", "assess", people, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_a_release_folder_is_a_plan(people, tmp_path):
    pramble.release(
        people,
        tmp_path / "out",
        columns=["region"],
        alpha=1.0,
        prior="uniform",
        design="paper",
        ledger=tmp_path / "ledger.jsonl",
    )
    answer = run(
        "assess", people, "--keys", KEYS, "--population", 2000, "--plan", tmp_path / "out", "--json"
    )
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert document["after"][str(tmp_path / "out")]["tau2"] < document["tau2"]


def test_a_plan_document_is_a_plan(people, tmp_path):
    path = tmp_path / "plan.json"
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    path.write_text(json.dumps(plan.to_json()), encoding="utf-8")
    words = ["assess", people, "--keys", KEYS, "--population", 2000, "--json", "--plan", path]
    found = json.loads(run(*words).stdout)["after"][str(path)]
    a = pramble.assess(people, KEYS.split(","), population_size=2000)
    assert found["tau2"] == pytest.approx(a.after(plan).tau2)
    path.write_text("[]", encoding="utf-8")
    assert "must hold a mechanism by column" in str(run(*words).exception)

import csv
import json
import math
import sys
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli import main
from pramble.cli.app import app
from pramble.errors import PrambleError
from pramble.mechanisms.csv_form import read_csv, write_csv


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """A function that runs a command in this process."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["pramble", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return Done(int(end.value.code or 0), *capsys.readouterr())

    return command


def test_a_prior_on_the_command_line(run):
    done = run("design", "--alpha", 1, "--prior", "0.5,0.3,0.2", "--categories", "a,b,c", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    expected = pramble.design([0.5, 0.3, 0.2], 1.0, categories=["a", "b", "c"])
    assert answer["value"] == expected.value
    assert answer["gap"] <= 1e-6
    assert answer["levels"][0] == {
        "name": "v_α",
        "probability": pytest.approx(0.576117, abs=1e-6),
        "categories": ["a", "b", "c"],
    }
    assert pramble.Mechanism.from_json(answer["mechanism"]) == expected.mechanism


def test_a_mechanism_and_its_matrix_are_written(run, tmp_path):
    table, mechanism = tmp_path / "region.csv", tmp_path / "region.json"
    words = ["--categories", "north,south,west", "--matrix", table, "--out", mechanism]
    done = run("design", "--alpha", 1, "--prior", "0.6,0.3,0.1", *words)
    assert done.returncode == 0
    assert "proven bound" in done.stdout
    made = pramble.Mechanism.from_json(mechanism.read_text())
    assert made.categories == ("north", "south", "west")
    assert made == pramble.design([0.6, 0.3, 0.1], 1.0, categories=made.categories).mechanism
    assert read_csv(table) == made
    asked = run("certify", mechanism, "--alpha", 1, "--json")
    assert asked.returncode == 0
    assert json.loads(asked.stdout)["satisfied"] is True
    refused = run("certify", table, "--alpha", 0.9)
    assert refused.returncode == 1
    assert "is not satisfied" in refused.stdout


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--alpha", 1, "--prior", "0.5,0.4"], 1, "must sum to 1"),
        (["--alpha", 1, "--prior", "0.5,half"], 1, "separated by commas"),
        (["--alpha", -1, "--prior", "0.5,0.5"], 1, "positive and finite"),
        (["--alpha", 1, "--prior", "1"], 1, "at least two categories"),
        (["--alpha", 1, "--uniform", 4, "--set", "keep_at_least=0.9"], 1, "at most one of 4"),
        (["--alpha", 1], 2, "give one of"),
        (["--alpha", 1, "--uniform", 3, "--prior", "0.5,0.5"], 2, "give one of"),
        (["--prior", "0.5,0.5"], 2, "--alpha"),
    ],
)
def test_refusals_are_one_sentence(run, words, code, sentence):
    done = run("design", *words)
    assert done.returncode == code
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_certify_refuses_what_is_no_mechanism(run, tmp_path):
    strange = tmp_path / "strange.json"
    strange.write_text("{]")
    for file in (strange, tmp_path / "absent.json", tmp_path / "absent.csv"):
        done = run("certify", file)
        assert done.returncode == 1
        assert "Cannot read" in done.stderr


def test_a_matrix_reads_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    for size in (2, 3, 10, 40):
        prior = rng.dirichlet(np.full(size, 0.3))
        m = pramble.design(prior, 1.7, categories=[f"c {i}" for i in range(size)]).mechanism
        write_csv(m, tmp_path / "m.csv")
        with (tmp_path / "m.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0][1:] == [row[0] for row in rows[1:]] == list(m.categories)
        entries = [[float(entry) for entry in row[1:]] for row in rows[1:]]
        np.testing.assert_array_equal(entries, m.matrix)
        for row in entries:
            assert math.fsum(row) == 1
            assert abs(float(np.sum(row, dtype=np.longdouble)) - 1) <= 2.2e-16
        assert all("e" in entry or len(entry) <= 20 for row in rows[1:] for entry in row[1:])


def test_tables_that_are_no_mechanism(tmp_path):
    file = tmp_path / "m.csv"
    for text, sentence in [
        ("", "must hold a table"),
        (",a,b\na,1\n", "must hold a table"),
        (",a,b\na,x,1\nb,0,1\n", "must hold numbers"),
        (",a,b\na,0.4,0.4\nb,0,1\n", "sum to 1"),
    ]:
        file.write_text(text)
        with pytest.raises(pramble.InvalidMechanism, match=sentence):
            read_csv(file)
    with pytest.raises(pramble.InvalidMechanism, match="too large"):
        write_csv(pramble.randomized_response(20_000, 1.0), file)


def test_a_record_is_designed_and_its_plan_certified(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(
        "design", "--alpha", 2, "--columns", "sex=f|m,ill=2", "--tables", 2,
        "--set", "time_limit=3", "--out", "plan.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "sex + ill" in done.stdout
    assert run("certify", "plan.json", "--alpha", 2).returncode == 0
    assert run("certify", "plan.json", "--alpha", 1.9).returncode == 1
    assert run("design", "--alpha", 2, "--columns", "sex,ill").returncode == 2


def test_a_record_is_designed_by_distance(run):
    words = "design --alpha 0.5 --columns age=3,town=3 --distance age=path"
    done = run(*words.split(), "--set", "time_limit=2", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    plan = pramble.Plan.from_json(answer["plan"])
    assert pramble.certify(plan, distance={"age": "path"}).satisfies(0.5)
    assert answer["bound"] <= answer["value"]
    wrong = run("design", "--alpha", 1, "--columns", "age=3,town=3", "--distance", "aeg=path")
    assert wrong.returncode == 2
    assert "aeg='path' is no distance of a column" in wrong.stderr


@pytest.mark.parametrize(
    "words",
    [
        "design --alpha 1 --uniform 4 --set family=circle",
        "design --alpha 1 --uniform 4 --set progress=1",
        "design --alpha 1 --uniform 4 --set tolerance=x",
        "design --alpha 1 --uniform 4 --set time_limit=abc",
        "design --alpha 4 --columns a=2,b=3 --set tables=1",
    ],
)
def test_settings_with_options_of_their_own_or_of_another_kind_are_refused(words):
    answer = CliRunner().invoke(app, words.split())
    assert isinstance(answer.exception, PrambleError), answer.exception

"""``pramble certify``: both promises, in words and for scripts."""

import json

import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import PrivacyError

M = pramble.randomized_response(["a", "b", "c"], 2.0)


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documents = {"m": M, "plan": pramble.Plan({"x": M, "y": M})}
    for name, given in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(given.to_json()))
    return tmp_path


def run(*words):
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, ["certify", *map(str, words)])


def answered(*words):
    answer = run(*words, "--json")
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


@pytest.mark.parametrize(("name", "given"), [("m", M), ("plan", {"x": M, "y": M})])
def test_figures_are_those_of_the_library(inside, name, given):
    found = answered(f"{name}.json", "--rows", 100_000, "--delta", 1e-7)
    expected = pramble.central_guarantee(given, rows=100_000, delta=1e-7)
    assert found["alpha"] == pramble.certify(given).alpha
    central = found["central"]
    assert (central["epsilon"], central["lower"]) == (expected.epsilon, expected.lower)
    assert central["lower"] < central["epsilon"] < found["alpha"]
    assert (central["delta"], central["rows"], central["asked"]) == (1e-7, 100_000, None)
    assert central["sentence"] == expected.sentence()


def test_without_rows_nothing_central_is_said(inside):
    assert answered("m.json")["central"] is None
    answer = run("m.json")
    assert answer.exit_code == 0
    assert "Central" not in answer.stdout


def test_both_promises_in_words(inside):
    answer = run("m.json", "--rows", 100_000)
    expected = pramble.central_guarantee(M, rows=100_000, delta=1e-6)
    assert answer.exit_code == 0
    local, central = answer.stdout.splitlines()[1:]
    assert local == f"Local: {pramble.certify(M).promise.sentence()}"
    assert central == f"Central: {expected.sentence()}"


@pytest.mark.parametrize(
    ("epsilon", "code", "words"),
    [
        (0.05, 0, "is proven"),
        (0.0311, 1, "neither proven nor refuted"),
        (0.02, 1, "an attack does better"),
    ],
)
def test_an_epsilon_is_proven_refuted_or_neither(inside, epsilon, code, words):
    answer = run("m.json", "--rows", 100_000, "--epsilon", epsilon)
    assert answer.exit_code == code
    assert words in answer.stdout.splitlines()[-1]


def test_alpha_that_is_not_satisfied_still_ends_with_one(inside):
    assert run("m.json", "--rows", 100, "--alpha", 1.9, "--epsilon", 2.5).exit_code == 1
    assert run("m.json", "--rows", 100, "--alpha", 2, "--epsilon", 2.5).exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--delta", 1e-6], "--delta goes with --rows"),
        (["--epsilon", 1], "--epsilon goes with --rows"),
    ],
)
def test_usage(inside, words, sentence):
    answer = run("m.json", *words)
    assert answer.exit_code == 2
    assert sentence in answer.stderr


def test_releases(inside):
    pytest.importorskip("pandas")
    import pandas as pd

    frame = pd.DataFrame({"x": list("abc") * 400, "y": list("aabb") * 300})
    frame.to_csv("people.csv", index=False)
    asked = {"columns": ["x", "y"], "prior": "uniform"}
    pramble.release("people.csv", "plain", alpha=2.0, **asked)
    pramble.release("people.csv", "shuffled", central=1.0, design="records", **asked)
    assert answered("plain")["central"] is None
    assert isinstance(run("plain", "--rows", 1200).exception, PrivacyError)
    shuffled = pramble.open_release("shuffled")
    central = answered("shuffled")["central"]
    assert central["rows"] == 1200
    assert central["epsilon"] <= shuffled.central.shown * (1 + 1e-9)
    assert run("shuffled", "--rows", 1199).exit_code == 2
    assert run("shuffled", "--epsilon", 1).exit_code == 0

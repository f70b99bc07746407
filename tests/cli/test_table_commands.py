"""Commands on protected tables: what they answer, and what they refuse with what works instead."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput, InvalidPlan, PrivacyError

COLUMNS = {"sex": ["f", "m"], "town": ["x", "y", "z"], "ill": ["no", "yes"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A file, a folder of protected tables of its pairs, and their plan alone."""
    found = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(2)
    people = pa.table({name: rng.choice(own, 3_000) for name, own in COLUMNS.items()})
    pq.write_table(people, found / "people.parquet")
    declared = {name: {"categories": own} for name, own in COLUMNS.items()}
    pramble.release(
        found / "people.parquet", found / "out", columns=declared, central=1.0, ledger=False,
        pages=False, key=bytes(range(32)),
    )  # fmt: skip
    plan = pramble.open_release(found / "out").plan
    (found / "plan.json").write_text(json.dumps(plan.to_json()))
    return found


@pytest.fixture(autouse=True)
def inside(place, monkeypatch):
    monkeypatch.chdir(place)


def run(*words):
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, [str(word) for word in words])


def answered(*words):
    answer = run(*words, "--json")
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


@pytest.mark.parametrize("tables", ["2", "auto"])
def test_a_dry_run_says_what_would_be_measured(tables):
    said = run(
        "release", "people.parquet", "--columns", "sex,town,ill", "--central", 1,
        "--tables", tables, "--dry-run",
    ).stdout  # fmt: skip
    assert "3 tables of counts would be measured once" in said
    assert "were" not in said
    assert "0 B" not in said


@pytest.mark.parametrize("given", ["out", "plan.json"])
def test_the_promise_of_tables_is_certified(given):
    found = answered("certify", given)
    expected = pramble.certify(pramble.open_release("out"))
    central = found["central"]
    assert found["alpha"] is None
    assert (central["epsilon"], central["delta"]) == (expected.epsilon, expected.delta)
    assert central["mu"] ** 2 == pytest.approx(float(expected.mu_squared))
    assert central["worst"] == list(expected.worst)
    said = run("certify", given).stdout
    assert f"people who differ in {', '.join(expected.worst)}" in said
    assert expected.sentence() in said


def test_an_epsilon_is_proven_or_not_and_the_exit_says_so():
    assert run("certify", "out", "--epsilon", 1).exit_code == 0
    below = run("certify", "out", "--epsilon", 0.9)
    assert below.exit_code == 1
    assert "not satisfied" in below.stdout
    larger = answered("certify", "out", "--delta", 1e-4, "--epsilon", 0.9)["central"]
    assert larger["epsilon"] < 0.9
    assert (larger["proven"], larger["refuted"]) == (True, False)


@pytest.mark.parametrize("words", [["--alpha", 1], ["--distance", "path"]])
def test_there_is_no_local_promise_to_ask_for(words):
    answer = run("certify", "out", *words)
    assert isinstance(answer.exception, PrivacyError)
    assert "--epsilon" in str(answer.exception)


def test_what_bears_on_shuffled_records_alone_is_refused():
    answer = run("certify", "out", "--rows", 3000)
    assert answer.exit_code == 2
    assert "leave it out" in answer.stderr


def test_a_forged_plan_gets_the_promise_that_it_makes(place, tmp_path):
    document = json.loads((place / "plan.json").read_text())
    document["precision"][0]["value"] *= 100
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert answered("certify", tmp_path / "p.json")["central"]["epsilon"] > 1


def test_measured_tables_are_estimated():
    cells = answered("estimate", "out", "--by", "town,sex")["cells"]
    own = pramble.estimate(pramble.open_release("out"), by=["town", "sex"])
    assert [cell["share"] for cell in cells] == own.values.tolist()
    assert not answered("estimate", "out", "--by", "town,sex")["modelled"]
    wrong = run("estimate", "out", "--by", "sex,towm")
    assert isinstance(wrong.exception, InvalidInput)
    assert "'town'" in str(wrong.exception) or "town" in str(wrong.exception)


def test_other_tables_are_modelled_and_marked():
    found = answered("estimate", "out", "--by", "sex,town,ill")
    own = pramble.estimate(pramble.open_release("out"), by=["sex", "town", "ill"])
    assert [cell["share"] for cell in found["cells"]] == own.values.tolist()
    assert found["modelled"]
    assert found["rests_on"] == [["sex", "town"], ["sex", "ill"], ["town", "ill"]]
    assert found["notes"] == list(own.notes)
    shown = run("estimate", "out", "--by", "sex,town,ill")
    assert "Modelled: " in shown.stdout
    assert "hold if the model does" in " ".join(shown.stdout.split())
    assert "these columns were not measured together" in " ".join(shown.stderr.split())
    assert "Modelled" in run("estimate", "out", "--by", "sex,town,ill", "--csv").stderr
    answer = run("estimate", "out", "--by", "sex,town,ill", "--method", "inverse")
    assert isinstance(answer.exception, InvalidInput)
    assert "sex × town, sex × ill, town × ill" in str(answer.exception)


def test_complete_records_are_drawn_again(tmp_path):
    found = answered("synthesize", "out", "--out", tmp_path / "s.parquet", "--rows", 500)
    assert found["rows"] == pq.read_table(tmp_path / "s.parquet").num_rows == 500
    for words in (["--tables", "1"], ["--columns", "sex"]):
        answer = run("synthesize", "out", "--out", tmp_path / "t.parquet", *words)
        assert "leave tables= and columns= out" in str(answer.exception)
        assert not (tmp_path / "t.parquet").exists()


def test_there_are_no_records_to_impute(tmp_path):
    answer = run("impute", "out", "--out", tmp_path / "copies")
    assert isinstance(answer.exception, InvalidInput)
    assert "synthetic.parquet" in str(answer.exception)
    assert not (tmp_path / "copies").exists()
    release = pramble.open_release("out")
    for given in (release, release.tables):
        with pytest.raises(InvalidInput, match="no records to fill in"):
            pramble.impute(given)


def test_a_plan_of_tables_is_no_plan_of_records():
    people, plan = pq.read_table("people.parquet"), pramble.open_release("out").plan
    words = "assess people.parquet --keys sex,town --population 100000 --plan"
    for given in ("out", "plan.json"):
        answer = run(*words.split(), given)
        assert isinstance(answer.exception, InvalidPlan)
        assert "no records to match" in str(answer.exception)
    for wrong in (lambda: pramble.perturb(people, plan), lambda: pramble.estimate(people, plan)):
        with pytest.raises(InvalidPlan, match=r"pramble\.measure"):
            wrong()


def test_tables_are_designed_by_sizes_or_labels(tmp_path):
    words = ["design", "--central", "1,1e-6", "--tables", "2", "--out", tmp_path / "p.json"]
    found = answered(*words, "--columns", "sex=2,town=3,ill=2")
    own = pramble.design_tables({"sex": 2, "town": 3, "ill": 2}, 1.0, 1e-6, tables=2)
    assert [one["deviation"] for one in found["deviations"]] == list(own.deviations.values())
    assert answered("certify", tmp_path / "p.json")["central"]["epsilon"] <= 1
    labelled = answered("design", "--central", 1, "--columns", "sex=f|m,ill=2")
    assert labelled["plan"]["columns"][0] == {"name": "sex", "categories": ["f", "m"]}
    assert labelled["delta"] == 1e-6


@pytest.mark.parametrize(
    "words",
    [
        ["--central", "1,1e-6"],
        ["--central", "1", "--alpha", "1", "--columns", "a=2,b=2"],
        ["--columns", "a=2,b=2"],
        ["--central", "1", "--columns", "a=2,b=2", "--set", "whole=true"],
        ["--central", "1", "--columns", "a=2,b=2", "--objective", "information"],
        ["--central", "1", "--columns", "a,b"],
    ],
)
def test_designs_that_make_no_sense_are_refused(words):
    answer = run("design", *words)
    assert answer.exit_code == 2


@pytest.mark.parametrize("central", ["much", "1,2,3", "-1", "1,0", "0", "nan"])
def test_a_central_promise_is_two_numbers(central):
    answer = run("design", "--central", central, "--columns", "a=2,b=2")
    assert isinstance(answer.exception, (InvalidInput, PrivacyError)), answer.exception


@pytest.mark.parametrize("people", [0.5, 7.0, 300.0])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_smallest_epsilon_for_a_given_noise(people, rows):
    given = {"a": 2, "b": 5, "c": 3}, 1.0, 1e-6
    epsilon = pramble.design_tables(*given, rows_per_person=rows).epsilon_for(people)
    for times, fits in ((1, True), (0.999, False)):
        d = pramble.design_tables(given[0], times * epsilon, 1e-6, rows_per_person=rows)
        assert (d.typical <= people) == fits


@pytest.mark.parametrize("people", [0, -1.0, float("nan"), float("inf")])
def test_noise_is_a_positive_number_of_people(people):
    with pytest.raises(InvalidInput, match="positive"):
        pramble.design_tables({"a": 2, "b": 2}, 1.0, 1e-6).epsilon_for(people)

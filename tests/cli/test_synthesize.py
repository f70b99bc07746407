import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput, PrambleError

runner = CliRunner()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("synthesize")
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 2000, p=[0.6, 0.4])
    people = {
        "sex": sex,
        "ill": np.where(rng.random(2000) < np.where(sex == "f", 0.7, 0.2), "ill", "well"),
        "region": rng.choice(["north", "south", "west"], 2000),
        "income": rng.normal(10, 2, 2000),
    }
    pq.write_table(pa.table(people), place / "people.parquet")
    columns = {"sex": {"categories": ["f", "m"]}, "ill": {"categories": ["ill", "well"]}}
    pramble.release(
        place / "people.parquet", place / "out", columns=columns, alpha=3.0, ledger=False,
        design="paper",
    )  # fmt: skip
    return place


def run(*arguments):
    return runner.invoke(app, ["synthesize", *map(str, arguments)])


def test_the_file_holds_what_the_verb_draws(place):
    target = place / "synthetic.parquet"
    answer = run(place / "out", "--out", target, "--seed", 1)
    assert answer.exit_code == 0, answer.output
    with pytest.warns(UserWarning, match="'income' is left out"):
        expected = pramble.synthesize(pramble.open_release(place / "out"), seed=1)
    assert pq.read_table(target).equals(expected)
    assert expected.num_rows == 2000
    words = " ".join(answer.output.split())
    assert "reveal nothing beyond it and are as private as it is" in words
    assert "'income' is left out" in words
    assert "points a cell from their estimates" in words


def test_json_says_how_far_each_table_is(place):
    target = place / "few.csv"
    answer = run(
        place / "out", "--out", target, "--rows", 400, "--tables", "sex+ill", "--columns",
        "sex,ill", "--json",
    )  # fmt: skip
    document = json.loads(answer.stdout)
    assert document["rows"] == 400
    assert len(target.read_text().splitlines()) == 401
    assert [one["columns"] for one in document["tables"]] == [["sex"], ["ill"], ["sex", "ill"]]
    for one in document["tables"]:
        assert 0 <= one["mean_distance"] <= one["largest_distance"] < 4 * one["standard_error"]


@pytest.mark.parametrize(
    ("source", "out", "message"),
    [
        ("people.parquet", "x.csv", "people.parquet"),
        ("out", "x.sas7bdat", "cannot be written"),
        ("out", "people.parquet", "exists already"),
        ("out", "out/x.csv", "must not lie within"),
    ],
)
def test_outputs_are_checked_before_anything_is_computed(place, monkeypatch, source, out, message):
    def never(*_, **__):
        raise AssertionError("computed too early")

    monkeypatch.setattr("pramble.cli.estimate.synthesis", never)
    answer = run(place / source, "--out", place / out)
    assert isinstance(answer.exception, PrambleError)
    assert message in str(answer.exception)


def test_a_refusal_leaves_no_file(place):
    answer = run(place / "out", "--out", place / "none.csv", "--columns", "sex,height")
    assert isinstance(answer.exception, InvalidInput)
    assert "height" in str(answer.exception)
    assert not (place / "none.csv").exists()
    assert not list(place.glob(".*partial"))

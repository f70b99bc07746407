import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import PrambleError

runner = CliRunner()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("impute")
    rng = np.random.default_rng(0)
    people = {
        "sex": rng.choice(["f", "m"], 600, p=[0.6, 0.4]),
        "region": rng.choice(["north", "south", "west"], 600),
        "income": rng.normal(10, 2, 600),
        "person": [f"p{i}" for i in range(600)],
    }
    pq.write_table(pa.table(people), place / "people.parquet")
    pramble.release(
        place / "people.parquet", place / "out", columns={"sex": {"categories": ["f", "m"]}},
        alpha=2.0, ledger=False, design="paper",
    )  # fmt: skip
    return place


def run(*arguments):
    return runner.invoke(app, ["impute", *map(str, arguments)])


def test_the_files_hold_what_the_verb_draws(place):
    answer = run(place / "out", "--out", place / "copies", "--copies", 3, "--seed", 1)
    assert answer.exit_code == 0, answer.output
    with pytest.warns(UserWarning, match="'person' is left out of the model"):
        expected = pramble.impute(pramble.open_release(place / "out"), copies=3, seed=1)
    for number, frame in enumerate(expected, start=1):
        assert pq.read_table(place / "copies" / f"{number}.parquet").equals(frame)
    assert len(list((place / "copies").iterdir())) == 3
    words = " ".join(answer.output.split())
    assert "reveal nothing beyond it and cost no privacy" in words
    assert "'person' is left out" in words


def test_json_says_what_was_drawn_and_other_formats_are_written(place):
    answer = run(
        place / "out", "--out", place / "texts", "--copies", 2, "--using", "region", "--format",
        "csv", "--tables", "2", "--json",
    )  # fmt: skip
    document = json.loads(answer.stdout)
    assert document["rows"] == 600
    assert document["columns"] == ["sex"]
    assert document["given"] == ["region"]
    assert document["classes"] == document["notes"] == []
    assert document["tables"] == [["region", "sex"]]
    assert [len(Path(one).read_text().splitlines()) for one in document["files"]] == [601, 601]


def test_targets_and_sources_are_checked_before_anything_is_drawn(place, monkeypatch):
    def never(*_, **__):
        raise AssertionError("drawn before the target was checked")

    monkeypatch.setattr("pramble.cli.estimate.imputation", never)
    (place / "there").mkdir()
    refused = {
        "exists already": (place / "out", "--out", place / "there"),
        "no known ending": (place / "out", "--out", place / "new", "--format", "nothing"),
        "must not lie within": (place / "out", "--out", place / "out" / "copies"),
        "people.parquet": (place / "people.parquet", "--out", place / "new"),
    }
    for message, arguments in refused.items():
        answer = run(*arguments)
        assert answer.exit_code == 1
        assert isinstance(answer.exception, PrambleError)
        assert message in str(answer.exception)
    assert not (place / "new").exists()

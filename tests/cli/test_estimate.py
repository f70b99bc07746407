"""``pramble estimate``: the table, JSON, CSV, plots, and refusals in one sentence."""

import csv
import io
import json

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
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("estimate")
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], 2000, p=[0.6, 0.4]),
            "region": rng.choice(["north", "south", "west"], 2000),
            "income": rng.normal(10, 2, 2000),
        }
    )
    pq.write_table(table, place / "people.parquet")
    columns = {"sex": {"categories": ["f", "m"]}}
    pramble.release(
        place / "people.parquet",
        place / "out",
        columns=columns,
        alpha=3.0,
        ledger=False,
        design="paper",
    )
    return place / "out"


def run(*arguments):
    return runner.invoke(app, ["estimate", *map(str, arguments)])


def test_the_table_reads_well(folder):
    answer = run(folder, "--by", "sex")
    assert answer.exit_code == 0, answer.output
    assert "2,000 records, 95 % intervals" in answer.stdout
    assert "sampling and randomisation" in " ".join(answer.stdout.split())
    assert "%" in answer.stdout


def test_json_and_csv_hold_the_numbers_of_the_verb(folder):
    e = pramble.estimate(pramble.open_release(folder), by=["region", "sex"])
    document = json.loads(run(folder, "--by", "region,sex", "--json").stdout)
    assert [cell["share"] for cell in document["cells"]] == e.probabilities.tolist()
    assert document["cells"][1]["region"] == "north"
    assert document["covers"] == "both"
    rows = list(csv.DictReader(io.StringIO(run(folder, "--by", "region,sex", "--csv").stdout)))
    assert [float(row["upper"]) for row in rows] == e.upper.tolist()


def test_queries_means_and_settings_go_through(folder):
    r = pramble.open_release(folder)
    conditions = "sex=f,region=north|south"
    answer = run(folder, "--by", "sex,region", "--query", conditions, "--json")
    cell = json.loads(answer.stdout)["cells"][0]
    weights = {("f", "north"): 1, ("f", "south"): 1}
    direct = pramble.estimate(r, by=["sex", "region"], query=weights)
    assert cell["query"] == conditions
    assert cell["estimate"] == pytest.approx(direct.values[0])
    answer = run(folder, "--by", "sex", "--mean", "income", "--covers", "randomisation", "--json")
    mean = pramble.estimate(r, by="sex", mean="income", covers="randomisation")
    assert [c["mean"] for c in json.loads(answer.stdout)["cells"]] == mean.values.tolist()
    assert "mean" in run(folder, "--by", "sex", "--mean", "income").stdout


def test_names_are_matched_exactly_where_a_column_has_blanks(tmp_path):
    table = pa.table(
        {"sex": ["f", "m"] * 50, " region": ["x", "x", "y", "y"] * 25, "age": [1] * 50 + [2] * 50}
    )
    pq.write_table(table, tmp_path / "people.parquet")
    columns = {"sex": {"categories": ["f", "m"]}}
    pramble.release(
        tmp_path / "people.parquet",
        tmp_path / "out",
        columns=columns,
        alpha=3.0,
        ledger=False,
        design="paper",
    )
    answer = run(tmp_path / "out", "--by", "sex, region, age", "--csv")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[0].startswith("sex, region,age,")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_plot_is_written(folder, tmp_path, ending):
    path = tmp_path / f"plot.{ending}"
    answer = run(folder, "--by", "sex,region", "--plot", path)
    assert answer.exit_code == 0, answer.output
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG" if ending == "png" else b"<svg")
    assert len(data) > 2000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "height"], "no column 'height'"),
        (["--by", "sex", "--query", "sex=q"], "'q' is none"),
        (["--by", "sex", "--query", "region=north"], "'column=label'"),
        (["--by", "sex", "--json", "--csv"], "one of --json and --csv"),
    ],
)
def test_refusals_are_one_sentence(folder, arguments, words):
    answer = run(folder, *arguments)
    assert isinstance(answer.exception, PrambleError)
    with pytest.raises(PrambleError, match=words):
        raise answer.exception


def test_a_folder_whose_data_was_changed_is_refused(folder, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    with (copy / "randomised.parquet").open("ab") as file:
        file.write(b"x")
    answer = run(copy, "--by", "sex")
    with pytest.raises(PrambleError, match="is not the file that was released"):
        raise answer.exception


def test_shares_given_a_column_are_those_of_the_verb(folder):
    answer = run(folder, "--by", "sex", "--given", "region", "--json")
    assert answer.exit_code == 0, answer.output
    cells = json.loads(answer.output)["cells"]
    e = pramble.estimate(pramble.open_release(folder), by="sex", given="region")
    assert [cell["share"] for cell in cells] == pytest.approx(e.values.tolist())
    assert "%" in run(folder, "--by", "sex", "--given", "region").output

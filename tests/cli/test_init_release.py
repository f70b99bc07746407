"""First plans that release: files with awkward names and cells, as ``pramble init`` wrote them."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app

N = 300
RNG = np.random.default_rng(9)


def draw(*labels):
    return RNG.choice(list(labels), N)


def lines_of(header, *columns, separator=","):
    rows = [header, *zip(*columns, strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def numbered(word):
    return [f"{word}{i}" for i in range(N)]


AWKWARD = {
    "blanks and Japanese": lines_of(
        [" Région ", "日本", "with.dots"], draw("n", "s"), draw("東", "西"), draw(1, 2, 3)
    ),
    "quotes and signs": lines_of(
        ['"a ""q"" name"', "x=y [z] #", "back\\slash"],
        draw('"a,b"', '"c ""d"""', "e"), draw("\\", "/", "#"), draw("'", "~"),
    ),
    "no name, kept": lines_of(["", "sex"], draw("u", "v"), draw("f", "m")),
    "no name, dropped": lines_of(["", "sex"], numbered("p"), draw("f", "m")),
    "empty cells": lines_of(
        ["sex", "region", "grade", "smokes", "age"],
        draw("f", "m", ""), draw("n", "e", "s", ""), draw(1, 2, 3, ""),
        draw("true", "false", ""), draw("", *range(90)),
    ),
    "decimal commas": lines_of(
        ["sexe", "âge", "revenu", "poids"],
        draw("f", "h"), RNG.integers(0, 99, N),
        [f"{x:.2f}".replace(".", ",") for x in RNG.gamma(2, 900, N)],
        [f"{x:.3f}".replace(".", ",") for x in RNG.gamma(2, 9, N)],
        separator=";",
    ),
    "adult": lines_of(
        ["age", "workclass", "fnlwgt", "education", "sex", "hours-per-week", "income"],
        RNG.integers(17, 91, N), draw("Private", "?", "State-gov"),
        RNG.integers(12_285, 1_484_705, N), draw("Bachelors", "HS-grad", "11th", "9th"),
        draw("Male", "Female"), RNG.integers(1, 99, N), draw("<=50K", ">50K"), separator=", ",
    ),
    "negative numbers": lines_of(["sex", "profit"], draw("f", "m"), RNG.normal(0, 900, N)),
    "codes with points": lines_of(["code", "sex"], draw("1.0", "2.0", "10.0"), draw("f", "m")),
    "leading zeros": lines_of(["plz", "sex"], draw("01067", "01069", "80331"), draw("f", "m")),
    "one column": lines_of(["sex"], draw("f", "m")),
    "blanks in cells": lines_of(["sex", "town"], draw("f", "m"), draw('" a"', '"a"', '"b "')),
}  # fmt: skip


@pytest.fixture(autouse=True)
def inside(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def released_by_init(source):
    """Write a plan for a file, ask for the risk too, and release it, the quick way."""
    answer = CliRunner().invoke(app, ["init", source, "--accept-seen"])
    assert answer.exception is None, repr(answer.exception)
    text = (
        Path("plan.toml").read_text(encoding="utf-8").replace("shuffle = true", "shuffle = false")
    )
    text = text.replace("tables = 2", "tables = 1")
    for word in ("[risk]", "keys", "population_size"):
        text = text.replace(f"# {word}", word)
    plan = tomllib.loads(text)
    assert plan["risk"]["keys"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = pramble.release(source, "out", plan=plan, ledger=False, pages=False)
    assert made.outcome.risk.keys == tuple(plan["risk"]["keys"])
    return plan, pq.read_table("out/randomised.parquet")


@pytest.mark.parametrize("name", AWKWARD)
def test_a_first_plan_of_an_awkward_file_releases_it(inside, name):
    (inside / "people.csv").write_text(AWKWARD[name], encoding="utf-8")
    plan, released = released_by_init("people.csv")
    assert released.column_names == list(plan["columns"])
    assert released.num_rows == N


def test_typed_columns_with_missing_values_are_released():
    table = pa.table(
        {
            "smokes": pa.array([None if i % 5 == 0 else bool(i % 2) for i in range(N)]),
            "rooms": pa.array([None if i % 7 == 0 else int(i % 4) for i in range(N)], pa.uint8()),
            "floor": pa.array([float("nan") if i % 9 == 0 else float(i % 3) for i in range(N)]),
            "town": pa.array([[" x", "x", "y ", "", None][i % 5] for i in range(N)]),
        }
    )
    pq.write_table(table, "people.parquet")
    plan, released = released_by_init("people.parquet")
    columns = plan["columns"]
    assert columns["smokes"]["categories"] == {"standard": ["no", "yes"]}
    assert columns["rooms"] == {"categories": {"seen": [0, 1, 2, 3]}, "missing": {"seen": -1}}
    assert columns["floor"] == {"categories": {"seen": [0, 1, 2]}, "missing": {"seen": -1}}
    assert columns["town"]["categories"] == {"seen": ["x", "y"]}
    assert set(released["smokes"].unique().to_pylist()) <= {"no", "yes", "missing", None}
    assert set(released["rooms"].unique().to_pylist()) <= {0, 1, 2, 3, -1, None}

"""The script in R says what pramble says, for plans of every kind, whatever labels look like."""

import os
import subprocess
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.releasing.conftest import LEAST_ROWS, release_by
from tests.releasing.test_scripts import EVIL

import pramble

pytestmark = pytest.mark.r

A, B, C, D = ["f", "m"], ["lo", "mi", "hi"], ["x", "y"], [f"d{i}" for i in range(45)]
N = 3000
RR = pramble.randomized_response


def general(labels, outputs=None, *, seed):
    """A matrix of no special kind."""
    T = len(labels if outputs is None else outputs)
    noise = np.random.default_rng(seed).dirichlet(np.ones(T), len(labels))
    own = np.eye(T)[np.arange(len(labels)) % T]
    return pramble.Mechanism.from_matrix(0.4 * noise + 0.6 * own, labels, outputs)


def cells(*columns):
    return list(product(*columns))


HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ONE, PAIR, OTHER, ALL = ["b"], ["a", "b"], ["c", "b"], ["a", "b", "c"]
PLANS = {
    "columns": pramble.Plan({"a": RR(A, 1.5), "b": general(B, seed=1), "c": RR(C, 2.0)}),
    "more outputs": pramble.Plan(
        {"a": general(A, ["p", "q", "r"], seed=2), "b": general(B, list("1234"), seed=5),
         "c": RR(C, 2.0)}
    ),
    "a block": pramble.Plan({("a", "b"): general(cells(A, B), seed=3), "c": RR(C, 1.0)}),
    "a block with more outputs": pramble.Plan(
        {("a", "b"): general(cells(A, B), cells(A, [*B, "no"]), seed=3), "c": RR(C, 1.0)}
    ),
    "the whole record": pramble.Plan({("a", "b", "c"): RR(cells(A, B, C), 3.0)}),
    "branches": pramble.Plan(branches=[
        pramble.Branch(HALF, {("a", "b"): RR(cells(A, B), 2.0)}),
        pramble.Branch(QUARTER, {("a", "c"): RR(cells(A, C), 2.0)}),
        pramble.Branch(QUARTER, {"b": RR(B, 2.0), "c": RR(C, 1.0)}),
    ]),
    "branches of any matrix": pramble.Plan(branches=[
        pramble.Branch(HALF, {("a", "b"): general(cells(A, B), seed=7)}),
        pramble.Branch(QUARTER, {("a", "c"): general(cells(A, C), seed=8)}),
        pramble.Branch(QUARTER, {("c", "b"): general(cells(C, B), seed=9)}),
    ]),
    "a block that tells a part": pramble.Plan(branches=[
        pramble.Branch(HALF, {("a", "b"): general(cells(A, B), seed=7), "c": RR(C, 1.0)}),
        pramble.Branch(QUARTER, {("a", "c"): general(cells(A, C), cells(A, ["x"]), seed=8)}),
        pramble.Branch(QUARTER, {("c", "b"): general(cells(C, B), cells(["y"], B), seed=9)}),
    ]),
    "a likelihood of many cells": pramble.Plan(branches=[
        pramble.Branch(HALF, {("a", "b"): general(cells(A, B), seed=7)}),
        pramble.Branch(QUARTER, {("b", "d"): general(cells(B, D), seed=8)}),
        pramble.Branch(QUARTER, {("c", "b"): general(cells(C, B), seed=9)}),
    ]),
}  # fmt: skip


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, N)
    b = (rng.random(N) * 3 * (0.6 + 0.4 * a)).astype(int)
    c = (rng.random(N) < 0.2 + 0.2 * b).astype(int)
    return pa.table({"a": np.take(A, a), "b": np.take(B, b), "c": np.take(C, c),
                     "d": rng.choice(D, N), "left": rng.random(N)})  # fmt: skip


def with_text(folder):
    """An opened release, with its evidence written again as CSV, which base R reads."""
    release = pramble.open_release(folder)
    csv.write_csv(release.data, folder / "randomised.csv")
    return release


def in_r_code(text):
    return '"' + "".join(f"\\U{{{ord(letter):x}}}" for letter in text) + '"'


def in_r(rscript, folder, tables, env=None):
    """Estimates, standard errors and likelihoods of some tables, each with the labels."""
    code = ['source("analysis.R")']
    for number, table in enumerate(tables):
        names = ", ".join(map(in_r_code, table))
        code.append(
            f"x <- table_of(c({names})); k <- {len(table)}; "
            f'con <- file("r{number}.txt", "w", encoding = "UTF-8"); '
            "for (i in seq_len(nrow(x))) writeLines(c(vapply(seq_len(k), function(j) "
            'paste(utf8ToInt(x[i, j]), collapse = " "), ""), '
            "formatC(unlist(x[i, k + c(1, 2, 5)]), digits = 17)), con); close(con)"
        )
    done = subprocess.run(
        [rscript, "-e", "; ".join(code)], cwd=folder, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = []
    for number, table in enumerate(tables):
        lines = (folder / f"r{number}.txt").read_text(encoding="utf-8").splitlines()
        rows = np.array(lines).reshape(-1, len(table) + 3)
        labels = [
            tuple("".join(map(chr, map(int, text.split()))) for text in row[: len(table)])
            for row in rows
        ]
        found.append((labels, rows[:, len(table) :].astype(float)))
        (folder / f"r{number}.txt").unlink()
    return found, done.stdout


def agree(release, tables, found, plan=None):
    for table, (labels, numbers) in zip(tables, found, strict=True):
        inverse = pramble.estimate(release, plan, by=table, method="inverse")
        fitted = pramble.estimate(release, plan, by=table)
        assert labels == list(zip(*inverse.cells.values(), strict=True))
        np.testing.assert_allclose(numbers[:, 0], inverse.probabilities, atol=1e-6)
        np.testing.assert_allclose(numbers[:, 1], inverse.standard_errors, rtol=1e-6)
        np.testing.assert_allclose(numbers[:, 2], fitted.probabilities, atol=1e-4)


@pytest.mark.parametrize("kind", PLANS)
def test_tables_agree(kind, people, tmp_path, tool):
    plan = PLANS[kind]
    left = [name for name in people.column_names if name not in plan.columns]
    release = with_text(release_by(plan, people, tmp_path / "out", drop=left).folder)
    tables = [ONE, PAIR, OTHER, *([ALL] if len(plan.branches) == 1 else [])]
    found, printed = in_r(tool("Rscript"), release.folder, tables)
    assert f"Shares of a among {N} records" in printed
    agree(release, tables, found)


def test_impossible_cells_are_left_at_nothing(people, tmp_path, tool):
    some = [pair for pair in cells(A, B) if pair != ("m", "hi")]
    plan = pramble.Plan({("a", "b"): RR(some, 2.0), "c": RR(C, 2.0)})
    frame = people.to_pandas()
    frame = frame[~((frame.a == "m") & (frame.b == "hi"))]
    some = pa.Table.from_pandas(frame, preserve_index=False)
    release = with_text(release_by(plan, some, tmp_path / "out", drop=["d", "left"]).folder)
    found, _ = in_r(tool("Rscript"), release.folder, [PAIR, ALL])
    agree(release, [PAIR, ALL], found)
    assert found[0][1][-1].tolist() == [0, 0, 0]


def test_labels_of_any_kind_are_read_and_nothing_of_them_is_run(tmp_path, tool):
    """Quotes, backslashes, ends of lines, other scripts, numbers, truth values and missing ones."""
    rng = np.random.default_rng(6)
    plan = pramble.Plan({
        EVIL[0]: RR(EVIL, 4.0), EVIL[3]: RR(["", "NA", "TRUE", "1e5", " x "], 3.0),
        "n": RR([100000, 7, -3], 3.0), "t": RR([True, False], 3.0),
    })  # fmt: skip
    source = pa.table({
        EVIL[0]: rng.choice(EVIL, 900).tolist(),
        EVIL[3]: rng.choice(["", "NA", "TRUE", "1e5", " x "], 900).tolist(),
        "n": rng.choice([100000, 7, -3], 900), "t": rng.random(900) < 0.3,
    })  # fmt: skip
    release = with_text(release_by(plan, source, tmp_path / "out").folder)
    tables = [[EVIL[0]], [EVIL[3]], ["n"], ["t"]]
    found, _ = in_r(tool("Rscript"), release.folder, tables)
    for table, (labels, numbers) in zip(tables, found, strict=True):
        inverse = pramble.estimate(release, by=table, method="inverse")
        np.testing.assert_allclose(numbers[:, 0], inverse.probabilities, atol=1e-6)
        known = [str(v).lower() if isinstance(v, bool) else str(v) for v in inverse.cells[table[0]]]
        assert [label for (label,) in labels] == known
    assert not list(tmp_path.rglob("owned"))


def test_a_table_that_the_plan_cannot_give_says_so(people, tmp_path, tool):
    made = release_by(PLANS["branches"], people, tmp_path / "out", drop=["d"])
    release = with_text(made.folder)
    found, _ = in_r(tool("Rscript"), release.folder, [PAIR])
    agree(release, [PAIR], found)
    script = [tool("Rscript"), str(release.folder / "analysis.R")]
    done = subprocess.run([*script, "a", "b", "c"], capture_output=True, text=True, check=True)
    assert "The plan cannot give this table" in done.stdout


def test_pieces_are_read_one_after_the_other(tmp_path, tool):
    n = LEAST_ROWS + 1000
    rng = np.random.default_rng(6)
    table = pa.table({"a": rng.choice(A, n), "c": rng.choice(C, n)})
    plan = pramble.Plan({"a": RR(A, 1.5), "c": RR(C, 2.0)})
    made = release_by(plan, table, tmp_path / "out", rows_per_file=LEAST_ROWS)
    release = pramble.open_release(made.folder)
    tables = [["a"], ["a", "c"]]
    assert release.data.num_rows == n
    for piece in sorted((made.folder / "randomised").iterdir()):
        csv.write_csv(pq.read_table(piece), piece.with_suffix(".csv"))
        piece.unlink()
    found, printed = in_r(tool("Rscript"), made.folder, tables)
    assert f"Shares of a among {n} records" in printed
    agree(release.data, tables, found, plan=release.plan)


def test_parquet_alone_says_what_is_missing(people, tmp_path, tool):
    release_by(PLANS["columns"], people, tmp_path / "out", drop=["d"])
    for package in ("arrow", "nanoparquet"):
        asked = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
        if not subprocess.run(
            [tool("Rscript"), "-e", asked], capture_output=True, check=False
        ).returncode:
            pytest.skip(f"R has the package {package} here, and reads Parquet")
    script = [tool("Rscript"), str(tmp_path / "out" / "analysis.R")]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'install.packages("nanoparquet")' in done.stderr
    assert "CSV" in done.stderr


def test_parquet_is_read_through_a_package(people, tmp_path, tool, reads_parquet):
    release = with_text(
        release_by(PLANS["columns"], people, tmp_path / "out", drop=["d", "left"]).folder
    )
    (release.folder / "randomised.csv").rename(tmp_path / "evidence.csv")
    found, _ = in_r(tool("Rscript"), release.folder, [PAIR], env=reads_parquet)
    agree(release, [PAIR], found)


@pytest.fixture
def reads_parquet(tool, tmp_path_factory):
    """An environment in which R has the package nanoparquet: one of ours, which reads a CSV."""
    place = tmp_path_factory.mktemp("library")
    package = tmp_path_factory.mktemp("source") / "nanoparquet"
    (package / "R").mkdir(parents=True)
    (package / "DESCRIPTION").write_text("Package: nanoparquet\nVersion: 0.1\nTitle: T\n")
    (package / "NAMESPACE").write_text("export(read_parquet)\n")
    (package / "R" / "read.R").write_text(
        "read_parquet <- function(path) {\n"
        '  text <- file.path(dirname(path), "..", "evidence.csv")\n'
        '  found <- utils::read.csv(text, colClasses = "character", check.names = FALSE,\n'
        '                           encoding = "UTF-8", na.strings = "")\n'
        '  if (basename(path) == "tables.parquet") {\n'
        "    last <- ncol(found) - 0:2\n"
        "    found[last] <- lapply(found[last], as.numeric)\n"
        "  }\n"
        "  found\n"
        "}\n"
    )
    install = f'install.packages("{package}", "{place}", repos = NULL, type = "source")'
    subprocess.run([tool("Rscript"), "-e", install], check=True, capture_output=True)
    return {**os.environ, "R_LIBS": str(place)}


def test_protected_tables_are_rebuilt_with_intervals(tmp_path, tool, reads_parquet):
    columns = {"count": ["Zoë", 'a "b"', "c, d"], "sex": ["f", "m"], "ill": ["no", "yes"]}
    rng = np.random.default_rng(4)
    people = pa.table({name: rng.choice(labels, N) for name, labels in columns.items()})
    declared = {name: {"categories": labels} for name, labels in columns.items()}
    made = pramble.release(
        people, tmp_path / "out", columns=declared, central=1.0, ledger=False, pages=False
    )
    csv.write_csv(pq.read_table(made.folder / "tables.parquet"), tmp_path / "evidence.csv")
    script = [tool("Rscript"), str(made.folder / "analysis.R")]
    for asked in (["sex"], ["ill", "count"]):
        done = subprocess.run(
            [*script, *asked], env=reads_parquet, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        figures = [line.split()[-3:] for line in done.stdout.splitlines()[1:]]
        table = tuple(name for name in columns if name in asked)
        noise = 1.96 * made.plan.cell_variance(table) ** 0.5
        expected = [(cell, cell - noise, cell + noise) for cell in made.tables.table(table).flat]
        np.testing.assert_allclose(np.array(figures, dtype=float), expected, rtol=1e-5)
    wrong = subprocess.run(
        [*script, *columns], env=reads_parquet, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "was measured" in wrong.stderr

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.information.oracle import without_three_way_terms
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app

CODES = {"a": 3, "b": 2, "c": 4}


def people(n, *, seed=0):
    """Three columns that hang together by pairs, and one that hangs on nothing."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    b = (rng.random(n) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    c = (a + b + rng.choice(3, n, p=[0.6, 0.3, 0.1])) % 4
    return {"a": a, "b": b, "c": c}


def table(frame, names, sizes=CODES):
    columns = [np.asarray(frame[name]) for name in names]
    shape = [sizes[name] for name in names]
    flat = np.ravel_multi_index(columns, shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def farthest(one, other, size):
    return max(np.abs(table(one, t) - table(other, t)).max() for t in combinations(CODES, size))


@pytest.mark.parametrize("method", ["cells", "records"])
@pytest.mark.parametrize("alpha", [None, 30.0])
def test_without_noise_all_pairs_are_those_of_the_original(method, alpha):
    data = people(250_000)
    plan = (
        {}
        if alpha is None
        else {n: pramble.randomized_response(S, alpha) for n, S in CODES.items()}
    )
    out = pramble.perturb(data, plan, key=bytes(32)) if plan else data
    made = pramble.synthesize(pa.table(out), plan, seed=1, method=method)
    assert farthest(made, data, 2) <= 6
    assert farthest(made, data, 1) <= 6
    assert farthest(made, data, 3) > 20  # three columns together are not fitted


@pytest.mark.parametrize("method", ["cells", "records"])
def test_three_columns_have_the_law_of_largest_entropy(method):
    data = people(250_000)
    counts = table(data, "abc").astype(float)
    expected = without_three_way_terms(counts)
    made = pramble.synthesize(pa.table(data), seed=3, method=method)
    found = table(made, "abc")
    allowed = 6 if method == "cells" else 5 * np.sqrt(expected) + 5
    assert (np.abs(found - expected) <= allowed).all()
    assert np.abs(counts - expected).max() > 100


def test_a_table_of_noise_goes_to_independence_and_one_of_signal_stays():
    rng = np.random.default_rng(4)
    n = 3000
    x = rng.choice(6, n)
    data = {"x": x, "y": rng.choice(6, n), "twin": np.where(rng.random(n) < 0.7, x, 0)}
    plan = {name: pramble.randomized_response(6, 2.0) for name in data}
    spread, signal = [], []
    for key in range(6):
        out = pramble.perturb(pa.table(data), plan, key=bytes([key]) * 32)
        made = pramble.synthesize(out, plan, rows=50_000, seed=1)
        sizes = dict.fromkeys(data, 6)
        for pair, into in ((("x", "y"), spread), (("x", "twin"), signal)):
            found = table(made, pair, sizes) / 50_000
            into.append(np.abs(found - np.outer(found.sum(1), found.sum(0))).sum() / 2)
    e = pramble.estimate(out, plan, by=["x", "y"], covers="randomisation", method="inverse")
    noise = np.abs(e.probabilities - 1 / 36).sum() / 2
    assert np.median(spread) < noise / 6
    assert min(signal) > 0.25


def halves(*parts):
    share = Fraction(1, len(parts))
    return pramble.Plan(branches=[pramble.Branch(share, blocks) for blocks in parts])


def joint(names, alpha, *, without=()):
    grid = np.ndindex(*(CODES[name] for name in names))
    cells = [cell for cell in grid if cell not in without]
    return pramble.randomized_response(cells, alpha)


def test_blanks_are_filled_and_every_branch_is_used():
    plan = halves(
        {("a", "b"): joint("ab", 6.0)},
        {("a", "c"): joint("ac", 6.0)},
        {("b", "c"): joint("bc", 6.0)},
    )
    data = people(60_000)
    out = pramble.perturb(pa.table(data), plan, key=bytes(32))
    assert out["a"].null_count > 15_000
    made = pramble.synthesize(out, plan, seed=1)
    assert made.num_rows == 60_000
    assert all(made[name].null_count == 0 for name in CODES)
    assert farthest(made, data, 2) < 0.012 * 60_000


def test_tables_that_the_plan_cannot_give_are_left_out_with_a_warning():
    plan = halves({("a", "b"): joint("ab", 6.0)}, {"c": pramble.randomized_response(4, 6.0)})
    data = people(40_000)
    out = pramble.perturb(pa.table(data), plan, key=bytes(32))
    with pytest.warns(UserWarning, match="a with c .*; b with c"):
        made = pramble.synthesize(out, plan, seed=1)
    found = table(made, "ac") / 40_000
    assert np.abs(found - np.outer(found.sum(1), found.sum(0))).max() < 0.002
    assert np.abs(table(made, "ab") - table(data, "ab")).max() < 0.02 * 40_000


@pytest.mark.parametrize("method", ["cells", "records"])
def test_what_cannot_occur_is_not_drawn(method):
    data = people(20_000)
    keep = ~((data["a"] == 0) & (data["b"] == 1))
    data = {name: own[keep] for name, own in data.items()}
    pair = joint("ab", 2.0, without=[(0, 1)])
    plan = pramble.Plan({("a", "b"): pair, "c": pramble.randomized_response(4, 1.0)})
    out = pramble.perturb(pa.table(data), plan, key=bytes(32))
    made = pramble.synthesize(out, plan, seed=1, method=method)
    found = table(made, "ab")
    assert found[0, 1] == 0
    assert (np.delete(found.ravel(), 1) > 0).all()


@pytest.mark.parametrize("method", ["cells", "records"])
def test_what_three_columns_cannot_be_together_is_not_drawn(method):
    data = people(30_000)
    cells = set(zip(*(own.tolist() for own in data.values()), strict=True))
    never = [cell for cell in np.ndindex(3, 2, 4) if cell not in cells]
    assert len(never) > 3
    plan = pramble.Plan({("a", "b", "c"): joint("abc", 3.0, without=never)})
    out = pramble.perturb(pa.table(data), plan, key=bytes(32))
    found = table(pramble.synthesize(out, plan, rows=20_000, seed=1, method=method), "abc")
    assert all(found[cell] == 0 for cell in never)
    assert (found > 0).sum() == len(cells)


def test_tables_of_three_columns_are_met_when_asked_for():
    data = people(100_000)
    whole = pramble.synthesize(pa.table(data), seed=1, tables=3)
    assert farthest(whole, data, 3) <= 6
    some = pramble.synthesize(pa.table(data), seed=1, tables=[("c", "a")])
    assert np.abs(table(some, "ac") - table(data, "ac")).max() <= 6
    found = table(some, "ab") / 100_000
    assert np.abs(found - np.outer(found.sum(1), found.sum(0))).max() < 0.002


def test_seeds_give_the_same_records_and_others_differ():
    plan = {"a": pramble.randomized_response(3, 1.0)}
    out = pramble.perturb(pa.table(people(2000)), plan, key=bytes(32))
    for method in ("cells", "records"):
        one, two, other = (
            pramble.synthesize(out, plan, rows=500, seed=seed, method=method) for seed in (1, 1, 2)
        )
        assert one.equals(two)
        assert not one.equals(other)
        assert one.num_rows == 500
    assert not pramble.synthesize(out, plan).equals(pramble.synthesize(out, plan))


def test_frames_come_back_in_the_library_and_types_of_the_caller(tmp_path):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 300).tolist()
    age = [None if i % 7 == 0 else int(i % 3) for i in range(300)]
    band = rng.choice(["low", "high"], 300)
    frame = pd.DataFrame({"sex": sex, "band": pd.Categorical(band, ["low", "high"], ordered=True)})
    plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    made = pramble.synthesize(frame, plan, seed=1)
    assert isinstance(made, pd.DataFrame)
    assert list(made["band"].cat.categories) == ["low", "high"]
    assert made["band"].cat.ordered
    assert made["band"].value_counts().to_dict() == frame["band"].value_counts().to_dict()
    lazy = pl.DataFrame({"sex": sex, "age": age}).lazy()
    answer = pramble.synthesize(lazy, plan, seed=1)
    assert isinstance(answer, pl.DataFrame)
    assert answer.schema == {"sex": pl.String, "age": pl.Int64}
    assert answer["age"].null_count() == sum(one is None for one in age)
    path = tmp_path / "released.csv"
    pa.csv.write_csv(pa.table({"sex": sex, "age": age}), path)
    read = pramble.synthesize(path, plan, seed=1)
    assert isinstance(read, pa.Table)
    assert read.equals(pramble.synthesize(pa.table({"sex": sex, "age": age}), plan, seed=1))


def test_a_column_of_one_value_stays_so():
    data = {**people(300), "same": ["x"] * 300}
    plan = {"a": pramble.randomized_response(3, 1.0)}
    e = pramble.estimate(data, plan, by=["same"])
    assert 0.98 < e.lower[0] < e.upper[0] == 1
    for method in ("cells", "records"):
        made = pramble.synthesize(pa.table(data), plan, seed=1, method=method)
        assert set(made["same"].to_pylist()) == {"x"}


def test_columns_with_many_values_are_left_out_or_refused():
    data = {**people(1000), "income": np.random.default_rng(1).normal(size=1000)}
    with pytest.warns(UserWarning, match="'income' is left out: it has more than 200 values"):
        made = pramble.synthesize(pa.table(data), {})
    assert made.column_names == ["a", "b", "c"]
    assert pramble.synthesize(pa.table(data), {}, columns=["c", "a"]).column_names == ["a", "c"]
    for wanted in ({"columns": ["a", "income"]}, {"tables": [("a", "income")]}):
        with pytest.raises(pramble.InvalidInput, match="Column 'income' has more than 200 values"):
            pramble.synthesize(pa.table(data), {}, **wanted)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 0}, "rows must be a whole number"),
        ({"rows": 2.5}, "rows must be a whole number"),
        ({"method": "guess"}, "method is one of auto, cells, records"),
        ({"tables": 0}, "Tables of 0 columns"),
        ({"tables": "ab"}, "list of tuples"),
        ({"tables": [("a", "a")]}, "name columns once"),
        ({"tables": [("a", "x")]}, "x"),
        ({"columns": ["x"]}, "x"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(pramble.InvalidInput, match=message):
        pramble.synthesize(pa.table(people(50)), {}, **wrong)


def test_what_cannot_be_told_or_held_is_refused():
    data = pa.table(people(50))
    merging = pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(pramble.InvalidInput, match="one mechanism"):
        pramble.synthesize(data, merging)
    wide = {f"c{i}": np.arange(300) % 30 for i in range(6)}
    with pytest.raises(pramble.InvalidInput, match="at most 20,000,000 cells"):
        pramble.synthesize(pa.table(wide), {}, tables=1, method="cells")
    assert pramble.synthesize(pa.table(wide), {}, tables=1, rows=10).num_rows == 10


def test_progress_grows():
    data, shares = pa.table(people(500)), []
    plan = {"a": pramble.randomized_response(3, 2.0)}
    pramble.synthesize(data, plan, seed=1, progress=lambda told: shares.append(told.share))
    assert len(shares) > 2
    assert shares == sorted(shares)


def test_the_report_measures_what_was_drawn(tmp_path):
    data, folder, target = pa.table(people(5000)), tmp_path / "out", tmp_path / "drawn.parquet"
    release = pramble.release(
        data, folder, columns=["a"], alpha=2.0, design="columns", ledger=False, pages=False
    )
    data, plan = pramble.open_release(folder).data, release.plan
    asked = ["synthesize", str(folder), "--out", str(target), "--seed", "1", "--json"]
    told = CliRunner().invoke(app, asked, catch_exceptions=False)
    fits = {tuple(fit["columns"]): fit for fit in json.loads(told.stdout)["tables"]}
    assert set(fits) == {t for size in (1, 2) for t in combinations(CODES, size)}
    e = pramble.estimate(data, plan, by=["a", "b"], method="inverse", covers="randomisation")
    counted = pramble.estimate(pa.parquet.read_table(target), {}, by=["a", "b"])
    distance = np.abs(counted.values - e.probabilities)
    assert fits["a", "b"]["largest_distance"] == pytest.approx(distance.max())
    assert fits["a", "b"]["mean_distance"] == pytest.approx(distance.mean())
    error = np.sqrt((e.standard_errors**2).mean())
    assert fits["a", "b"]["standard_error"] == pytest.approx(error)
    assert fits["b", "c"]["standard_error"] == 0

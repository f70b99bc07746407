"""Several columns: joint tables, groups, weights, means and totals, sparse and large tables."""

from itertools import product as cartesian
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble

SEX = pramble.randomized_response(["f", "m"], 1.5)
AGE = pramble.keep_probabilities([0.6, 0.7, 0.5], categories=[0, 1, 2])
WIDE = pramble.Mechanism.from_matrix(
    [[0.5, 0.2, 0.2, 0.1], [0.1, 0.6, 0.1, 0.2]], categories=["no", "yes"], outputs=list("abcd")
)
PLAN = {"sex": SEX, "age": AGE, "ill": WIDE}


def some_frame(rng, n=600):
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.55, 0.45]),
            "age": rng.choice([0, 1, 2], n, p=[0.5, 0.3, 0.2]),
            "ill": rng.choice(list("abcd"), n),
            "town": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "income": rng.normal(10, 3, n),
            "w": rng.uniform(0.5, 2, n),
        }
    )


def test_a_joint_table_is_the_product_of_the_mechanisms():
    frame = some_frame(np.random.default_rng(0))
    e = pramble.estimate(frame, PLAN, by=["sex", "age"])
    cells = list(cartesian(SEX.categories, AGE.categories))
    joint = pramble.Mechanism.from_matrix(np.kron(SEX.matrix, AGE.matrix), cells)
    pairs = list(zip(frame.sex, frame.age, strict=True))
    counts = [pairs.count(z) for z in joint.outputs]
    d = pramble.estimate(counts, joint, counts=True)
    direct = pramble.estimate(pairs, joint)
    for other in (d, direct):
        assert np.allclose(e.probabilities, other.probabilities)
        assert np.allclose(e.covariance, other.covariance)
        assert np.allclose(e.lower, other.lower)
    assert list(zip(e.cells["sex"], e.cells["age"], strict=True)) == list(joint.categories)


@pytest.mark.parametrize("method", ["mle", "inverse"])
def test_the_inverse_of_a_table_is_that_of_the_kronecker_product(method):
    frame = some_frame(np.random.default_rng(1), n=20_000)
    e = pramble.estimate(frame, PLAN, by=["sex", "age"], method=method)
    M = np.kron(SEX.matrix, AGE.matrix)
    index = frame.groupby(["sex", "age"]).size().reindex(list(cartesian("fm", [0, 1, 2])))
    law = index.to_numpy() / len(frame)
    G = np.linalg.inv(M)
    assert np.allclose(e.probabilities, law @ G)
    assert np.allclose(
        e.covariance, G.T @ (np.diag(law) - np.outer(law, law)) @ G / len(frame), atol=1e-12
    )


def test_the_order_of_by_is_the_order_of_the_table():
    frame = some_frame(np.random.default_rng(2))
    one = pramble.estimate(frame, PLAN, by=["town", "sex"])
    two = pramble.estimate(frame, PLAN, by=["sex", "town"])
    assert one.cells["town"] == ("x", "x", "y", "y", "z", "z")
    assert two.cells["town"] == ("x", "y", "z", "x", "y", "z")
    again = np.argsort(
        [f"{t}{s}" for t, s in zip(two.cells["town"], two.cells["sex"], strict=True)]
    )
    assert np.allclose(two.probabilities[again], one.probabilities)
    assert np.allclose(two.covariance[np.ix_(again, again)], one.covariance)
    assert np.allclose(two.upper[again], one.upper)


def test_untouched_columns_fall_apart_into_their_groups():
    frame = some_frame(np.random.default_rng(3))
    e = pramble.estimate(frame, PLAN, by=["town", "sex", "ill"])
    shares = frame.town.value_counts(normalize=True)
    for town in "xyz":
        own = pramble.estimate(frame[frame.town == town], PLAN, by=["sex", "ill"])
        here = np.array(e.cells["town"]) == town
        assert np.allclose(e.probabilities[here], own.probabilities * shares[town])
    assert e.gap <= 1e-9 * len(frame)


def test_only_combinations_that_occur_are_held():
    frame = {
        "sex": ["f", "m", "f"],
        "town": ["x", "y", "z"],
        "street": ["1", "2", "3"],
    }
    e = pramble.estimate(frame, {"sex": SEX}, by=["town", "street", "sex"])
    assert len(e.probabilities) == 6
    assert e.cells["street"] == ("1", "1", "2", "2", "3", "3")


@pytest.mark.parametrize("by", [["sex", "town"], ["town"], "sex"])
def test_every_kind_of_frame_gives_the_same_table(by):
    frame = some_frame(np.random.default_rng(4))
    expected = pramble.estimate(frame, PLAN, by=by)
    assert isinstance(expected.table, pd.DataFrame)
    columns = {name: frame[name].to_numpy() for name in frame}
    others = [
        (pl.from_pandas(frame), pl.DataFrame),
        (pl.from_pandas(frame).lazy(), pl.DataFrame),
        (pa.Table.from_pandas(frame), pa.Table),
        (columns, pa.Table),
    ]
    for other, kind in others:
        e = pramble.estimate(other, PLAN, by=by)
        assert np.array_equal(e.probabilities, expected.probabilities)
        assert dict(e.cells) == dict(expected.cells)
        assert isinstance(e.table, kind)


def test_an_opened_release_brings_its_plan():
    frame = some_frame(np.random.default_rng(5))
    release = SimpleNamespace(data=frame, plan=PLAN, manifest={})
    e = pramble.estimate(release, by=["sex", "town"])
    assert np.array_equal(
        e.probabilities, pramble.estimate(frame, PLAN, by=["sex", "town"]).probabilities
    )
    t = pramble.independence_test(release, columns=["sex", "town"])
    assert t.n == len(frame)


def test_equal_weights_change_nothing():
    frame = some_frame(np.random.default_rng(6)).assign(w=3.0)
    plain = pramble.estimate(frame, PLAN, by=["sex", "town"], method="inverse")
    weighted = pramble.estimate(frame, PLAN, by=["sex", "town"], weights="w", method="inverse")
    assert np.allclose(plain.probabilities, weighted.probabilities)
    assert np.allclose(plain.covariance, weighted.covariance)
    assert np.allclose(plain.lower, weighted.lower)
    column = pramble.estimate(frame.sex, SEX, weights=np.full(len(frame), 2.0), method="inverse")
    assert np.allclose(
        column.covariance, pramble.estimate(frame.sex, SEX, method="inverse").covariance
    )


@given(seed=st.integers(0, 10**6))
def test_weighted_covariances_are_sums_over_records(seed):
    rng = np.random.default_rng(seed)
    frame = some_frame(rng, n=80)
    G = np.kron(np.linalg.inv(SEX.matrix), np.linalg.inv(AGE.matrix))
    z = 3 * (frame.sex == "m").to_numpy() + frame.age.to_numpy()
    w = frame.w.to_numpy()
    rows = G[z]
    p = w @ rows / w.sum()
    error = (rows - p) * w[:, None] / w.sum()
    e = pramble.estimate(frame, PLAN, by=["sex", "age"], weights="w", method="inverse")
    assert np.allclose(e.probabilities, p)
    assert np.allclose(e.covariance, error.T @ error)
    y = frame.income.to_numpy()
    totals = pramble.estimate(frame, PLAN, by=["sex", "age"], weights="w", total="income")
    parts = rows * (w * y)[:, None]
    assert np.allclose(totals.values, parts.sum(axis=0))
    centred = parts - parts.mean(axis=0)
    assert np.allclose(totals.covariance, centred.T @ centred)
    means = pramble.estimate(frame, PLAN, by=["sex", "age"], weights="w", mean="income")
    sizes = w @ rows
    known = sizes > 0
    ratio = parts.sum(axis=0)[known] / sizes[known]
    assert np.allclose(means.values[known], ratio)
    assert np.isnan(means.values[~known]).all()
    residual = (y[:, None] - ratio) * rows[:, known] * w[:, None] / sizes[known]
    assert np.allclose(means.covariance[np.ix_(known, known)], residual.T @ residual)
    assert np.allclose(means.standard_errors[known] ** 2, (residual**2).sum(axis=0))


def test_means_within_untouched_groups_are_plain_means():
    frame = some_frame(np.random.default_rng(7))
    e = pramble.estimate(frame, PLAN, by="town", mean="income")
    assert np.allclose(e.values, frame.groupby("town").income.mean())
    assert e.quantity == "mean"
    file = pramble.estimate(frame, PLAN, by="town", mean="income", covers="randomisation")
    assert np.allclose(file.standard_errors, 0)


def test_a_query_over_a_table_names_its_cells_by_tuples():
    frame = some_frame(np.random.default_rng(8))
    e = pramble.estimate(frame, PLAN, by=["town", "sex"])
    q = pramble.estimate(frame, PLAN, by=["town", "sex"], query={("x", "f"): 1, ("y", "f"): -1})
    w = np.array([1, 0, -1, 0, 0, 0])
    assert q.values == pytest.approx(w @ e.probabilities)
    assert q.covariance[0, 0] == pytest.approx(w @ e.covariance @ w)
    named = pramble.estimate(frame, PLAN, by=["town", "sex"], query={"gap": w, "all": np.ones(6)})
    assert named.cells["query"] == ("gap", "all")
    assert named.table["estimate"].tolist() == pytest.approx([q.values[0], 1.0])


def test_a_large_table_of_all_columns_is_estimated_axis_by_axis():
    rng = np.random.default_rng(9)
    sizes = [3, 4, 9, 2, 6, 5, 4]
    plan = {f"c{j}": pramble.randomized_response(S, 5.0) for j, S in enumerate(sizes)}
    frame = {f"c{j}": rng.integers(0, S, 5000) for j, S in enumerate(sizes)}
    e = pramble.estimate(frame, plan, by=list(plan), method="inverse")
    assert len(e.probabilities) == np.prod(sizes)
    assert e.probabilities.sum() == pytest.approx(1)
    margin = e.probabilities.reshape(sizes).sum(axis=(1, 2, 3, 4, 5, 6))
    one = pramble.estimate(frame, plan, by="c0", method="inverse")
    assert np.allclose(margin, one.probabilities)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"by": ["sex", "height"]}, pramble.InvalidData, "no column 'height'"),
        ({"by": ["sex", "sex"]}, pramble.InvalidInput, "different columns"),
        ({"by": None}, pramble.InvalidInput, "by= must name"),
        ({"by": "sex", "weights": "town"}, pramble.InvalidData, "'town' must hold numbers"),
        ({"by": "sex", "mean": "town"}, pramble.InvalidData, "'town' must hold numbers"),
        ({"by": "sex", "mean": "age"}, pramble.InvalidInput, "'age' is randomised"),
        ({"by": "sex", "counts": True}, pramble.InvalidInput, "one mechanism and one vector"),
        ({"by": "sex", "weights": [1.0]}, pramble.InvalidData, "one number per row"),
    ],
)
def test_tables_that_make_no_sense_are_refused(keywords, error, words):
    frame = some_frame(np.random.default_rng(0), n=20)
    with pytest.raises(error, match=words):
        pramble.estimate(frame, PLAN, **keywords)


def test_plans_and_data_that_do_not_fit_are_refused():
    frame = some_frame(np.random.default_rng(0), n=20)
    with pytest.raises(pramble.InvalidPlan, match="found a int"):
        pramble.estimate(frame, 3, by="sex")
    with pytest.raises(pramble.InvalidPlan, match="'sex' has a str"):
        pramble.estimate(frame, {"sex": "RR"}, by="sex")
    with pytest.raises(pramble.InvalidData, match=r"Column 'town' must hold .*row 0"):
        pramble.estimate(frame, {"town": SEX}, by="town")
    with pytest.raises(pramble.InvalidData, match="at least one row"):
        pramble.estimate(frame[:0], PLAN, by="sex")
    big = {f"c{j}": pramble.randomized_response(100, 1.0) for j in range(5)}
    with pytest.raises(pramble.InvalidInput, match="at most"):
        pramble.estimate({name: [0] for name in big}, big, by=list(big))
    with pytest.raises(pramble.InvalidData, match="Data is a path, a frame"):
        pramble.estimate(object(), PLAN, by="sex")

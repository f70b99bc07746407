"""Cross-classification against a count by hand, for every kind of frame."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidData, InvalidInput
from pramble.risk.cells import cross_classify, group, wildcard_sums
from pramble.risk.columns import encode, find_level, read_columns

ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]), st.booleans()),
    min_size=1,
    max_size=40,
)
KEYS = ["a", "b", "c"]


def as_columns(rows):
    return dict(zip(KEYS, map(list, zip(*rows, strict=True)), strict=True))


def agree(one, two):
    return all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))


@given(ROWS)
def test_class_sizes_are_counts_of_equal_rows(rows):
    table = cross_classify(as_columns(rows), KEYS)
    assert [int(table.sizes[c]) for c in table.class_of] == [rows.count(row) for row in rows]
    assert [table.labels_of(int(c)) for c in table.class_of] == rows
    assert table.sample_uniques == sum(rows.count(row) == 1 for row in rows)
    assert table.below(3) == sum(rows.count(row) < 3 for row in rows)


@given(ROWS)
def test_wildcards_agree_with_everything(rows):
    table = cross_classify(as_columns(rows), KEYS, missing="wildcard")
    expected = [sum(agree(row, other) for other in rows) for row in rows]
    assert [int(table.sizes[c]) for c in table.class_of] == expected
    weights = np.arange(1.0, len(table.counts) + 1)
    labels = [table.labels_of(c) for c in range(len(table.counts))]
    sums = [sum(weights[j] for j, b in enumerate(labels) if agree(a, b)) for a in labels]
    np.testing.assert_allclose(wildcard_sums(table, weights), sums)


@given(ROWS)
def test_margins_are_sums_of_counts(rows):
    table = cross_classify(as_columns(rows), KEYS)
    margin = table.margin([2, 0])
    assert margin.sum() == len(rows)
    for i, c in enumerate(table.levels[2]):
        for j, a in enumerate(table.levels[0]):
            assert margin[i, j] == sum(row[0] == a and row[2] == c for row in rows)


FRAME = {"k": ["b", "a", None, "a"], "v": [1, 2, 3, 2]}


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        pd.DataFrame(FRAME),
        pd.DataFrame(FRAME).astype({"k": "category"}),
        pl.DataFrame(FRAME),
        pl.LazyFrame(FRAME),
        pl.DataFrame(FRAME).with_columns(pl.col("k").cast(pl.Categorical)),
        pa.table(FRAME),
        pa.table({"k": pa.array(FRAME["k"]).dictionary_encode(), "v": FRAME["v"]}),
        pa.concat_tables([pa.table(FRAME).slice(0, 2), pa.table(FRAME).slice(2)]),
    ],
    ids=lambda data: type(data).__module__.split(".")[0],
)
def test_every_frame_gives_the_same_table(data):
    table = cross_classify(data, ["k", "v"])
    assert table.levels == (("a", "b", None), (1, 2, 3))
    assert table.counts.tolist() == [2, 1, 1]
    assert table.class_of.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_files_keep_codes_apart(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    frame = pl.DataFrame({"code": ["01", "1", "01"], "w": [2.0, 3.0, 4.5]})
    if suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    table = cross_classify(path, ["code"], weights="w")
    assert table.levels == (("01", "1"),)
    assert table.class_weights().tolist() == [6.5, 3.0]


def test_whole_floats_are_integer_labels_and_nan_is_missing():
    column = encode(pa.chunked_array([[2.0, 1.0, float("nan"), None]]))
    assert column.labels == (1, 2, None)
    assert column.codes.tolist() == [1, 0, 2, 2]
    assert encode(pa.chunked_array([[0.5, 1.0]])).labels == (0.5, 1.0)


def test_booleans_and_integers_stay_apart():
    assert find_level([1, 2], True) is None
    assert find_level([True, False], True) == 0
    assert find_level(["1", "2"], 2) == 1
    assert find_level([1, 2], "2") == 1


def test_groups_survive_more_combinations_than_an_index_holds():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 2**20, 50) for _ in range(8)]
    columns = [np.concatenate([column, column]) for column in columns]
    member, first = group(columns, [2**20] * 8)
    assert len(first) == 50
    assert np.array_equal(member[:50], member[50:])
    assert len(set(member[:50])) == 50


def test_errors_name_what_is_wrong(tmp_path):
    with pytest.raises(InvalidData, match="no column 'sex'; the data has 'k', 'v'"):
        cross_classify(FRAME, ["sex"])
    with pytest.raises(InvalidInput, match="'k' is named more than once"):
        cross_classify(FRAME, ["k", "k"])
    with pytest.raises(InvalidInput, match="At least one key"):
        cross_classify(FRAME, [])
    with pytest.raises(InvalidData, match="no rows"):
        cross_classify({"k": []}, ["k"])
    with pytest.raises(InvalidData, match=r"column 'w' holds 0.5 in row 1"):
        cross_classify({"k": [1, 1], "w": [2.0, 0.5]}, ["k"], weights="w")
    with pytest.raises(InvalidData, match="row 1 holds none"):
        cross_classify({"k": [1, 1], "w": [2.0, None]}, ["k"], weights="w")
    with pytest.raises(InvalidData, match="no file"):
        cross_classify(tmp_path / "none.csv", ["k"])
    (tmp_path / "a.xls").write_text("")
    with pytest.raises(InvalidData, match=r"must end in .csv"):
        cross_classify(tmp_path / "a.xls", ["k"])
    with pytest.raises(InvalidData, match="found int"):
        read_columns(3, ["k"])


def test_the_table_is_read_only_also_after_pickling():
    table = pickle.loads(pickle.dumps(cross_classify(FRAME, ["k"])))
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 7

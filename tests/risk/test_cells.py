"""Cross-classification against a count by hand, for every kind of frame."""

import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import InvalidData, InvalidInput

ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]), st.booleans()),
    min_size=1,
    max_size=40,
)
KEYS = ["a", "b", "c"]


def cross_classify(data, keys, **how):
    """The classes that an assessment finds."""
    return pramble.assess(data, keys, model="none", **how).classes


def as_columns(rows):
    return dict(zip(KEYS, map(list, zip(*rows, strict=True)), strict=True))


def agree(one, two):
    return all(a is None or b is None or a == b for a, b in zip(one, two, strict=True))


@given(ROWS)
def test_class_sizes_are_counts_of_equal_rows(rows):
    found = cross_classify(as_columns(rows), KEYS)
    table = found.table
    assert [int(found.sizes[c]) for c in table.cell_of] == [rows.count(row) for row in rows]
    assert [table.labels_of(int(c)) for c in table.cell_of] == rows
    assert (found.sizes == 1).sum() == sum(rows.count(row) == 1 for row in rows)
    assert found.table.counts[found.sizes < 3].sum() == sum(rows.count(row) < 3 for row in rows)


@given(ROWS)
def test_wildcards_agree_with_everything(rows):
    found = cross_classify(as_columns(rows), KEYS, missing="wildcard")
    table = found.table
    expected = [sum(agree(row, other) for other in rows) for row in rows]
    assert [int(found.sizes[c]) for c in table.cell_of] == expected


@given(ROWS)
def test_margins_are_sums_of_counts(rows):
    table = cross_classify(as_columns(rows), KEYS).table
    margin = table.array(axes=[2, 0])
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
    table = cross_classify(data, ["k", "v"]).table
    assert table.levels == (("a", "b", None), (1, 2, 3))
    assert table.counts.tolist() == [2, 1, 1]
    assert table.cell_of.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_files_keep_codes_apart(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    frame = pl.DataFrame({"code": ["01", "1", "01"], "w": [2.0, 3.0, 4.5]})
    if suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    found = cross_classify(path, ["code"], weights="w")
    assert found.table.levels == (("01", "1"),)
    assert found.weights.tolist() == [6.5, 3.0]


def test_whole_floats_are_integer_labels_and_nan_is_missing():
    found = cross_classify({"k": pa.array([2.0, 1.0, float("nan"), None])}, ["k"]).table
    assert found.levels == ((1, 2, None),)
    assert found.cells[found.cell_of, 0].tolist() == [1, 0, 2, 2]
    assert cross_classify({"k": [0.5, 1.0]}, ["k"]).table.levels == ((0.5, 1),)


def test_declared_categories_that_no_record_has_are_no_levels():
    ordered = pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"], ordered=True)
    table = cross_classify(pd.DataFrame({"k": ordered}), ["k"]).table
    assert table.levels == (("b", "a"),)
    assert table.counts.tolist() == [2, 1]
    enum = pl.DataFrame({"k": ["b", "a", "b"]}, schema={"k": pl.Enum(["c", "b", "a"])})
    assert cross_classify(enum.lazy(), ["k"]).table.counts.sum() == 3
    assert set(cross_classify(enum.lazy(), ["k"]).table.levels[0]) == {"a", "b"}


def test_a_household_may_be_a_key_and_weights_may_be_one():
    data = {"k": [1, 1, 2], "home": ["x", "y", "x"], "w": [2.0, 3.0, 4.0]}
    found = cross_classify(data, ["home", "k"], weights="w", household="home")
    assert found.table.columns == ("home", "k")
    assert found.households.tolist() == [0, 1, 0]
    plain = cross_classify(data, ["k"], weights="w", household="home")
    assert plain.table.columns == ("k",)
    assert plain.weights.tolist() == [5.0, 4.0]
    assert plain.households.tolist() == [0, 1, 0]
    own = cross_classify(data, ["w"], weights="w")
    assert own.weights.tolist() == [2.0, 3.0, 4.0]


def test_errors_name_what_is_wrong(tmp_path):
    with pytest.raises(InvalidData, match="no column 'sex'; the data has 2 columns"):
        cross_classify(FRAME, ["sex"])
    with pytest.raises(InvalidInput, match="'k' is named more than once"):
        cross_classify(FRAME, ["k", "k"])
    with pytest.raises(InvalidInput, match="At least one key"):
        cross_classify(FRAME, [])
    with pytest.raises(InvalidData, match="at least one row"):
        cross_classify({"k": []}, ["k"])
    with pytest.raises(InvalidData, match=r"column 'w' holds less in row 1\.$"):
        cross_classify({"k": [1, 1], "w": [2.0, 0.5]}, ["k"], weights="w")
    with pytest.raises(InvalidData, match="row 1 holds none"):
        cross_classify({"k": [1, 1], "w": [2.0, None]}, ["k"], weights="w")
    with pytest.raises(InvalidData, match="no file"):
        cross_classify(tmp_path / "none.csv", ["k"])
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InvalidData, match="is empty"):
        cross_classify(tmp_path / "a.csv", ["k"])
    (tmp_path / "a.doc").write_text("k")
    with pytest.raises(InvalidData, match=r"no known ending; a data file ends in .*\.csv"):
        cross_classify(tmp_path / "a.doc", ["k"])
    with pytest.raises(InvalidData, match="found int"):
        cross_classify(3, ["k"])


def test_the_table_is_read_only_also_after_pickling():
    table = pickle.loads(pickle.dumps(cross_classify(FRAME, ["k"])))
    with pytest.raises(ValueError, match="read-only"):
        table.sizes[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        table.table.counts[0] = 7

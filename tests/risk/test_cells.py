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
    """The table of classes that an assessment finds."""
    return pramble.assess(data, keys, model="none", **how).table


def as_columns(rows):
    return dict(zip(KEYS, map(list, zip(*rows, strict=True)), strict=True))


@given(ROWS)
def test_class_sizes_are_counts_of_equal_rows(rows):
    a = pramble.assess(as_columns(rows), KEYS, model="none")
    table = a.table
    assert [int(table.counts[c]) for c in table.cell_of] == [rows.count(row) for row in rows]
    assert [table.labels_of(int(c)) for c in table.cell_of] == rows
    assert a.sample_uniques == sum(rows.count(row) == 1 for row in rows)
    assert a.below(3) == sum(rows.count(row) < 3 for row in rows)


@given(ROWS)
def test_margins_are_sums_of_counts(rows):
    table = cross_classify(as_columns(rows), KEYS)
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
    table = cross_classify(data, ["k", "v"])
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
    assert found.levels == (("01", "1"),)
    assert found.sums[1, 0].tolist() == [6.5, 3.0]


def test_whole_floats_are_integer_labels_and_nan_is_missing():
    found = cross_classify({"k": pa.array([2.0, 1.0, float("nan"), None])}, ["k"])
    assert found.levels == ((1, 2, None),)
    assert found.cells[found.cell_of, 0].tolist() == [1, 0, 2, 2]
    assert cross_classify({"k": [0.5, 1.0]}, ["k"]).levels == ((0.5, 1),)


def test_declared_categories_that_no_record_has_are_no_levels():
    ordered = pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"], ordered=True)
    table = cross_classify(pd.DataFrame({"k": ordered}), ["k"])
    assert table.levels == (("b", "a"),)
    assert table.counts.tolist() == [2, 1]
    enum = pl.DataFrame({"k": ["b", "a", "b"]}, schema={"k": pl.Enum(["c", "b", "a"])})
    assert cross_classify(enum.lazy(), ["k"]).counts.sum() == 3
    assert set(cross_classify(enum.lazy(), ["k"]).levels[0]) == {"a", "b"}


def test_weights_may_be_a_key():
    data = {"k": [1, 1, 2], "w": [2.0, 3.0, 4.0]}
    assert cross_classify(data, ["k"], weights="w").sums[1, 0].tolist() == [5.0, 4.0]
    assert cross_classify(data, ["w"], weights="w").sums[1, 0].tolist() == [2.0, 3.0, 4.0]


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
        table.cells[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 7

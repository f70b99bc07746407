"""Folders and patterns: several files of one format are one table."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.reading import levels, read

import pramble
from pramble.errors import InvalidData


def test_csv_columns_in_another_order(tmp_path):
    (tmp_path / "part-1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "part-2.csv").write_text("b,a\ny,2\n")
    for given in (tmp_path, tmp_path / "part-*.csv"):
        assert read(given).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}


def test_files_come_in_the_order_of_their_names_through_folders(tmp_path):
    (tmp_path / "year=2").mkdir()
    (tmp_path / "year=1").mkdir()
    (tmp_path / "_hidden").mkdir()
    (tmp_path / "year=2" / "a.csv").write_text("a,b\n2,x\n")
    (tmp_path / "year=1" / "b.csv").write_text("a,b\n1,x\n")
    (tmp_path / "_hidden" / "c.csv").write_text("a,b\n9,x\n")
    (tmp_path / ".d.csv").write_text("a,b\n9,x\n")
    (tmp_path / "notes.txt").write_text("no data")
    assert read(tmp_path)["a"].to_pylist() == ["1", "2"]
    assert read(tmp_path / "**" / "b.csv")["a"].to_pylist() == ["1"]


def test_a_pattern_takes_text_files(tmp_path):
    (tmp_path / "a.txt").write_text("a;b\n1;x\n")
    assert read(tmp_path / "*.txt").to_pydict() == {"a": ["1"], "b": ["x"]}


@pytest.mark.parametrize("other", ["a,b,c\n1,2,3\n", "a\n1\n", "a,c\n1,2\n"])
def test_other_columns_are_refused(tmp_path, other):
    (tmp_path / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "2.csv").write_text(other)
    with pytest.raises(InvalidData, match=r"Every file must have the same columns; 2.csv"):
        read(tmp_path)


WIDTHS = [
    (pa.int8(), pa.int64(), pa.int64()),
    (pa.int64(), pa.int8(), pa.int64()),
    (pa.uint8(), pa.int16(), pa.int16()),
    (pa.int16(), pa.float64(), pa.float64()),
    (pa.null(), pa.int8(), pa.int8()),
]


@pytest.mark.parametrize(("first", "second", "together"), WIDTHS)
def test_parquet_with_other_widths(tmp_path, first, second, together):
    one = [None] if pa.types.is_null(first) else [100]
    big = 300 if second != pa.int8() else 3
    pq.write_table(pa.table({"n": pa.array(one, first)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"n": pa.array([big], second)}), tmp_path / "2.parquet")
    table = read(tmp_path)
    assert table.schema.field("n").type == together
    assert table["n"].to_pylist() == [*one, big]
    assert sum(levels(tmp_path, "n").values()) == 2


TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


def of_kind(texts, kind):
    """Texts as an array of one of the kinds that files have."""
    plain = pa.array(texts)
    return (plain.dictionary_encode() if hasattr(kind, "value_type") else plain).cast(kind)


def test_parquet_with_other_kinds_of_text(tmp_path):
    for i, kind in enumerate(TEXTS):
        texts = of_kind(["a", None, f"b{i}"], kind)
        pq.write_table(pa.table({"s": texts}), tmp_path / f"{i}.parquet")
    expected = [text for i in range(4) for text in ("a", None, f"b{i}")]
    assert read(tmp_path)["s"].to_pylist() == expected
    assert levels(tmp_path, "s") == {"a": 4, "b0": 1, "b1": 1, "b2": 1, "b3": 1, None: 4}


def test_other_kinds_of_text_are_released_as_one(tmp_path):
    """One type in every batch, or no writer takes them."""
    (tmp_path / "in").mkdir()
    for i, kind in enumerate(TEXTS):
        texts = {"sex": of_kind(["f", "m", "m"], kind), "note": of_kind(["a", None, f"b{i}"], kind)}
        pq.write_table(pa.table(texts), tmp_path / "in" / f"{i}.parquet")
    r = pramble.release(
        tmp_path / "in", tmp_path / "out", columns={"sex": {"categories": ["f", "m"]}}, alpha=1.0,
        prior="uniform", design="paper", ledger=False, pages=False,
    )  # fmt: skip
    assert set(r.data["sex"].to_pylist()) <= {"f", "m"}
    assert r.data["note"].to_pylist() == [t for i in range(4) for t in ("a", None, f"b{i}")]


def test_types_that_do_not_go_together_are_refused(tmp_path):
    pq.write_table(pa.table({"k": [1], "n": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"k": [1.5], "n": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(InvalidData, match=r"'n' must have one type in every file; it has int64 a"):
        read(tmp_path)


def test_several_formats_are_refused(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,x\n")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "2.parquet")
    with pytest.raises(InvalidData, match="files of one format; found csv, parquet"):
        read(tmp_path)


def test_nothing_there(tmp_path):
    with pytest.raises(InvalidData, match="There is no file"):
        read(tmp_path / "*.csv")
    with pytest.raises(InvalidData, match="must hold data files"):
        read(tmp_path)

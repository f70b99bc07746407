"""What is written and read again is the same, in every written format."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.reading import read

import pramble
from pramble.errors import InvalidData

TEXT_ENDINGS = (".csv", ".txt", ".tsv", ".tab")
ENDINGS = [
    *(text + packed for text in TEXT_ENDINGS for packed in ("", ".gz", ".zst", ".bz2")),
    *(".parquet", ".pq", ".arrow", ".ipc", ".feather"),
]
QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TRICKY = st.text(st.sampled_from("ab\"',;\t|\r\n é€😀\u2028\x00.0-"), max_size=6)
TEXTS = st.one_of(st.none(), TRICKY, st.text(max_size=4), st.sampled_from(["", " ", "NA", "1"]))
KINDS = {
    "text": (pa.string(), TEXTS),
    "large": (pa.large_string(), TEXTS),
    "whole": (pa.int64(), st.none() | st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.uint8(), st.none() | st.integers(0, 255)),
    "truth": (pa.bool_(), st.none() | st.booleans()),
    "real": (pa.float64(), st.none() | st.floats(allow_nan=False)),
    "day": (pa.date32(), st.none() | st.dates(dt.date(1, 1, 2))),
}


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=5, unique=True))
    rows = draw(st.integers(1, 12))
    columns = {}
    for name in names:
        kind, values = KINDS[name]
        columns[name] = pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)
    return pa.table(columns)


def write(table, path, *, cut=5):
    """Write a table through the public door, from a file whose blocks have so many rows."""
    source = path.with_name("source.parquet")
    pq.write_table(table, source, row_group_size=cut)
    pramble.perturb_file(source, path, {}, overwrite=True)


def as_texts(table):
    """The texts that a file without types holds."""
    return {name: table[name].cast(pa.string()).to_pylist() for name in table.column_names}


def said(path):
    separator = "\t" if path.name.startswith(("a.tsv", "a.tab")) else ","
    return {
        "separator": separator,
        "quote": '"',
        "encoding": "utf-8",
        "decimal": ".",
        "missing": (),
        "quoted_missing": False,
        "trim": False,
    }


@pytest.mark.parametrize("ending", ENDINGS)
@QUICK
@given(table=tables(), cut=st.integers(1, 6))
def test_what_is_written_is_read_again(tmp_path, ending, table, cut):
    path = tmp_path / f"a{ending}"
    write(table, path, cut=cut)
    untyped = ending.startswith(TEXT_ENDINGS)
    found = read(path, **(said(path) if untyped else {}))
    if untyped:
        assert found.to_pydict() == as_texts(table)
    else:
        assert found.equals(table)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@QUICK
@given(table=tables(), cut=st.integers(1, 6))
def test_how_batches_were_cut_leaves_no_trace_in_text(tmp_path, ending, table, cut):
    write(table, tmp_path / f"one{ending}", cut=cut)
    write(table, tmp_path / f"two{ending}", cut=7)
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


@QUICK
@given(values=st.lists(TEXTS, min_size=1, max_size=9))
def test_one_column_keeps_its_rows(tmp_path, values):
    path = tmp_path / "a.csv"
    write(pa.table({"s": pa.array(values, pa.string())}), path)
    found = read(path, quote='"', missing=(), trim=False, encoding="utf-8")["s"].to_pylist()
    assert found == [value or None for value in values], "alone, an empty text is missing"


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)


@QUICK
@given(rows=st.lists(st.tuples(WORDS, st.integers(), WORDS | st.just("x,y")), min_size=1))
def test_plain_tables_need_nothing_said(tmp_path, rows):
    path = tmp_path / "a.csv"
    one, two, three = (
        pa.array([str(part) for part in column]) for column in zip(*rows, strict=True)
    )
    write(pa.table({"one": one, "two": two, "three": three}), path)
    assert read(path).to_pydict() == {
        "one": one.to_pylist(), "two": two.to_pylist(), "three": three.to_pylist()
    }  # fmt: skip


def test_cells_have_quotes_exactly_where_they_need_them(tmp_path):
    path = tmp_path / "a.csv"
    texts = ["plain", "", None, "a,b", 'say "x"', "two\nlines", " blank", "1"]
    write(pa.table({"n": list(range(len(texts))), "s": texts}), path)
    assert path.read_text() == (
        'n,s\n0,plain\n1,""\n2,\n3,"a,b"\n4,"say ""x"""\n5,"two\nlines"\n6, blank\n7,1\n'
    )


def test_dictionaries_are_written_as_their_values(tmp_path):
    coded = pa.array(["a", None, "b"]).dictionary_encode()
    for ending in (".csv", ".arrow", ".parquet"):
        write(pa.table({"s": coded, "n": [1, 2, 3]}), tmp_path / f"a{ending}")
        assert read(tmp_path / f"a{ending}")["s"].to_pylist() == ["a", None, "b"]


def test_columns_of_few_labels_are_written_like_others(tmp_path):
    few = [["a", None, "x,y"] * 40, ["", "f"] * 60, list("klmno") * 24, [None] * 120]
    kinds = (pa.int8(), pa.int32(), pa.uint8(), pa.int16())
    coded = [
        pa.array(one, pa.string()).dictionary_encode().cast(pa.dictionary(kind, pa.string()))
        for one, kind in zip(few, kinds, strict=True)
    ]
    plain, number = [pa.array(one, pa.string()) for one in few], pa.array(range(120))
    written = []
    for a, b, c, d in (coded, plain):
        write(pa.table([a, b, number, c, d, a], names=list("abncde")), tmp_path / "a.csv", cut=50)
        written.append((tmp_path / "a.csv").read_bytes())
    assert written[0] == written[1]


def test_nothing_of_the_sources_notes_is_written(tmp_path):
    noted = pa.field("s", pa.string(), nullable=False, metadata={"about": "secret note"})
    table = pa.table([pa.array(["x"])], schema=pa.schema([noted], metadata={"by": "secret note"}))
    for ending in (".arrow", ".parquet"):
        write(table, tmp_path / f"a{ending}")
        assert b"secret" not in (tmp_path / f"a{ending}").read_bytes()
        assert read(tmp_path / f"a{ending}").schema == pa.schema([("s", pa.string())])


def test_what_is_no_text_is_refused_in_text_files(tmp_path):
    for values in ([[1]], [{"a": 1}], [b"\xff"]):
        with pytest.raises(InvalidData, match="cannot be written as CSV"):
            write(pa.table({"a": values, "b": [1]}), tmp_path / "a.csv")
        assert [one.name for one in tmp_path.iterdir()] == ["source.parquet"]


def test_repairs_belong_to_plans(tmp_path):
    (tmp_path / "a.csv").write_text("sex\nf\nm\n", encoding="utf-8")
    plan = {"sex": pramble.randomized_response(["f", "m"], 1.0)}
    with pytest.raises(pramble.InvalidInput, match="no 'repairs'"):
        pramble.perturb_file(tmp_path / "a.csv", tmp_path / "b.csv", plan, reading={"repairs": [1]})

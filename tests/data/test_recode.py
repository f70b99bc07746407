"""Recoding: every step on texts, dictionaries and numbers; bad settings."""

import datetime as dt
import math
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.reading import levels, read

import pramble
from pramble.errors import InvalidData, InvalidInput

QUICK = settings(max_examples=60, deadline=None)
CODED = pa.dictionary(pa.int8(), pa.string())
TEXT_KINDS = [pa.string(), pa.large_string(), pa.string_view(), CODED]
WHOLE_KINDS = [pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64()]


def texts(values, kind=TEXT_KINDS[0]):
    plain = pa.array(values, pa.string())
    return (
        plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)
    )


def recoded(values, **steps):
    """A column after its recoding, through the public door."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.arrow"
        pa.feather.write_feather(pa.table({"x": values, "n": range(len(values))}), source)
        return read(source, recode={"x": steps})["x"].combine_chunks()


def done(values, **steps):
    return recoded(values, **steps).to_pylist()


@pytest.mark.parametrize("kind", TEXT_KINDS, ids=str)
class TestTexts:
    def test_trim(self, kind):
        assert done(texts([" a ", None, "b\t", ""], kind), trim=True) == ["a", None, "b", ""]

    def test_missing(self, kind):
        assert done(texts(["NA", "a", "-9", None], kind), missing=["NA", -9]) == [
            None,
            "a",
            None,
            None,
        ]

    def test_merge(self, kind):
        merge = {"other": ["b", 9], 7: ["c"]}
        assert done(texts(["a", "b", "9", "c", None], kind), merge=merge) == [
            "a", "other", "other", "7", None,
        ]  # fmt: skip

    def test_merge_of_truths(self, kind):
        assert done(texts(["TRUE", "x"], kind), merge={"yes": True}) == ["yes", "x"]

    def test_clip(self, kind):
        values = texts(["5", " 17", "95", "1.5", None], kind)
        assert done(values, low=2, high=90.0) == ["5", " 17", "90", "2", None]
        assert done(values, low=2.5) == ["5", " 17", "95", "2.5", None]

    def test_bands(self, kind):
        values = texts(["0", "15", "16", " 64.9", "65", "1e3", None], kind)
        assert done(values, bands=[0, 16, 65]) == [
            "0-15", "0-15", "16-64", "16-64", "65+", "65+", None,
        ]  # fmt: skip

    def test_order(self, kind):
        assert done(texts(["b", "a"], kind), order=["b", "a"]) == ["b", "a"]

    def test_numbers_are_refused_where_there_are_none(self, kind):
        for step in ({"low": 1}, {"bands": [0, 1]}):
            with pytest.raises(InvalidData, match="Column 'x' must hold numbers") as error:
                done(texts(["1", "secret"], kind), **step)
            assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", WHOLE_KINDS, ids=str)
class TestNumbers:
    def test_trim_leaves_them(self, kind):
        assert done(pa.array([1, None], kind), trim=True) == [1, None]

    def test_missing(self, kind):
        values = recoded(pa.array([1, 9, None], kind), missing=9)
        assert values.to_pylist() == [1, None, None]
        assert values.type == kind

    def test_merge_into_numbers_and_texts(self, kind):
        values = pa.array([1, 2, 3, None], kind)
        assert done(values, merge={1: (2, 3)}) == [1, 1, 1, None]
        assert done(values, merge={"many": (2, 3)}) == ["1", "many", "many", None]

    def test_clip(self, kind):
        values = pa.array([1, 50, 100, None], kind)
        assert done(values, low=2, high=90) == [2, 50, 90, None]
        assert done(values, low=-5, high=1000) == [1, 50, 100, None]
        assert done(values, low=300) == [300, 300, 300, None]
        assert done(values, high=50.5) == [1, 50, 50.5, None]
        assert recoded(values, low=0, high=90).type == kind

    def test_bands(self, kind):
        assert done(pa.array([0, 15, 16, 65, None], kind), bands=[0, 16, 65]) == [
            "0-15", "0-15", "16-64", "65+", None,
        ]  # fmt: skip

    def test_dictionaries_of_numbers(self, kind):
        coded = pa.array([1, 20, None], kind).dictionary_encode()
        assert done(coded, bands=[0, 16]) == ["0-15", "16+", None]
        assert done(coded, high=10) == [1, 10, None]
        assert done(coded, merge={"a": 1}) == ["a", "20", None]


def test_nan_is_missing_and_infinity_is_a_number():
    values = pa.array([math.nan, math.inf, 1.0])
    assert done(values, bands=[0, 10]) == [None, "10+", "0-9"]
    assert done(values, high=5) == [None, 5.0, 1.0]


def test_huge_integers():
    values = pa.array([2**63 - 1, 2**53 + 1])
    assert done(values, bands=[0, 10]) == ["10+", "10+"]
    assert done(values, high=2**60) == [2**60, 2**53 + 1]
    assert done(pa.array([2**64 - 1], pa.uint64()), low=-1) == [2**64 - 1]


@QUICK
@given(
    edges=st.lists(st.integers(-50, 50), min_size=1, max_size=6, unique=True).map(sorted),
    values=st.lists(st.none() | st.integers(-50, 80), min_size=1, max_size=20),
)
def test_bands_hold_what_their_edges_say(edges, values):
    array = pa.array(values, pa.int64())
    if any(one is not None and one < edges[0] for one in values):
        with pytest.raises(InvalidData, match="some are below"):
            done(array, bands=edges)
        return
    found = done(array, bands=edges)
    for one, label in zip(values, found, strict=True):
        if one is None:
            assert label is None
            continue
        place = sum(edge <= one for edge in edges) - 1
        last = place + 1 == len(edges)
        width = None if last else edges[place + 1] - edges[place]
        assert label == (
            f"{edges[place]}+" if last
            else f"{edges[place]}" if width == 1
            else f"{edges[place]}-{edges[place + 1] - 1}"
        )  # fmt: skip


@QUICK
@given(
    values=st.lists(st.none() | st.integers(0, 9), min_size=2, max_size=12),
    cut=st.integers(1, 11),
    text=st.booleans(),
    steps=st.sampled_from(
        [{"merge": {"few": [0, 1]}}, {"high": 5}, {"low": 2.5}, {"bands": [0, 3]}, {"missing": 4}]
    ),
)
def test_the_type_depends_on_no_other_row(values, cut, text, steps):
    array = pa.array(values, pa.int64())
    array = array.cast(pa.string()) if text else array
    cut = min(cut, len(values) - 1)
    whole = recoded(array, **steps)
    parts = [recoded(part, **steps) for part in (array[:cut], array[cut:])]
    assert {part.type for part in parts} == {whole.type}
    assert [one for part in parts for one in part.to_pylist()] == whole.to_pylist()


BAD = [
    ({"bands": []}, "Bands need numbers"),
    ({"bands": [1, "2"]}, "Bands need numbers"),
    ({"bands": [0, math.inf]}, "Bands need numbers"),
    ({"bands": [True, 5]}, "Bands need numbers"),
    ({"bands": [2, 1]}, "must increase"),
    ({"bands": [1, 1]}, "must increase"),
    ({"bands": None}, "Bands need numbers"),
    ({"low": "1"}, "low must be a number"),
    ({"high": math.nan}, "high must be a number"),
    ({"merge": {}}, "merge maps"),
    ({"merge": ["a"]}, "merge maps"),
    ({"merge": {"a": ["x"], "b": ["x"]}}, "'x' stands twice"),
    ({"merge": {1.5: ["x"]}}, "merge takes labels"),
    ({"order": ["a", "a"]}, "'a' stands twice"),
    ({"order": [{"a": 1}]}, "order takes labels"),
    ({"missing": [1.5]}, "missing takes labels"),
    ({"bin": [1]}, "one of trim, missing"),
    ("trim", "A recoding is"),
    (5, "A recoding is"),
    ([1, "a"], "A recoding is"),
]


@pytest.mark.parametrize(("steps", "message"), BAD)
def test_bad_settings_are_refused_in_one_sentence(steps, message):
    with pytest.raises(InvalidInput, match=message) as error:
        pramble.Reading(recode={"x": steps})
    assert str(error.value).count("\n") == 0


def test_dates_and_truths_are_no_numbers():
    for values in (pa.array([dt.date(2020, 1, 1)]), pa.array([True])):
        with pytest.raises(InvalidData, match="must hold numbers"):
            done(values, bands=[0, 1])


def test_decimal_commas_and_batches_of_a_text_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age;grade\n1,5;x\n17,25;y\n70;x\n")
    recode = {"age": {"bands": [0, 16, 65]}, "grade": {"merge": {"z": ["x", "y"]}}}
    table = read(path, recode=recode)
    assert table.to_pydict() == {"age": ["0-15", "16-64", "65+"], "grade": ["z", "z", "z"]}


def test_decimal_commas_in_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,rent\n1,"0,5"\n2,"17,25"\n')
    reading = {"decimal": ",", "recode": {"rent": [0, 16]}}
    assert read(path, **reading)["rent"].to_pylist() == ["0-15", "16+"]


def test_whole_numbers_after_clipping_are_integers_in_a_text_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,sex\n5,f\n17,m\n95,f\n")
    recode = {"age": {"high": 90}, "sex": {"order": ["m", "f"]}}
    assert list(levels(path, "age", recode=recode)) == [5, 17, 90]
    assert list(levels(path, "sex", recode=recode)) == ["m", "f"]
    assert read(path, recode=recode).schema.field("age").type == pa.string()


def test_recoding_in_memory():
    data = {"age": [5, 17, 95], "sex": ["f", "m", "f"]}
    recode = {"age": [0, 16, 65]}
    assert list(levels(data, "age", recode=recode).values()) == [1, 1, 1]
    mixed = {**data, "code": [1, "a", None]}
    assert sum(levels(mixed, "age", recode=recode).values()) == 3
    with pytest.raises(InvalidData, match="one type to be recoded"):
        levels(mixed, "code", recode={"code": {"trim": True}})

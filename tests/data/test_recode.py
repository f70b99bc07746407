"""Recoding: every step on texts, dictionaries and numbers; bad settings."""

import datetime as dt
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.data.recode import (
    Bands,
    Clip,
    Merge,
    Missing,
    Order,
    Trim,
    apply_all,
    as_recodings,
    categories_after,
)
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


def done(values, *steps):
    return apply_all(steps, values, column="x").to_pylist()


@pytest.mark.parametrize("kind", TEXT_KINDS, ids=str)
class TestTexts:
    def test_trim(self, kind):
        assert done(texts([" a ", None, "b\t", ""], kind), Trim()) == ["a", None, "b", ""]

    def test_missing(self, kind):
        step = Missing(("NA", -9))
        assert done(texts(["NA", "a", "-9", None], kind), step) == [None, "a", None, None]

    def test_merge(self, kind):
        step = Merge({"other": ("b", 9), 7: ("c",)})
        assert done(texts(["a", "b", "9", "c", None], kind), step) == [
            "a", "other", "other", "7", None,
        ]  # fmt: skip

    def test_merge_of_truths(self, kind):
        assert done(texts(["TRUE", "x"], kind), Merge({"yes": True})) == ["yes", "x"]

    def test_clip(self, kind):
        values = texts(["5", " 17", "95", "1.5", None], kind)
        assert done(values, Clip(low=2, high=90.0)) == ["5", " 17", "90", "2", None]
        assert done(values, Clip(low=2.5)) == ["5", " 17", "95", "2.5", None]

    def test_bands(self, kind):
        values = texts(["0", "15", "16", " 64.9", "65", "1e3", None], kind)
        assert done(values, Bands((0, 16, 65))) == [
            "0-15", "0-15", "16-64", "16-64", "65+", "65+", None,
        ]  # fmt: skip

    def test_order(self, kind):
        assert done(texts(["b", "a"], kind), Order(("b", "a"))) == ["b", "a"]

    def test_numbers_are_refused_where_there_are_none(self, kind):
        for step in (Clip(low=1), Bands((0, 1))):
            with pytest.raises(InvalidData, match="Column 'x' must hold numbers") as error:
                done(texts(["1", "secret"], kind), step)
            assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", WHOLE_KINDS, ids=str)
class TestNumbers:
    def test_trim_leaves_them(self, kind):
        assert done(pa.array([1, None], kind), Trim()) == [1, None]

    def test_missing(self, kind):
        values = apply_all([Missing((9,))], pa.array([1, 9, None], kind), column="x")
        assert values.to_pylist() == [1, None, None]
        assert values.type == kind

    def test_merge_into_numbers_and_texts(self, kind):
        values = pa.array([1, 2, 3, None], kind)
        assert done(values, Merge({1: (2, 3)})) == [1, 1, 1, None]
        assert done(values, Merge({"many": (2, 3)})) == ["1", "many", "many", None]

    def test_clip(self, kind):
        values = pa.array([1, 50, 100, None], kind)
        assert done(values, Clip(low=2, high=90)) == [2, 50, 90, None]
        assert done(values, Clip(low=-5, high=1000)) == [1, 50, 100, None]
        assert done(values, Clip(low=300)) == [300, 300, 300, None]
        assert done(values, Clip(high=50.5)) == [1, 50, 50.5, None]
        assert apply_all([Clip(0, 90)], values, column="x").type == kind

    def test_bands(self, kind):
        assert done(pa.array([0, 15, 16, 65, None], kind), Bands((0, 16, 65))) == [
            "0-15", "0-15", "16-64", "65+", None,
        ]  # fmt: skip

    def test_dictionaries_of_numbers(self, kind):
        coded = pa.array([1, 20, None], kind).dictionary_encode()
        assert done(coded, Bands((0, 16))) == ["0-15", "16+", None]
        assert done(coded, Clip(high=10)) == [1, 10, None]
        assert done(coded, Merge({"a": 1})) == ["a", "20", None]


def test_nan_is_missing_and_infinity_is_a_number():
    values = pa.array([math.nan, math.inf, 1.0])
    assert done(values, Bands((0, 10))) == [None, "10+", "0-9"]
    assert done(values, Clip(high=5)) == [None, 5.0, 1.0]


def test_huge_integers():
    values = pa.array([2**63 - 1, 2**53 + 1])
    assert done(values, Bands((0, 10))) == ["10+", "10+"]
    assert done(values, Clip(high=2**60)) == [2**60, 2**53 + 1]
    assert done(pa.array([2**64 - 1], pa.uint64()), Clip(low=-1)) == [2**64 - 1]


@QUICK
@given(
    edges=st.lists(st.integers(-50, 50), min_size=1, max_size=6, unique=True).map(sorted),
    values=st.lists(st.none() | st.integers(-50, 80), max_size=20),
)
def test_bands_hold_what_their_edges_say(edges, values):
    step = Bands(tuple(edges))
    array = pa.array(values, pa.int64())
    if any(one is not None and one < edges[0] for one in values):
        with pytest.raises(InvalidData, match="some are below"):
            done(array, step)
        return
    expected = [
        None if one is None else step.labels[sum(edge <= one for edge in edges) - 1]
        for one in values
    ]
    assert done(array, step) == expected
    assert set(expected) - {None} <= set(step.categories())


@QUICK
@given(
    values=st.lists(st.none() | st.integers(0, 9), max_size=12),
    cut=st.integers(0, 12),
    text=st.booleans(),
    steps=st.sampled_from(
        [{"merge": {"few": [0, 1]}}, {"high": 5}, {"low": 2.5}, {"bands": [0, 3]}, {"missing": 4}]
    ),
)
def test_the_type_depends_on_no_other_row(values, cut, text, steps):
    array = pa.array(values, pa.int64())
    array = array.cast(pa.string()) if text else array
    whole = apply_all(as_recodings(steps), array, column="x")
    parts = [
        apply_all(as_recodings(steps), part, column="x") for part in (array[:cut], array[cut:])
    ]
    assert {part.type for part in parts} == {whole.type}
    assert [one for part in parts for one in part.to_pylist()] == whole.to_pylist()


def test_what_comes_out_of_all_steps_is_known():
    assert categories_after(as_recodings([0, 16, 65])) == ("0-15", "16-64", "65+")
    several = {"bands": [0, 16, 65], "merge": {"adult": ["16-64", "65+"]}}
    assert categories_after(as_recodings(several)) == ("0-15", "adult")
    ordered = {**several, "order": ["adult", "0-15"]}
    assert categories_after(as_recodings(ordered)) == ("adult", "0-15")
    assert categories_after((Order((1, 2, 9)), Missing((9,)))) == (1, 2)
    assert categories_after((Order((1, 2)), Clip(low=1))) is None
    assert categories_after(as_recodings({"merge": {"a": ["b"]}})) is None


BAD = [
    (lambda: Bands(()), "Bands need numbers"),
    (lambda: Bands((1, "2")), "Bands need numbers"),
    (lambda: Bands((0, math.inf)), "Bands need numbers"),
    (lambda: Bands((True, 5)), "Bands need numbers"),
    (lambda: Bands((2, 1)), "must increase"),
    (lambda: Bands((1, 1)), "must increase"),
    (lambda: Bands((0, 1), ("a",)), "2 bands need 2 labels"),
    (lambda: Bands((0, 1), ("a", "a")), "'a' stands twice"),
    (lambda: Clip(low="1"), "low must be a number"),
    (lambda: Clip(high=math.nan), "high must be a number"),
    (lambda: Clip(5, 4), "must not exceed"),
    (lambda: Merge({}), "merge maps"),
    (lambda: Merge(["a"]), "merge maps"),
    (lambda: Merge({"a": ("x",), "b": ("x",)}), "'x' stands twice"),
    (lambda: Merge({1.5: ("x",)}), "merge takes labels"),
    (lambda: Order(("a", "a")), "'a' stands twice"),
    (lambda: Order(({"a": 1},)), "order takes labels"),
    (lambda: Missing((1.5,)), "missing takes labels"),
    (lambda: as_recodings("trim"), "A recoding is"),
    (lambda: as_recodings(5), "A recoding is"),
    (lambda: as_recodings({"bin": [1]}), "one of trim, missing"),
    (lambda: as_recodings([1, "a"]), "A recoding is"),
    (lambda: as_recodings({"bands": None}), "Bands need numbers"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_settings_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message) as error:
        make()
    assert str(error.value).count("\n") == 0


def test_dates_and_truths_are_no_numbers():
    for values in (pa.array([dt.date(2020, 1, 1)]), pa.array([True])):
        with pytest.raises(InvalidData, match="must hold numbers"):
            done(values, Bands((0, 1)))


def test_decimal_commas_and_batches_of_a_text_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age;grade\n1,5;x\n17,25;y\n70;x\n")
    recode = {"age": {"bands": [0, 16, 65]}, "grade": {"merge": {"z": ["x", "y"]}}}
    table = crosstab(open_records(path, {"recode": recode}), ["age", "grade"])
    assert table.levels == (("0-15", "16-64", "65+"), ("z",))
    assert table.counts.tolist() == [1, 1, 1]


def test_decimal_commas_in_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,rent\n1,"0,5"\n2,"17,25"\n')
    reading = {"decimal": ",", "recode": {"rent": [0, 16]}}
    assert crosstab(open_records(path, reading), ["rent"]).counts.tolist() == [1, 1]


def test_whole_numbers_after_clipping_are_integers_in_a_text_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,sex\n5,f\n17,m\n95,f\n")
    records = open_records(path, {"recode": {"age": {"high": 90}, "sex": {"order": ["m", "f"]}}})
    table = crosstab(records, ["age", "sex"])
    assert table.levels == ((5, 17, 90), ("m", "f"))
    assert records.schema.field("age").type == pa.string()


def test_recoding_in_memory(tmp_path):
    data = {"age": [5, 17, 95], "sex": ["f", "m", "f"]}
    recode = {"recode": {"age": [0, 16, 65]}}
    assert crosstab(open_records(data, recode), ["age"]).counts.tolist() == [1, 1, 1]
    mixed = {**data, "code": [1, "a", None]}
    assert crosstab(open_records(mixed, recode), ["age", "code"]).n == 3
    with pytest.raises(InvalidData, match="one type to be recoded"):
        crosstab(open_records(mixed, {"recode": {"code": {"trim": True}}}), ["code"])

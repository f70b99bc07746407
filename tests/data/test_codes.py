"""Codes of values, declared or discovered, beside a slow reference in Python."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.data.encode import Encoder, Levels
from pramble.data.labels import as_labels, in_order, label_key, typed_texts
from pramble.errors import InvalidData

QUICK = settings(max_examples=60, deadline=None)
INTEGERS = {
    pa.int8(): st.integers(-128, 127),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.int32(): st.integers(-5, 5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.sampled_from([0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1]),
}
REALS = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0, 2.0**53, 2.0**60, math.nan, math.inf])
KINDS = {
    **INTEGERS,
    pa.bool_(): st.booleans(),
    pa.string(): st.text("ab1é ", max_size=2),
    pa.large_string(): st.sampled_from(["", "a", "10", "9"]),
    pa.string_view(): st.sampled_from(["", "a", "a longer text than twelve"]),
    pa.float64(): REALS,
    pa.float32(): REALS,
    pa.float16(): st.sampled_from([0.0, 1.0, 1.5, math.nan]).map(np.float16),
    pa.decimal128(20, 2): st.sampled_from([Decimal(0), Decimal("1.00"), Decimal("1.50")]),
    pa.decimal256(50, 0): st.sampled_from([Decimal(0), Decimal(10**40)]),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.null(): st.none(),
}


@st.composite
def arrays(draw, kinds=KINDS):
    kind = draw(st.sampled_from(list(kinds)))
    values = draw(st.lists(st.none() | kinds[kind], max_size=12))
    plain = pa.array(values, kind)
    form = draw(st.sampled_from(["plain", "dictionary", "chunks", "slice"]))
    if form == "dictionary" and kind not in (pa.null(), pa.float16()):
        return strange_dictionary(draw, plain)
    if form == "chunks":
        return pa.chunked_array([plain, plain[:1]], kind)
    return plain[1:] if form == "slice" else plain


def strange_dictionary(draw, plain):
    """A dictionary array with entries that repeat, that nobody uses, and that are null."""
    entries = pa.concat_arrays([plain, plain[:1], pa.nulls(1, plain.type)])
    places = draw(st.lists(st.none() | st.integers(0, len(entries) - 1), max_size=9))
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int16()), entries)


def reference(value):
    """What a value is as a label: whole numbers are integers, NaN is missing."""
    if isinstance(value, float | Decimal | np.floating):
        if value != value:
            return None
        finite = abs(value) != math.inf
        return int(value) if finite and value == int(value) else value
    return value


def keys(labels):
    return [label_key(label) for label in labels]


@QUICK
@given(values=arrays())
def test_discovered_codes_are_those_of_a_slow_reference(values):
    expected = [reference(value) for value in values.to_pylist()]
    levels = Levels("x")
    codes = levels.codes(values)
    labels, place = levels.ordered()
    assert keys(labels[place[code]] for code in codes) == keys(expected)
    assert set(keys(labels)) == set(keys(expected)), "only what occurs"
    assert len(set(keys(labels))) == len(labels)
    assert keys(labels) == keys(in_order(labels))
    assert None not in labels[:-1], "missing comes last"


@QUICK
@given(parts=st.lists(arrays({pa.string(): st.sampled_from(["1", "2", "10", "a"])}), max_size=4))
def test_texts_of_several_batches_are_what_all_of_them_stand_for(parts):
    levels = Levels("x", typed=False)
    codes = [levels.codes(part) for part in parts]
    labels, place = levels.ordered()
    texts = [text for part in parts for text in part.to_pylist()]
    found = [labels[place[code]] for part in codes for code in part]
    assert keys(found) == keys(typed_texts(texts))


LABELS = {kind: values for kind, values in KINDS.items() if not pa.types.is_temporal(kind)}


@QUICK
@given(values=arrays(LABELS), data=st.data())
def test_declared_codes_are_those_of_a_slow_reference(values, data):
    found = [reference(value) for value in values.to_pylist()]
    others = [None, 0, 1, True, "1", "", 2**64, 10**40, -1]
    distinct = {label_key(one): one for one in [*found, *others] if plain(one)}
    labels = data.draw(st.permutations(list(distinct.values())))
    encoder = Encoder(as_labels(labels), "x")
    if not declarable(values.to_pylist()):
        with pytest.raises(InvalidData, match="must hold declared"):
            encoder.codes(values)
        return
    assert keys(labels[code] for code in encoder.codes(values)) == keys(found)


def plain(label):
    return label is None or type(label) in (int, str, bool)


def declarable(values):
    """Whether every value has a label that may be declared for it; wide floats have none."""
    wide = any(isinstance(one, float) and abs(one) > 2**53 for one in values)
    return not wide and all(plain(reference(one)) for one in values)


@QUICK
@given(values=arrays({**INTEGERS, pa.string(): st.text("ab", max_size=2)}), data=st.data())
def test_an_undeclared_value_is_refused_with_its_row(values, data):
    found = values.to_pylist()
    distinct = list({label_key(one): one for one in found}.values())
    if len(distinct) < 2:
        return
    gone = data.draw(st.sampled_from(distinct))
    left = [one for one in distinct if label_key(one) != label_key(gone)]
    encoder = Encoder(as_labels([*left, "never", "there"]), "x")
    row = found.index(gone)
    with pytest.raises(InvalidData, match=rf"\(row {row}\b"):
        encoder.codes(values)


def test_wide_floats_match_no_integer_they_cannot_tell():
    encoder = Encoder(as_labels([2**53, 2**53 + 1, 0]), "x")
    assert encoder.codes(pa.array([2.0**53, 0.0])).tolist() == [0, 2]
    with pytest.raises(InvalidData):
        encoder.codes(pa.array([2.0**60]))


def test_unused_entries_of_a_dictionary_need_not_be_declared():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "secret", None]))
    assert Encoder(as_labels(["a", "b"]), "x").codes(values).tolist() == [0, 0]


@pytest.mark.parametrize("values", [[1, "a", None], [(1, "x"), (2, "y")], [True, 1, 1.0]])
def test_python_values_of_several_types(values):
    levels = Levels("x")
    codes = levels.codes(values)
    labels, place = levels.ordered()
    assert keys(labels[place[code]] for code in codes) == keys(reference(one) for one in values)


def test_what_cannot_be_a_label_is_refused():
    for values in ([[1], [2]], pa.array([[1]]), pa.array([{"a": 1}])):
        with pytest.raises(InvalidData, match="must hold labels"):
            Levels("x").codes(values)


def test_known_categories_come_first_and_are_met_by_their_text():
    levels = Levels("x", typed=False, known=(3, 1, 2))
    codes = levels.codes(pa.array(["1", "4", "3", None]))
    labels, place = levels.ordered()
    assert labels == (3, 1, 2, 4, None)
    assert place[codes].tolist() == [1, 3, 0, 4]
    truths = Levels("x", typed=False, known=(True, False))
    assert truths.codes(pa.array(["TRUE", "false", "true"])).tolist() == [0, 1, 0]
    texts = Levels("x", typed=False, known=("2", "1"))
    texts.codes(pa.array(["1", "3"]))
    assert texts.ordered()[0] == ("2", "1", "3"), "declared as texts, they stay texts"
    twice = Levels("x", known=("a", "b", "a"))
    twice.codes(pa.array(["c"]))
    assert twice.ordered()[0] == ("a", "b", "c")


def test_very_long_digits_sort():
    assert in_order(["9" * 5000, "1"]) == ["1", "9" * 5000]


def test_digits_of_other_scripts_stay_texts():
    assert typed_texts(["1２", "3"]) == ["1２", "3"]

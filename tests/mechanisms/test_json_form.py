"""The JSON form refuses what it does not know."""

import pytest

import pramble

TOTAL = 2**53
GOOD = {"schema": "pramble/mechanism/1", "kind": "uniform", "categories": ["a", "b"], "off": 5}


def test_the_good_document_reads():
    assert pramble.Mechanism.from_json(GOOD).off.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "pramble/mechanism/2"}, "schema"),
        ({"kind": "surprise"}, "one of .*general"),
        ({"extra": 1}, r"unknown fields \['extra'\]"),
        ({"off": None}, "integers"),
        ({"off": 5.0}, "integers"),
        ({"off": [5, True]}, "integers"),
        ({"off": [5]}, "2 off weights"),
        ({"off": -1}, "row 0 holds -1"),
        ({"off": TOTAL + 1}, "row 0 holds"),
        ({"off": 10**30}, "below 2"),
        ({"categories": "ab"}, "list of labels"),
        ({"categories": {"range": "2"}}, "range"),
        ({"categories": ["a", "a"]}, "distinct"),
        ({"categories": ["a", 1.5]}, "1.5"),
    ],
)
def test_bad_documents_are_refused(change, message):
    with pytest.raises(pramble.InvalidMechanism, match=message):
        pramble.Mechanism.from_json({**GOOD, **change})


@pytest.mark.parametrize("text", ["", "[1]", "3", '{"schema":', "null"])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(pramble.InvalidMechanism):
        pramble.Mechanism.from_json(text)


def test_missing_fields_are_named():
    with pytest.raises(pramble.InvalidMechanism, match=r"lacks \['off'\]"):
        pramble.Mechanism.from_json({key: GOOD[key] for key in GOOD if key != "off"})


def test_nothing_is_coerced():
    m = pramble.randomized_response(["1", 1, True, None], 1.0)
    labels = pramble.Mechanism.from_json(m.to_json()).categories
    assert [type(label) for label in labels] == [str, int, bool, type(None)]


def test_a_range_of_labels_stays_short():
    document = pramble.randomized_response(10**6, 1.0).to_json()
    assert document["categories"] == {"range": 10**6}
    assert isinstance(document["off"], int)

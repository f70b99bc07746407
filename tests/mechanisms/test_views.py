"""Views: plans of the same records, by name."""

import copy
import pickle

import pytest

import pramble
from pramble.errors import InvalidPlan

M = pramble.randomized_response(["no", "yes"], 1.0)
THREE = pramble.randomized_response(["a", "b", "c"], 0.5)


def test_a_view_is_called_after_its_columns() -> None:
    views = pramble.Views([{"x": M, "y": M}, {"X": M, "Y": M}, {"a/b": THREE}])
    assert list(views) == ["x-y", "X-Y-2", "a_b"]
    assert views["a_b"].columns == ("a/b",)
    assert views.columns == ("x", "y", "X", "Y", "a/b")
    assert set(views.showing(["y", "a/b"])) == {"x-y", "a_b"}


def test_they_are_values() -> None:
    views = pramble.Views({"one": {"x": M}, "two": {("x", "y"): pramble.product([M, THREE])}})
    again = pramble.Views.from_json(views.to_json())
    assert again == views == pickle.loads(pickle.dumps(views)) == copy.deepcopy(views)
    assert hash(again) == hash(views)
    assert views != pramble.Views({"one": {"x": M}})
    with pytest.raises(AttributeError, match="immutable"):
        views.plans = {}  # type: ignore[misc]


def test_alpha_adds_up_over_views() -> None:
    views = pramble.Views([{"x": M}, {"x": M, "y": THREE}])
    assert pramble.certify(views).alpha == pytest.approx(2.5, abs=1e-9)
    assert pramble.certify(views).satisfies(2.5)
    assert not pramble.certify(views).satisfies(2.4999)


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        ([], "between one"),
        ({"a": {"x": M}, "A": {"x": M}}, "capitals"),
        ({"../x": {"x": M}}, "begins with a letter"),
        ({"": {"x": M}}, "begins with a letter"),
        ({"a": {}}, "must show one column"),
        ([{"x": M}, {"x": THREE}], "same categories"),
        ([{"x": 3}], "maps columns to mechanisms"),
    ],
)
def test_what_cannot_be_meant_is_refused(plans: object, message: str) -> None:
    with pytest.raises(InvalidPlan, match=message):
        pramble.Views(plans)  # type: ignore[arg-type]


def test_documents_are_checked() -> None:
    document = pramble.Views([{"x": M}]).to_json()
    for damaged, message in [
        ({**document, "schema": "pramble/views/2"}, "schema"),
        ({**document, "more": 1}, "fields"),
        ({**document, "views": document["views"] * 2}, "twice"),
        ({**document, "views": [{"name": "x"}]}, "fields"),
        ({**document, "views": [{"name": "..", "plan": document["views"][0]["plan"]}]}, "name"),
    ]:
        with pytest.raises(InvalidPlan, match=message):
            pramble.Views.from_json(damaged)


def test_small_documents_of_huge_views_are_refused_together() -> None:
    large = pramble.randomized_response(range(900_000), 1.0)
    views = pramble.Views({f"v{i}": {"x": large} for i in range(40)})
    with pytest.raises(InvalidPlan):
        pramble.Views.from_json(views.to_json())

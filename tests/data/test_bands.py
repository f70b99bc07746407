"""Bands of one width, bands of dates, and the way from labels back to edges."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.data.bands import band_labels, edges_of_labels, even_edges
from pramble.data.recode import (
    Bands,
    Clip,
    Missing,
    Order,
    Periods,
    apply_all,
    as_bands,
    as_recodings,
    categories_after,
)
from pramble.errors import InvalidData, InvalidInput, InvalidPlan
from pramble.releasing.spec.document import read_spec, spec_from, spec_to_toml

WHOLE = st.integers(-(10**9), 10**9)
NUMBERS = st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: x + 0.0)
EDGES = st.one_of(
    st.lists(WHOLE, min_size=1, max_size=8, unique=True),
    st.lists(st.one_of(NUMBERS, WHOLE), min_size=1, max_size=8, unique=True),
).map(sorted)


@given(EDGES)
def test_labels_of_bands_are_read_back_to_their_edges(edges):
    assert edges_of_labels(band_labels(edges)) == (*map(float, edges), math.inf)


@given(st.sampled_from(["year", "month"]), st.integers(1600, 2400), st.integers(1, 40))
def test_labels_of_periods_are_read_back_in_years(by, year, more):
    first = {"year": f"{year}", "month": f"{year}-11"}[by]
    last = {"year": f"{year + more}", "month": f"{year + more}-02"}
    labels = Periods(by, first, last[by]).categories()
    edges = edges_of_labels(labels)
    assert labels[0] == first
    assert labels[-1] == last[by]
    assert np.diff(edges) == pytest.approx({"year": 1, "month": 1 / 12}[by])
    assert edges[0] == pytest.approx(year + {"year": 0, "month": 10 / 12}[by])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"], "'a' is no band"),
        (["0", "5", "10+"], "'5' does not begin where"),
        (["5-2", "3+"], "'5-2' is no band"),
        ([True, 2], "True is no band"),
        (["0+", "1"], "'1' does not begin"),
        ([None], "None is no band"),
    ],
)
def test_labels_that_are_no_bands_in_order_are_refused(labels, message):
    with pytest.raises(InvalidInput, match=message.replace("+", r"\+")):
        edges_of_labels(labels)


def test_even_bands():
    ages = as_bands({"from": 0, "to": 96, "step": 1})
    assert ages == Bands(tuple(range(96)))
    assert ages.labels[:2] == ("0", "1")
    assert ages.labels[-1] == "95+"
    found = ages.apply(pa.array([0, 0.5, 94.99, 95, 300, None]), column="age").to_pylist()
    assert found == ["0", "0", "94", "95+", "95+", None]
    assert even_edges({"from": 0, "to": 1, "step": 0.1})[3] == 0.3
    assert len(even_edges({"from": 0, "to": 2000, "step": 1})) == 2000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"from": 0, "to": 2001, "step": 1}, "at most 2,000; found 2,001"),
        ({"from": 0, "to": 10, "step": 3}, "whole steps"),
        ({"from": 0, "to": 10, "step": -1}, "two or more steps"),
        ({"from": 0, "to": 1, "step": 1}, "two or more steps"),
        ({"from": 0, "to": 10}, "from, to and step"),
        ({"from": 0, "to": "10", "step": 1}, "from, to and step"),
        ({"from": 0, "to": 10, "step": 1, "by": "year"}, "from, to and step"),
        ({"by": "year"}, "must have from and to such as '2020'"),
        ({"by": "week", "from": "2020", "to": "2021"}, "by year, month"),
        ({"by": "month", "from": "2020", "to": "2021"}, "such as '2020-01'"),
        ({"by": "year", "from": 2021, "to": 2020}, "two or more"),
        ({"by": "month", "from": "1700-01", "to": "2020-01"}, "at most 2,000"),
    ],
)
def test_bad_bands_are_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        as_bands(given)
    with pytest.raises(InvalidPlan, match=f"Column 'x': bands .*{message}"):
        spec_from({"alpha": 1, "columns": {"x": {"bands": given}}})


def test_plans_with_such_bands_are_written_and_read_back(tmp_path):
    columns = {
        "age": {"bands": {"from": 0, "to": 96, "step": 1}, "low": 0},
        "when": {"bands": {"by": "month", "from": "2020-01", "to": "2024-12"}},
    }
    plan = spec_from({"alpha": 2, "columns": columns})
    assert [len(column.labels()) for column in plan.columns] == [96, 60]
    path = tmp_path / "plan.toml"
    path.write_text(spec_to_toml(plan))
    assert read_spec(path) == plan


def test_numbers_below_are_refused_and_the_message_says_how_to_keep_them():
    with pytest.raises(InvalidData, match="say low = 0, which counts them"):
        Bands((0, 5)).apply(pa.array([-1, 3]), column="x")
    steps = as_recodings({"bands": {"from": 0, "to": 10, "step": 5}, "low": 0})
    assert apply_all(steps, pa.array([-1, 7]), column="x").to_pylist() == ["0-4", "5+"]


DAYS = [dt.date(2020, 1, 1), None, dt.date(2020, 12, 31), dt.date(2021, 3, 31)]


def as_types():
    days = pa.array(DAYS, pa.date32())
    texts = days.cast(pa.string())
    return {
        "date32": days,
        "date64": days.cast(pa.date64()),
        "timestamp": days.cast(pa.timestamp("ns")),
        "zone": days.cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC")),
        "text": texts,
        "large text": texts.cast(pa.large_string()),
        "view": texts.cast(pa.string_view()),
        "dictionary": texts.dictionary_encode(),
        "dictionary of dates": days.dictionary_encode(),
        "times": pa.array([None if d is None else f" {d}T23:59:59.5Z " for d in DAYS]),
    }


@pytest.mark.parametrize("kind", as_types())
def test_dates_of_every_type_are_put_into_periods(kind):
    values = as_types()[kind]
    for by, first, last, expected in (
        ("year", "2020", "2021", ["2020", None, "2020", "2021"]),
        ("month", "2020-01", "2021-03", ["2020-01", None, "2020-12", "2021-03"]),
    ):
        found = Periods(by, first, last).apply(values, column="when")
        assert found.to_pylist() == expected
        for row in range(len(values)):
            alone = Periods(by, first, last).apply(values[row : row + 1], column="when")
            assert alone.type == found.type
            assert alone.to_pylist() == expected[row : row + 1]


@pytest.mark.parametrize(
    ("by", "first", "last"),
    [("year", "2021", "2022"), ("month", "2020-01", "2021-02")],
)
def test_dates_outside_are_refused_without_being_shown(by, first, last):
    with pytest.raises(InvalidData, match=f"from {first} to {last} for its bands") as error:
        Periods(by, first, last).apply(pa.array(DAYS), column="when")
    assert "2020-12" not in str(error.value)


@pytest.mark.parametrize(
    "values", [["2020-02-31"], ["01.02.2020"], ["2020-01-01x"], [20200101], [True], ["2020"]]
)
def test_what_is_no_date_is_refused(values):
    with pytest.raises(InvalidData, match="Column 'when' must hold dates"):
        Periods("year", "2000", "2030").apply(pa.array(values), column="when")


def test_empty_and_missing_columns_stay_so():
    bands = Periods("year", "2000", "2030")
    for values in (pa.array([], pa.date32()), pa.array([None, None], pa.string())):
        found = bands.apply(values, column="when")
        assert found.type == pa.string()
        assert found.to_pylist() == [None] * len(values)
    assert bands.apply(pa.nulls(2), column="when").to_pylist() == [None, None]


def test_what_comes_out_of_all_steps_is_known():
    assert categories_after(as_recodings([0, 16, 65])) == ("0-15", "16-64", "65+")
    several = {"bands": [0, 16, 65], "merge": {"adult": ["16-64", "65+"]}}
    assert categories_after(as_recodings(several)) == ("0-15", "adult")
    ordered = {**several, "order": ["adult", "0-15"]}
    assert categories_after(as_recodings(ordered)) == ("adult", "0-15")
    assert categories_after((Order((1, 2, 9)), Missing((9,)))) == (1, 2)
    assert categories_after((Order((1, 2)), Clip(low=1))) is None
    assert categories_after(as_recodings({"merge": {"a": ["b"]}})) is None


BAD_STEPS = [
    (lambda: Bands((0, 1), ("a",)), "2 bands need 2 labels"),
    (lambda: Bands((0, 1), ("a", "a")), "'a' stands twice"),
    (lambda: Clip(5, 4), "must not exceed"),
]


@pytest.mark.parametrize(("make", "message"), BAD_STEPS)
def test_bad_steps_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize("end", ["NaT", "-2020", "99999999", "2020-13", ""])
@pytest.mark.parametrize("by", ["year", "month"])
def test_ends_of_dates_are_years_or_months(by, end):
    with pytest.raises(InvalidInput, match="from and to such as"):
        as_bands({"by": by, "from": end, "to": end})

"""Views of a table: what is in them, and that no two of them can be linked."""

from collections import Counter

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pramble
from pramble.engine.keystream import KeyStream
from pramble.engine.order import random_order
from pramble.engine.views import view_records

KEY = bytes(range(32))
PEOPLE = 300
WHO = pramble.randomized_response(range(PEOPLE), 30.0)
SEX = pramble.randomized_response(["f", "m"], 2.0)
VIEWS = pramble.Views({"one": {"who": WHO}, "two": {"who": WHO, "sex": SEX}})
SMALL = pramble.Views([{"sex": SEX}, {"sex": SEX, "smokes": SEX}])
FRAME = {"sex": list("fmffmm"), "smokes": list("mmffmm"), "income": [1, 2, 3, 4, 5, 6]}
EVERYONE = {"who": np.arange(PEOPLE), "sex": np.array(["f", "m"] * (PEOPLE // 2))}
TRIALS = 100


def key_of(number):
    return number.to_bytes(32, "big")


def columns_of(view):
    if isinstance(view, dict):
        return view
    return {name: own.to_list() for name, own in nw.from_native(view).to_dict().items()}


def is_chance(matches, trials):
    """Whether matches of rows at random fit a Poisson law with mean one for each trial."""
    return abs(matches - trials) < 5 * trials**0.5


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_views_come_in_the_callers_type_with_their_columns_alone(make):
    data = make(FRAME)
    found = pramble.perturb(data, SMALL, key=KEY)
    assert all(type(view) is type(data) for view in found.values())
    plain = {name: columns_of(view) for name, view in found.items()}
    assert plain == pramble.perturb(FRAME, SMALL, key=KEY)
    assert {name: list(view) for name, view in plain.items()} == {
        "sex": ["sex"],
        "sex-smokes": ["sex", "smokes"],
    }


def test_no_index_or_note_of_the_table_is_left():
    frame = pd.DataFrame(FRAME, index=list("uvwxyz"))
    frame.attrs["order"] = list(FRAME["income"])
    for view in pramble.perturb(frame, SMALL, key=KEY).values():
        assert list(view.index) == list(range(6))
        assert not view.attrs
    columns = dict(frame.items())
    for view in pramble.perturb(columns, SMALL, key=KEY).values():
        assert list(view["sex"].index) == list(range(6))
    for view in pramble.perturb(pa.Table.from_pandas(frame), SMALL, key=KEY).values():
        assert view.schema.metadata is None
    assert list(frame.index) == list("uvwxyz")


@pytest.mark.parametrize("kind", ["category", "string[pyarrow]", "object"])
def test_types_are_kept(kind):
    frame = pd.DataFrame(FRAME).astype({"sex": kind, "smokes": kind})
    plain = pramble.perturb(frame, {"sex": SEX, "smokes": SEX}, key=KEY)
    found = pramble.perturb(frame, SMALL, key=KEY)["sex-smokes"]
    assert list(found.dtypes) == [plain[name].dtype for name in ("sex", "smokes")]
    table = pa.table({name: pa.array(FRAME[name]).dictionary_encode() for name in FRAME})
    views = pramble.perturb(table, SMALL, key=KEY)
    assert views["sex"].schema.field("sex").type == table.schema.field("sex").type


def test_a_key_determines_the_views_and_another_gives_others():
    one, two = (pramble.perturb(EVERYONE, VIEWS, key=KEY) for _ in range(2))
    other = pramble.perturb(EVERYONE, VIEWS, key=key_of(1))
    for name in VIEWS:
        assert np.array_equal(one[name]["who"], two[name]["who"])
        assert not np.array_equal(one[name]["who"], other[name]["who"])
    fresh = [pramble.perturb(EVERYONE, VIEWS)["one"]["who"] for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_every_record_is_in_every_view():
    for view in pramble.perturb(EVERYONE, VIEWS, key=KEY).values():
        assert sorted(view["who"].tolist()) == list(range(PEOPLE))


def test_blocks_stay_together_in_a_view():
    pair = [(who, sex) for who in range(PEOPLE) for sex in ("f", "m")]
    views = pramble.Views([{("who", "sex"): pramble.randomized_response(pair, 40.0)}])
    view = pramble.perturb(EVERYONE, views, key=KEY)["who-sex"]
    assert (view["sex"] == np.array(["f", "m"])[view["who"] % 2]).all()


def test_places_and_words_link_no_rows():
    """Rows at one place, or whose drawn words have one rank, are one person's by chance alone."""
    by_place = by_rank = backwards = reused = 0
    for number in range(TRIALS):
        views = pramble.perturb(EVERYONE, VIEWS, key=key_of(number))
        records = view_records(key_of(number), VIEWS, threads=1)
        one, two = views["one"]["who"], views["two"]["who"]
        ranks = {
            name: np.argsort(KeyStream(own.key, "who").words(range(PEOPLE)))
            for name, own in records.items()
        }
        by_place += int((one == two).sum())
        backwards += int((one == two[::-1]).sum())
        by_rank += int((one[ranks["one"]] == two[ranks["two"]]).sum())
        reused += int((one == one).sum())
    assert is_chance(by_place, TRIALS)
    assert is_chance(backwards, TRIALS)
    assert is_chance(by_rank, TRIALS)
    assert not is_chance(reused, TRIALS)


def relative_orders(keys_of_views):
    """Return chi-square of how often each of the 24 relative orders of two views occurs."""
    found = Counter()
    for one, two in keys_of_views:
        place = np.argsort(random_order(4, key=one))
        found[tuple(place[random_order(4, key=two)].tolist())] += 1
    expected = sum(found.values()) / 24
    absent = (24 - len(found)) * expected
    return absent + sum((count - expected) ** 2 / expected for count in found.values())


def test_the_orders_of_two_views_are_independent():
    """Below the 1e-6 quantile of chi-square with 23 degrees of freedom; other laws are far off."""
    views = pramble.Views({"one": {"sex": SEX}, "two": {"sex": SEX}})
    pairs = []
    for number in range(1200):
        records = view_records(key_of(number), views, threads=1)
        pairs.append((records["one"].key, records["two"].key))
    assert relative_orders(pairs) < 71
    assert relative_orders([(one, one) for one, _ in pairs]) > 71


def test_views_share_no_bits():
    records = view_records(
        KEY, pramble.Views({"one": {"sex": SEX}, "two": {"sex": SEX}}), threads=1
    )
    words = [KeyStream(own.key, "sex").words(range(2000)) for own in records.values()]
    agreeing = np.bitwise_count(words[0] ^ words[1]).sum()
    assert abs(int(agreeing) - 32_000) < 5 * 16_000**0.5
    plan = view_records(KEY, pramble.Views({"one": {"smokes": SEX}}), threads=1)
    assert plan["one"].key != records["one"].key


@pytest.mark.parametrize(
    "data",
    [pl.LazyFrame(FRAME), FRAME["sex"], pl.Series(FRAME["sex"]), pa.RecordBatch.from_pydict(FRAME)],
)
def test_what_has_no_rows_to_put_in_order_is_refused(data):
    with pytest.raises(pramble.InvalidData, match="whole table"):
        pramble.perturb(data, SMALL)


@pytest.mark.parametrize("other", [{"first_row": 3}, {"row_number": "income"}, {"column": "sex"}])
def test_numbers_of_rows_are_refused(other):
    with pytest.raises(pramble.InvalidInput, match="not for views"):
        pramble.perturb(FRAME, SMALL, **other)


def test_wrong_values_are_named_by_the_row_that_they_came_in():
    wrong = dict(FRAME, sex=["f", "m", "f", "f", "x", "m"])
    with pytest.raises(pramble.InvalidData, match="row 4"):
        pramble.perturb(wrong, SMALL, key=KEY)
    cells = [("f", "f"), ("m", "m"), ("f", "m")]
    views = pramble.Views([{("sex", "smokes"): pramble.randomized_response(cells, 1.0)}])
    with pytest.raises(pramble.InvalidData, match=r"\(row 1\)"):
        pramble.perturb({"sex": ["f", "m", "m"], "smokes": ["f", "f", "m"]}, views, key=KEY)


def test_missing_columns_are_refused():
    with pytest.raises(pramble.InvalidPlan, match="'smokes' is missing"):
        pramble.perturb({"sex": ["f"]}, SMALL)
    with pytest.raises(pramble.InvalidPlan, match="views are several"):
        pramble.perturb_file("x.parquet", "y.parquet", SMALL)


def test_an_empty_table_has_empty_views():
    empty = pd.DataFrame({"sex": pd.Series([], dtype=str), "smokes": pd.Series([], dtype=str)})
    assert [len(view) for view in pramble.perturb(empty, SMALL).values()] == [0, 0]

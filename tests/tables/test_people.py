"""At most so many rows of each person are counted: random ones, whatever the order of rows."""

from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest
from tests.tables.exact import without_noise
from tests.tables.people import assert_same

import pramble

SIZES = {"who": 40, "what": 4}


def plan(k, sizes=SIZES):
    tables = min(2, len(sizes))
    design = pramble.design_tables(sizes, 1.0, 1e-6, rows_per_person=k, tables=tables)
    return without_noise(design.plan)


def visits(seed=0):
    """Rows of 40 people, who have none to nine each; a cell may be met several times."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), rng.integers(0, 10, 40))
    who = rng.permutation(who)
    return {"who": who.tolist(), "what": rng.integers(0, 4, len(who)).tolist(), "id": who.tolist()}


def counts(data, k, key=bytes(32), person="id", **more):
    found = pramble.measure(data, plan(k), key=key, person=person, **more)
    return found, np.rint(found.table(["who", "what"])).astype(int)


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_never_more_rows_of_a_person_and_no_others(k):
    data = visits()
    true = np.zeros((40, 4), dtype=int)
    np.add.at(true, (data["who"], data["what"]), 1)
    found, table = counts(data, k)
    assert table.sum(axis=1).tolist() == np.minimum(true.sum(axis=1), k).tolist()
    assert np.all((table >= 0) & (table <= true))
    assert found.total == table.sum()


def test_without_persons_rows_are_counted_as_they_stand():
    data = visits()
    assert counts(data, 2, person=None)[1].sum() == len(data["who"])


WAYS = {
    "backwards": lambda data: {name: values[::-1] for name, values in data.items()},
    "texts": lambda data: data | {"id": list(map(str, data["id"]))},
    "dictionary": lambda data: pa.table(
        data | {"id": pa.array(list(map(str, data["id"]))).dictionary_encode()}
    ),
    "whole floats": lambda data: pd.DataFrame(data).astype({"id": "float64"}),
    "decimals": lambda data: pa.table(
        data | {"id": pa.array(data["id"]).cast(pa.decimal128(20, 0))}
    ),
    "batches": lambda data: pa.RecordBatchReader.from_batches(
        pa.table(data).schema, pa.table(data).to_batches(max_chunksize=7)
    ),
    "polars lazy": lambda data: pl.DataFrame(data).lazy(),
    "duckdb": lambda data: duckdb.from_arrow(pa.table(data)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [1, 2])
def test_who_is_counted_depends_on_nothing_but_their_own_rows(way, k):
    expected = counts(visits(), k)[0]
    assert_same(counts(WAYS[way](visits()), k)[0], expected)


def test_other_people_change_nothing():
    data = visits()
    few = [i for i, who in enumerate(data["who"]) if who < 20]
    part = {name: [values[i] for i in few] for name, values in data.items()}
    assert np.array_equal(counts(part, 2)[1][:20], counts(data, 2)[1][:20])


def test_which_rows_are_counted_is_random():
    """Of the rows b, b, a, c of each of 2,000 people one is counted, each as often."""
    people = 2000
    cells = np.tile([1, 1, 0, 2], people)
    data = {"what": cells.tolist(), "id": np.repeat(np.arange(people), 4).tolist()}
    quiet = plan(1, {"what": 4})
    found = pramble.measure(data, quiet, key=bytes(32), person="id").table(["what"])
    assert found.sum() == people
    for cell, share in enumerate([0.25, 0.5, 0.25]):
        assert binomtest(round(found[cell]), people, share).pvalue > 1e-4
    assert round(found[3]) == 0


def test_pairs_of_rows_are_counted_as_often_each():
    """Two of four rows: each pair, or the two of one cell, as often as chance has it."""
    data = {"what": [0, 1, 2, 2], "id": ["x"] * 4}
    quiet = plan(2, {"what": 4})
    rng = np.random.default_rng(0)
    pairs = Counter(
        tuple(
            np.rint(
                pramble.measure(data, quiet, key=rng.bytes(32), person="id").table(["what"])
            ).astype(int)
        )
        for _ in range(300)
    )
    chances = {(1, 1, 0, 0): 1, (1, 0, 1, 0): 2, (0, 1, 1, 0): 2, (0, 0, 2, 0): 1}
    assert set(pairs) == set(chances)
    for pair, of_six in chances.items():
        assert binomtest(pairs[pair], 300, of_six / 6).pvalue > 1e-4


def test_rows_of_many_columns_differ_by_all_of_them():
    """More columns than a block of the cipher has room for."""
    sizes = dict.fromkeys([f"x{i}" for i in range(9)], 2)
    rows = np.eye(9, dtype=int)
    data = {name: rows[:, i].tolist() for i, name in enumerate(sizes)} | {"id": [0] * 9}
    quiet = without_noise(pramble.design_tables(sizes, 1.0, 1e-6, tables=1).plan)
    rng = np.random.default_rng(0)
    met = Counter()
    for _ in range(120):
        found = pramble.measure(data, quiet, key=rng.bytes(32), person="id")
        (one,) = [name for name in sizes if round(found.table([name])[1])]
        met[one] += 1
    assert set(met) == set(sizes)
    assert max(met.values()) < 120 / 9 + 5 * np.sqrt(120 / 9)


def test_persons_of_several_columns():
    data = {"what": [0, 1, 2, 3], "house": ["ab", "a", "ab", "a"], "no": ["c", "bc", "c", "bc"]}
    quiet = plan(1, {"what": 4})
    found = pramble.measure(data, quiet, key=bytes(32), person=["house", "no"])
    assert found.total == 2
    first, second = (np.rint(found.table(["what"])).astype(int)[i::2] for i in range(2))
    assert (first.sum(), second.sum()) == (1, 1)


def test_a_person_may_be_a_column_that_is_counted():
    data = visits()
    expected = counts(data, 2)[0]
    assert_same(counts(data, 2, person="who")[0], expected)


@pytest.mark.parametrize("way", ["mapping", "arrow", "pandas", "polars lazy", "duckdb"])
def test_rows_of_nobody_are_refused(way):
    data = {"what": [0, 1, 2], "id": ["x", None, "y"]}
    source = {
        "mapping": data,
        "arrow": pa.table(data),
        "pandas": pd.DataFrame(data),
        "polars lazy": pl.DataFrame(data).lazy(),
        "duckdb": duckdb.from_arrow(pa.table(data)),
    }[way]
    place = "some row" if way in {"polars lazy", "duckdb"} else "row 1"
    with pytest.raises(pramble.InvalidData, match=f"'id' must say whose each row is; {place}"):
        pramble.measure(source, plan(1, {"what": 4}), person="id")


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.5], [[1], [2], [3]]])
def test_what_names_nobody_is_refused(values):
    with pytest.raises(pramble.InvalidData, match="'id' must say whose each row is by text"):
        pramble.measure({"what": [0, 1, 2], "id": values}, plan(1, {"what": 4}), person="id")


def test_recoded_rows_are_counted_by_person():
    data = visits() | {"what": [10 * what for what in visits()["what"]]}
    reading = {"recode": {"what": [0, 20]}}
    sizes = {"who": 40, "what": ["0-19", "20+"]}
    quiet = plan(2, sizes)
    sources = (data, pl.DataFrame(data).lazy())
    one, other = (
        pramble.measure(one, quiet, key=bytes(32), person="id", reading=reading) for one in sources
    )
    assert_same(one, other)
    assert one.total == sum(min(count, 2) for count in Counter(data["id"]).values())


def test_two_rows_of_a_person_and_the_noise_of_their_number():
    """With several rows a person the total is noisy, and centred on the rows that are kept."""
    data = visits()
    noisy = pramble.design_tables(SIZES, 1.0, 1e-6, rows_per_person=2)
    kept = counts(data, 2)[1].sum()
    rng = np.random.default_rng(0)
    totals = [
        pramble.measure(data, noisy, key=rng.bytes(32), person="id").total for _ in range(200)
    ]
    deviation = noisy.plan.precision[()] ** -0.5
    assert len(set(totals)) > 10
    assert abs(np.mean(totals) - kept) < 4 * deviation / np.sqrt(200)
    assert 0.8 < np.std(totals) / deviation < 1.2

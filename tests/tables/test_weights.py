"""Weighted tables: what they promise against all neighbours, and that they are exact anywhere."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from tests.tables.brute import kernel, records
from tests.tables.people import KEY, LABELS, assert_same, people_table
from tests.tables.test_engines import WAYS

import pramble
from pramble.errors import InvalidData

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning:ibis"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


def loud(plan):
    """The plan with next to no noise."""
    own = replace(plan.weights, precision=dict.fromkeys(plan.weights.precision, 1e29), squares=1e29)
    return replace(plan, precision=dict.fromkeys(plan.precision, 1e29), weights=own)


def shift(plan, one, other, counts, sums):
    """The squared shift of rows (cell, units) for others, from the kernels of counts and sums."""
    places = {cell: i for i, cell in enumerate(records(plan.sizes))}
    moved = np.zeros((2, len(places)), dtype=object) + Fraction(0)
    squares = 0
    for sign, rows in ((1, one), (-1, other)):
        for cell, units in rows:
            moved[0, places[cell]] += sign
            moved[1, places[cell]] += sign * units
            squares += sign * int(plan.weights.squared(np.array(units)))
    own = sum(m @ k @ m for m, k in zip(moved, (counts, sums), strict=True))
    return own + Fraction(plan.weights.squares) * squares**2


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("more", [{}, {"objective": "largest"}, {"tables": 1}])
def test_no_two_people_with_any_weights_are_further_apart_than_is_said(k, more):
    sizes = {"a": 2, "b": 3 if k == 1 else 2}
    d = pramble.design_tables(sizes, 1.0, 1e-6, rows_per_person=k, largest_weight=25.0, **more)
    plan, most = d.plan, d.plan.weights.most
    counts, sums = (kernel(sizes, own) for own in (plan.precision, plan.weights.precision))
    levels = (0, 1, most // 3, most) if k == 1 else (0, most // 2, most)
    rows = list(product(records(sizes), levels))
    # where every person has one row another one takes their place; else anybody may have none
    numbers = (1,) if k == 1 else range(k + 1)
    people = list(chain(*(combinations_with_replacement(rows, many) for many in numbers)))
    quick = [own.astype(float) for own in (counts, sums)]
    widest = 0
    for one, other in product(people, repeat=2):
        if shift(plan, one, other, *quick) > widest * (1 - 1e-9):
            exact = shift(plan, one, other, counts, sums)
            assert exact <= d.guarantee.mu_squared
            widest = max(widest, exact)
    assert widest >= d.guarantee.mu_squared * (1 - Fraction(1, 10**9))
    assert d.guarantee.epsilon <= 1


def test_what_is_published_of_neighbouring_files_is_as_near_as_is_said():
    """Weights above the largest, small ones and ties: by what is measured without noise."""
    sizes = {"a": 2, "b": 2}
    d = pramble.design_tables(sizes, 1.0, 1e-6, largest_weight=3.0)
    plan, rng = d.plan, np.random.default_rng(4)
    others = {"a": [0, 1, 1], "b": [1, 0, 1], "w": [0.5, 2.0, 3.0]}

    def published(a, b, w):
        file = {name: [*others[name], own] for name, own in (("a", a), ("b", b), ("w", w))}
        m = pramble.measure(file, loud(plan), key=bytes(32), weights="w")
        found = [m.weighted.squares * plan.weights.squares**0.5]
        found.append(m.weighted.sums.total * plan.weights.precision[()] ** 0.5)
        for held, precision in ((m, plan.precision), (m.weighted.sums, plan.weights.precision)):
            for part, own in held.parts.items():
                found += (own / held.plan.scale(part) * precision[part] ** 0.5).ravel().tolist()
        return np.array(found)

    with pytest.warns(pramble.PrambleWarning, match="1 rows weigh more than 3"):
        people = [
            published(a, b, w)
            for a, b in product(range(2), repeat=2)
            for w in (0, 3.0, 3.1, 1e9, 1.7e308, *rng.uniform(0, 3, 3))
        ]
    widest = max(((x - y) ** 2).sum() for x, y in product(people, repeat=2))
    assert 1 - 1e-6 < widest / float(d.guarantee.mu_squared) <= 1 + 1e-9


def test_a_plan_that_promises_too_much_is_found_out():
    """More precise weights are another promise, and a stated choice covers counts alone."""
    for tables in (2, "auto"):
        d = pramble.design_tables(
            {"a": 2, "b": 3, "c": 2}, 1.0, 1e-6, tables=tables, largest_weight=10
        )
        own = d.plan.weights
        keen = replace(own, precision={p: 4 * u for p, u in own.precision.items()})
        for better in (keen, replace(own, squares=4 * own.squares), replace(own, largest=20.0)):
            assert pramble.certify(replace(d.plan, weights=better)).epsilon > 1.01
        assert pramble.certify(replace(d.plan, weights=None)).epsilon < 0.8


def weighted_people():
    table, rng = people_table(), np.random.default_rng(2)
    return table.append_column("wgt", pa.array(np.round(rng.gamma(2, 60, len(table)), 2)))


@pytest.fixture(scope="module")
def table():
    return weighted_people()


def design(**more):
    return pramble.design_tables(LABELS, 1.0, 1e-6, largest_weight=400, **more)


@pytest.fixture(scope="module")
def expected(table):
    return {
        person: pramble.measure(
            table, design(rows_per_person=2), key=KEY, person=person, weights="wgt"
        )
        for person in (None, "id")
    }


@pytest.mark.filterwarnings("ignore:.*rows weigh more than")
@pytest.mark.parametrize("way", [way for way in WAYS if way != "other types"])
@pytest.mark.parametrize("person", [None, "id"])
def test_weighted_tables_are_the_same_whatever_the_engine(table, expected, way, person, tmp_path):
    source = WAYS[way](table, tmp_path)
    d = design(rows_per_person=2)
    found = pramble.measure(source, d, key=KEY, person=person, weights="wgt")
    assert_same(found, expected[person])
    assert found.weighted.totals == expected[person].weighted.totals


def test_sums_are_exact_in_units(table):
    """Nothing is lost between rows and published numbers but what lies above the largest weight."""
    with pytest.warns(pramble.PrambleWarning, match="rows weigh more than 400") as said:
        m = pramble.measure(table, loud(design().plan), key=KEY, weights="wgt")
    frame = table.to_pandas()
    units = np.minimum(np.rint(frame["wgt"] * 1000), 400_000).astype(int)
    assert f"{(frame['wgt'] > 400).sum():,} rows" in str(said[0].message)
    assert m.weighted.sums.total == units.sum()
    assert m.weighted.squares == ((units * units + 200_000) // 400_000).sum()
    true = units.groupby([frame["sex"], frame["age"]]).sum().unstack().to_numpy()
    assert np.array_equal(np.rint(m.weighted.sums.table(["sex", "age"])), true)
    assert np.allclose(m.table(["sex", "age"], weights="wgt"), true / 1000)
    assert np.rint(m.table(["sex"])).sum() == len(frame)


@pytest.mark.parametrize("tables", [2, "auto"])
def test_weighted_tables_are_read_back_exactly(table, tables):
    with pytest.warns(pramble.PrambleWarning, match="weigh more"):
        m = pramble.measure(table, design(tables=tables), key=KEY, weights="wgt")
    plan = type(m.plan).from_json(json.loads(json.dumps(m.plan.to_json())))
    again = type(m).from_table(m.to_table(), plan, m.total, m.weighted.totals)
    assert_same(again, m)
    assert again.weighted.totals == m.weighted.totals
    with pytest.raises(pramble.InvalidData, match="need their total"):
        type(m).from_table(m.to_table(), plan, m.total)
    for name in ("weighted", "weighted_deviation", "weighted_residual"):
        values = m.to_table()[name].to_pylist()
        values[3] += 1
        column = pa.array(values, m.to_table().schema.field(name).type)
        changed = m.to_table().set_column(m.to_table().schema.get_field_index(name), name, column)
        with pytest.raises(pramble.InvalidData):
            type(m).from_table(changed, plan, m.total, m.weighted.totals)


def test_noise_is_as_large_as_is_said_and_nothing_shares_it():
    people = {"a": [0, 1, 1, 0] * 20, "b": [0, 0, 1, 2] * 20, "w": [1.0, 2.5, 7.0, 0.0] * 20}
    d = pramble.design_tables({"a": 2, "b": 3}, 2.0, 1e-6, largest_weight=8)
    quiet = pramble.measure(people, loud(d.plan), key=KEY, weights="w")
    rng, errors = np.random.default_rng(3), []
    for _ in range(400):
        m = pramble.measure(people, d, key=rng.bytes(32), weights="w")
        own = [m.table(["a", "b"], weights="w")[1, 2] - quiet.table(["a", "b"], weights="w")[1, 2]]
        own += [m.table(["a", "b"])[1, 2] - quiet.table(["a", "b"])[1, 2]]
        own += [m.weighted.squares - quiet.weighted.squares]
        errors.append(own)
    stated = [
        d.weighted_deviations["a", "b"],
        d.deviations["a", "b"],
        d.plan.weights.squares**-0.5,
    ]
    ratios = (np.array(errors) / stated).T
    assert np.abs(ratios.mean(axis=1)).max() < 4.5 / np.sqrt(400)
    assert np.all(np.abs((ratios**2).mean(axis=1) - 1) < 4.5 * np.sqrt(2 / 400))
    assert np.abs(np.corrcoef(ratios)[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(400)


@pytest.mark.parametrize("what", ["a weight", "a category"])
def test_two_releases_of_one_key_share_no_noise(what):
    people = {"a": [0, 1, 1, 0] * 20, "b": [0, 0, 1, 2] * 20, "w": [1.0, 2.5, 7.0, 0.0] * 20}
    corrected = {name: list(own) for name, own in people.items()}
    name = "w" if what == "a weight" else "b"
    corrected[name][0] = 2
    d = pramble.design_tables({"a": 2, "b": 3}, 2.0, 1e-6, largest_weight=8)
    one, other = (pramble.measure(x, d, key=KEY, weights="w") for x in (people, corrected))
    quiet = [pramble.measure(x, loud(d.plan), key=KEY, weights="w") for x in (people, corrected)]
    for of in (lambda m: m.table(["a", "b"]), lambda m: m.table(["a", "b"], weights="w")):
        assert np.abs((of(one) - of(quiet[0])) - (of(other) - of(quiet[1]))).min() > 1e-9
    again = pramble.measure(people, d, key=KEY, weights="w")
    assert_same(one, again)


BAD = {
    "negative": ([1.0, 2.0, -0.5], r"must not be negative.*row 2"),
    "missing": ([1.0, None, 2.0], r"finite numbers; row 1"),
    "not a number": ([1.0, 2.0, float("nan")], r"finite numbers; row 2"),
    "infinite": ([1.0, float("inf"), 2.0], r"finite numbers; row 1"),
    "huge and negative": ([1.0, -1e300, 2.0], r"row 1"),
    "text": (["1", "2", "many"], r"'w'"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_weight_is_refused(bad):
    d = pramble.design_tables({"a": 2}, 1.0, 1e-6, tables=1, largest_weight=4)
    values, message = BAD[bad]
    with pytest.raises(pramble.InvalidData, match=message):
        pramble.measure({"a": [0, 1, 1], "w": values}, d, weights="w")


def test_a_largest_weight_is_stated_and_the_column_named():
    people, columns = {"a": [0, 1], "w": [1.0, 2.0]}, {"a": 2}
    plain = pramble.design_tables(columns, 1.0, 1e-6, tables=1)
    with pytest.raises(pramble.InvalidInput, match=r"public knowledge.*largest_weight="):
        pramble.measure(people, plain, weights="w")
    weighted = pramble.design_tables(columns, 1.0, 1e-6, tables=1, largest_weight=4)
    with pytest.raises(pramble.InvalidInput, match="name the column with weights="):
        pramble.measure(people, weighted)
    with pytest.raises(pramble.InvalidInput, match="column of its own"):
        pramble.measure(people, weighted, weights="a")
    for odd in (0, -1, float("nan"), float("inf"), True, "4"):
        with pytest.raises((pramble.InvalidInput, pramble.InvalidPlan)):
            pramble.design_tables(columns, 1.0, 1e-6, tables=1, largest_weight=odd)


def test_a_weight_of_the_largest_is_not_cut(recwarn):
    """Even where the largest has more digits than weights have."""
    d = pramble.design_tables({"sex": 2}, 1.0, 1e-6, tables=1, largest_weight=1234.5678)
    people = {"sex": [0, 1] * 20, "w": [1234.5678, 1234.567] * 20}
    pramble.measure(people, d, key=bytes(32), weights="w")
    assert not recwarn.list
    with pytest.warns(pramble.errors.PrambleWarning, match="1 rows weigh more"):
        pramble.measure({"sex": [0, 1], "w": [1234.5679, 1.0]}, d, key=bytes(32), weights="w")


def test_a_weight_that_is_no_number_is_not_said_to_be_in_another_row():
    """Of a lazy frame groups are counted, which have no rows."""
    import polars as pl

    d = pramble.design_tables({"sex": 2}, 1.0, 1e-6, tables=1, largest_weight=9)
    people = {"sex": [0, 1] * 5, "w": [1.0] * 7 + [float("nan")] + [1.0] * 2}
    for data, said in ((people, "row 7 holds none"), (pl.LazyFrame(people), "'w' holds others")):
        with pytest.raises(InvalidData, match=said):
            pramble.measure(data, d, key=bytes(32), weights="w")

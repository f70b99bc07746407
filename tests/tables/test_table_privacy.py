"""What protected tables promise, against all pairs of records and all rows of a person."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.brute import largest_of_rows, within
from tests.tables.brute import largest_shift as brute_shift

import pramble
from pramble.data.labels import as_labels
from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy import largest_shift
from pramble.privacy.gaussian import delta_above
from pramble.privacy.largest_shift import exchangeable
from pramble.privacy.table_privacy import presence, shift_of

NAMES = "abcdefghijklmnopqrstuvwxyz"
amounts = st.one_of(
    st.sampled_from([1.0, 0.1, 0.3, 2.0]), st.floats(-6, 6).map(lambda power: 2.0**power)
)


@st.composite
def noisy_tables(draw, *, columns=4, cells=24, alike=False):
    """Numbers of categories, tables of any orders, and a precision of each part."""
    sizes: dict[str, int] = {}
    for name in NAMES[: draw(st.integers(1, columns))]:
        sizes[name] = draw(st.integers(2, 2 if alike else 4))
        if math.prod(sizes.values()) > cells:
            sizes[name] = 2
    every = within([tuple(sizes)], sizes)
    tables = draw(st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True))
    parts = within(tables, sizes)
    return sizes, tables, {part: draw(amounts) for part in parts}


@given(noisy_tables())
def test_the_largest_shift_is_that_of_two_records(given_tables):
    sizes, _, precision = given_tables
    found = shift_of(sizes, precision)
    assert found.attained
    assert found.bound == brute_shift(sizes, precision)
    attaining = {name: 2 for name in sizes if name in found.columns}
    assert set(found.columns) == set(attaining)


@given(noisy_tables(columns=5, cells=32, alike=True), st.sampled_from([0, 1]))
@settings(max_examples=25)
def test_ties_that_are_not_told_apart_stay_above(given_tables, tied):
    sizes, _, precision = given_tables
    true = brute_shift(sizes, precision)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(largest_shift, "MOST_TIED", tied or 1)
        found = shift_of(sizes, precision)
    assert true <= found.bound <= true * (1 + Fraction(1, 10**10))
    if found.attained:
        assert found.bound == true


@given(st.lists(st.integers(2, 3), min_size=2, max_size=5), st.integers(1, 3), st.data())
def test_columns_that_may_be_swapped_stand_together(numbers, order, data):
    sizes = dict(zip(NAMES, numbers, strict=False))
    by_kind: dict[tuple[int, ...], float] = {}
    precision = {}
    for k in range(1, min(order, len(sizes)) + 1):
        for part in combinations(sizes, k):
            kind = tuple(sorted(sizes[name] for name in part))
            if kind not in by_kind:
                by_kind[kind] = data.draw(amounts)
            precision[part] = by_kind[kind]
    parts = exchangeable(sizes, precision)
    assert len(parts.classes) == len(set(numbers))
    merged = shift_of(sizes, precision)
    alone, values = largest_shift.one_by_one(parts, [precision[own[0]] for own in parts.members])
    assert len(alone.classes) == len(sizes)
    assert largest_shift.largest_shift(alone, values).bound == merged.bound


def plan_of(sizes, tables, precision, *, delta=1e-6, rows=1):
    labels = {name: as_labels(n) for name, n in sizes.items()}
    return TablePlan(labels, tuple(tables), precision, delta, rows)


def test_columns_may_be_swapped_although_others_may_not():
    """One table that matters more does not part the columns that it does not have."""
    sizes = dict.fromkeys(NAMES[:24], 3)
    precision = dict.fromkeys(within(list(combinations(sizes, 2)), sizes), 1.0)
    precision["a", "b"] = 2.0
    classes = exchangeable(sizes, precision).classes
    assert classes == (("a", "b"), tuple(NAMES[2:24]))
    assert shift_of(sizes, precision).attained
    precision["b",] = 2.0
    assert len(exchangeable(sizes, precision).classes) == 3


def test_rounding_does_not_part_columns():
    """The same costs, added up in another order, are the same."""
    sizes = {f"c{i}": n for i, n in enumerate([7, 3, 9, 2, 5, 7, 11, 4, 3, 7, 13, 6])}
    d = pramble.design_tables(sizes, 1.0, 1e-6, tables=3)
    parts = exchangeable(d.plan.sizes, d.plan.precision)
    assert sorted(map(len, parts.classes)) == [1] * 7 + [2, 3]


def coarse(monkeypatch, together=0):
    """Prove shifts as those of very many columns are proven."""
    monkeypatch.setattr(largest_shift, "MOST_PATTERNS", 0)
    monkeypatch.setattr(largest_shift, "MOST_TOGETHER", together)


@given(noisy_tables(columns=5, cells=48))
def test_columns_one_after_the_other_give_the_same(given_tables):
    sizes, _, precision = given_tables
    true = brute_shift(sizes, precision)
    with pytest.MonkeyPatch.context() as patch:
        coarse(patch, together=20)
        found = shift_of(sizes, precision)
        only = {name for part in precision for name in part}
        at = {name: int(name in found.columns) for name in sizes if name in only}
    assert true <= found.bound <= true * (1 + Fraction(1, 10**10))
    parts = exchangeable(sizes, precision)
    alone, values = largest_shift.one_by_one(parts, [precision[own[0]] for own in parts.members])
    worst = alone.exact([Fraction(own) for own in values], [at[own[0]] for own in alone.classes])
    assert worst >= true * (1 - Fraction(1, 10**10))


@given(noisy_tables(columns=5, cells=48))
def test_the_concave_bound_is_never_below(given_tables):
    sizes, tables, precision = given_tables
    if max(map(len, tables)) > 3:
        precision = {part: own for part, own in precision.items() if len(part) <= 3}
    with pytest.MonkeyPatch.context() as patch:
        coarse(patch)
        found = shift_of(sizes, precision)
    assert not found.attained
    assert found.bound >= brute_shift(sizes, precision)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 100.0])
def test_the_concave_bound_of_designs_is_near(monkeypatch, order, epsilon):
    sizes = dict(zip(NAMES, [2, 3, 4, 5, 7, 9, 12, 15], strict=False))
    d = pramble.design_tables(sizes, epsilon, 1e-6, tables=order)
    true = shift_of(sizes, d.plan.precision).bound
    coarse(monkeypatch)
    bound = shift_of(sizes, d.plan.precision).bound
    assert true <= bound <= true * (1 + Fraction(4, 100) if order == 2 else 1 + Fraction(1, 10**6))


def test_tables_of_four_columns_are_refused_before_they_are_designed(monkeypatch):
    coarse(monkeypatch)
    with pytest.raises(PrivacyError, match="four or more columns"):
        pramble.design_tables(dict(zip(NAMES, range(2, 8), strict=False)), 1.0, 1e-6, tables=4)


@pytest.mark.parametrize(
    ("numbers", "tables"),
    [((2, 2), [("a", "b")]), ((2, 3), [("a", "b")]), ((2, 3), [("a",), ("b",)]), ((4,), [("a",)])],
)
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_several_rows_of_a_person(numbers, tables, rows, seed):
    """All rows of a person for all others: never above what is stated, and as much for some."""
    sizes = dict(zip(NAMES, numbers, strict=False))
    rng = np.random.default_rng(seed)
    precision = {part: float(rng.uniform(0.1, 2)) for part in [(), *within(tables, sizes)]}
    plan = plan_of(sizes, tables, precision, rows=rows)
    g = pramble.certify(plan)
    assert g.mu_squared == largest_of_rows(sizes, precision, rows)
    assert g.attained
    assert g.rows_per_person == rows
    without = {part: own for part, own in precision.items() if part}
    assert bool(g.worst) == (rows**2 * brute_shift(sizes, without) == g.mu_squared)
    assert "told apart best" in repr(g)


@pytest.mark.parametrize("rows", [2, 3])
def test_the_total_of_a_design_is_measured_for_nothing(rows):
    sizes = {"a": 2, "b": 3}
    d = pramble.design_tables(sizes, 1.0, 1e-6, rows_per_person=rows)
    precision = dict(d.plan.precision)
    assert largest_of_rows(sizes, precision, rows) == d.guarantee.mu_squared
    total = precision.pop(())
    assert rows**2 * brute_shift(sizes, precision) == d.guarantee.mu_squared
    room = brute_shift(sizes, precision) - presence(sizes, precision)
    assert room * (1 - Fraction(1, 10**15)) <= Fraction(total) <= room


def test_the_guarantee_of_a_design_at_another_delta():
    d = pramble.design_tables({"a": 2, "b": 3}, 1.0, 1e-6)
    for given_one in (d, d.plan):
        loose = pramble.central_guarantee(given_one, delta=1e-3)
        assert loose.epsilon < pramble.central_guarantee(given_one).epsilon <= 1.0
        assert pramble.central_guarantee(given_one, delta=1e-9, rows=5).epsilon > 1
        assert loose.curve(loose.epsilon) <= 1e-3
        assert loose.curve(loose.epsilon) == pytest.approx(1e-3)
        assert loose.mu_squared == d.guarantee.mu_squared
    assert d.guarantee.curve(1.0) == delta_above(1.0, d.guarantee.mu_squared) <= 1e-6
    assert d.guarantee.curve(0.0) > 0
    kept = d.guarantee.promise
    assert (kept.shown, kept.shown_delta) == (d.guarantee.epsilon, 1e-6)
    assert d.guarantee.sentence() == str(d.guarantee) == kept.sentence()
    assert pramble.certify(d).mu_squared == pramble.certify(d.plan).mu_squared


@pytest.mark.parametrize(
    "wrong",
    [{"delta": 0.0}, {"delta": 1.0}, {"delta": math.nan}, {"delta": "x"}, {"delta": True},
     {"delta": 0.1, "rows_per_person": 2}],
)  # fmt: skip
def test_what_a_guarantee_of_tables_refuses(wrong):
    d = pramble.design_tables({"a": 2, "b": 3}, 1.0, 1e-6)
    with pytest.raises(InvalidInput):
        pramble.central_guarantee(d, **wrong)


def test_other_guarantees_still_need_the_rows():
    with pytest.raises(InvalidInput, match="rows must be a whole number"):
        pramble.central_guarantee(pramble.randomized_response(3, 1.0), delta=1e-6)
    with pytest.raises(InvalidInput, match="no certificate by distance"):
        pramble.certify(pramble.design_tables({"a": 2}, 1.0, 1e-6, tables=1), distance=3)


@pytest.mark.slow
def test_the_concave_bound_of_triples_is_above():
    sizes = dict(zip(NAMES, range(2, 13), strict=False))
    precision = pramble.design_tables(sizes, 1.0, 1e-6, tables=3).plan.precision
    true = shift_of(sizes, precision).bound
    with pytest.MonkeyPatch.context() as patch:
        coarse(patch)
        bound = shift_of(sizes, precision).bound
    assert true <= bound <= true * Fraction(6, 5)

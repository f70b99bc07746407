"""Protected tables: unbiased, of the stated precision, exact at any size, read back."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2
from tests.tables.people import assert_same

import pramble

LABELS = {"a": ["x", None, "z"], "b": [5, 1], "c": 4}


def data(rows=500):
    rng = np.random.default_rng(3)
    return {
        name: [list(range(own) if isinstance(own, int) else own)[i] for i in codes.tolist()]
        for name, own in LABELS.items()
        for codes in [rng.integers(0, own if isinstance(own, int) else len(own), rows)]
    }


def design(**more):
    return pramble.design_tables(LABELS, 1.0, 1e-6, **more)


def true_table(columns):
    labels = [list(range(own)) if isinstance(own, int) else own for own in LABELS.values()]
    by_name = dict(zip(LABELS, labels, strict=True))
    found = np.zeros([len(by_name[name]) for name in columns])
    for row in zip(*(data()[name] for name in columns), strict=True):
        found[tuple(by_name[name].index(one) for name, one in zip(columns, row, strict=True))] += 1
    return found


@pytest.fixture(scope="module")
def releases():
    rng = np.random.default_rng(5)
    plan = design(tables=[("a", "b", "c")]).plan
    return plan, [pramble.measure(data(), plan, key=rng.bytes(32)) for _ in range(400)]


@pytest.mark.parametrize("table", ["a", "b", "c", "ab", "ca", "bc", "abc", "cab"])
def test_tables_are_unbiased_and_as_precise_as_is_said(releases, table):
    plan, found = releases
    errors = np.array([one.table(list(table)) for one in found]) - true_table(table)
    variance = plan.cell_variance(plan.ordered(list(table)))
    many = len(found)
    assert np.abs(errors.mean(axis=0)).max() < 4.5 * np.sqrt(variance / many)
    squares = (errors**2).sum(axis=0) / variance
    low, high = chi2.ppf([1e-5, 1 - 1e-5], many)
    assert np.all((squares > low) & (squares < high))
    if len(table) == 3:  # over all cells together, whose errors hardly depend on each other
        assert abs(squares.mean() / many - 1) < 0.07


def test_tables_agree_with_each_other(releases):
    for one in releases[1][:5]:
        whole = one.table(["a", "b", "c"])
        assert np.allclose(one.table(["b"]), whole.sum(axis=(0, 2)))
        assert np.allclose(one.table(["c", "a"]), whole.sum(axis=1).T)
        assert np.isclose(whole.sum(), one.total)


def test_one_part_serves_all_tables_that_hold_it():
    wide = pramble.measure(data(), design(tables=[("a", "b"), ("a", "c")]), key=bytes(32))
    assert np.allclose(wide.table(["a", "b"]).sum(axis=1), wide.table(["a", "c"]).sum(axis=1))


def test_tiny_promises_need_whole_numbers_of_any_size():
    plan = pramble.design_tables({"a": 30, "b": 20}, 1.0, 1e-6, tables=2).plan
    loud = replace(plan, precision=dict.fromkeys(plan.precision, 1e-30))
    found = pramble.measure({"a": [0], "b": [0]}, loud, key=bytes(32))
    assert found.parts["a", "b"].dtype == object
    table = found.table(["a", "b"])
    assert 0.8 < table.std() / np.sqrt(loud.cell_variance(("a", "b"))) < 1.2
    assert_same(pramble.Measured.from_table(found.to_table(), loud, found.total), found)


@pytest.mark.slow
def test_a_table_of_eight_million_cells():
    sizes = {"a": 200, "b": 200, "c": 200}
    plan = pramble.design_tables(sizes, 1.0, 1e-6, tables=3).plan
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 200, 10**6) for name in sizes}
    found = pramble.measure(rows, plan, key=bytes(32))
    table = found.table(list(sizes))
    true = np.zeros((200, 200, 200))
    np.add.at(true, tuple(rows.values()), 1)
    deviation = np.sqrt(plan.cell_variance(("a", "b", "c")))
    assert abs((table - true).std() / deviation - 1) < 1e-2


@pytest.fixture(scope="module")
def found():
    return pramble.measure(data(), design(), key=bytes(32))


def test_the_tidy_table_has_a_row_for_each_cell(found):
    table = found.to_table()
    assert table.column_names == ["table", "a", "b", "c", "count", "deviation", "residual"]
    assert table.num_rows == 3 + 2 + 4 + 6 + 12 + 8
    frame = pl.from_arrow(table)
    own = frame.filter(table="a × c")
    assert own["count"].to_list() == found.table(["a", "c"]).ravel().tolist()
    assert own["c"].to_list() == [0, 1, 2, 3] * 3
    assert own["a"].to_list() == ["x"] * 4 + [None] * 4 + ["z"] * 4
    assert own["b"].null_count() == 12
    assert own["deviation"].unique().to_list() == [
        pytest.approx(found.plan.cell_variance(("a", "c")) ** 0.5)
    ]
    residuals = [Fraction(int(one), 12 * 12) for one in own["residual"]]
    assert sum(residuals) == 0


ROUNDS = {
    "as it is": lambda table, _: table,
    "parquet": lambda table, path: (pq.write_table(table, path), pq.read_table(path))[1],
    "feather": lambda table, path: (
        pa.feather.write_feather(table, path),
        pa.feather.read_table(path),
    )[1],
    "polars": lambda table, _: pl.from_arrow(table).to_arrow(),
    "pandas": lambda table, _: pa.Table.from_pandas(table.to_pandas(), preserve_index=False),
    "texts": lambda table, _: table.set_column(6, "residual", table["residual"].cast(pa.string())),
    "integers": lambda table, _: table.set_column(
        6, "residual", table["residual"].cast(pa.int64())
    ),
}


@pytest.mark.parametrize("way", ROUNDS)
def test_tables_are_read_back_exactly(found, way, tmp_path):
    table = ROUNDS[way](found.to_table(), tmp_path / "file")
    again = pramble.Measured.from_table(table, found.plan, found.total)
    assert_same(again, found)
    assert all(again.parts[part].dtype == found.parts[part].dtype for part in found.parts)


def changed(table, name, row, new):
    values = table[name].to_pylist()
    values[row] = new(values[row])
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table[name].type))


BROKEN = {
    "another count": (lambda t: changed(t, "count", 7, lambda x: x + 1e-3), "'count'.*row 7"),
    "no count": (lambda t: changed(t, "count", 7, lambda _: None), "'count'.*row 7"),
    "another deviation": (lambda t: changed(t, "deviation", 3, lambda x: x * 1.01), "'deviation'"),
    "another residual": (lambda t: changed(t, "residual", 3, lambda x: x + 1), "sum to zero"),
    "no residual": (lambda t: changed(t, "residual", 3, lambda _: None), "none missing"),
    "another label": (lambda t: changed(t, "a", 0, lambda _: "q"), "'a'.*'x' in row 0.*'q'"),
    "another table": (lambda t: changed(t, "table", 1, lambda _: "b"), "'table'.*row 1"),
    "a cell less": (lambda t: t.slice(1), "35 cells; found 34"),
    "a cell more": (lambda t: pa.concat_tables([t, t.slice(0, 1)]), "35 cells; found 36"),
    "another order": (lambda t: t.take(list(range(34, -1, -1))), "order"),
    "a column less": (lambda t: t.drop_columns(["deviation"]), "have the columns"),
    "a column more": (lambda t: t.append_column("id", t["count"]), "have the columns"),
    "rounded residuals": (
        lambda t: t.set_column(6, "residual", t["residual"].cast(pa.float64())), "rounded"
    ),
    "labels of another type": (
        lambda t: t.set_column(2, "b", pa.array([None] * 34 + ["five"])), "'b'.*int64"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_tables_that_contradict_themselves_are_refused(found, what):
    breaks, message = BROKEN[what]
    with pytest.raises(pramble.InvalidData, match=message):
        pramble.Measured.from_table(breaks(found.to_table()), found.plan, found.total)


def test_another_total_is_refused(found):
    with pytest.raises(pramble.InvalidData, match="count"):
        pramble.Measured.from_table(found.to_table(), found.plan, found.total + 1)


def test_columns_that_are_called_as_ours_keep_their_names():
    names = ["table", "count", "deviation", "residual", "table_"]
    plan = pramble.design_tables(dict.fromkeys(names, 2), 1.0, 1e-6).plan
    measured = pramble.measure({name: [0, 1] for name in names}, plan)
    table = measured.to_table()
    assert table.column_names == [
        "table__", *names, "count_", "deviation_", "residual_"
    ]  # fmt: skip
    assert_same(pramble.Measured.from_table(table, plan, measured.total), measured)


def test_arrays_of_a_release_are_not_written(found):
    for numbers in found.parts.values():
        with pytest.raises(ValueError, match="read-only"):
            numbers.flat[0] = 1


def test_integers_are_wide_only_where_they_must_be():
    """The type of the numbers follows from the numbers alone, not from how they were computed."""
    plan = pramble.design_tables({"a": 2}, 1.0, 1e-6, tables=1).plan
    for largest, kind in ((2**61, np.int64), (2**62, object), (2**63, object)):
        parts = {("a",): np.array([largest, -largest], dtype=object)}
        assert pramble.Measured(plan, 5, parts).parts["a",].dtype == kind
    with pytest.raises(pramble.InvalidData, match="sum to zero"):
        pramble.Measured(plan, 5, {("a",): np.array([2**62, 2**62], dtype=np.int64)})


def test_progress_is_told():
    told = []
    pramble.measure(data(), design(), progress=told.append)
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {one.what for one in told} == {"counting", "adding noise", "done"}


@pytest.mark.parametrize("more", [{}, {"rows_per_person": 2}])
def test_covariances_of_cells_are_those_of_queries(more):
    found = pramble.measure(data(), design(tables=[("a", "b", "c")], **more), key=bytes(32))
    whole = pramble.estimate(found, by=["a", "b", "c"])
    w = np.random.default_rng(2).normal(size=(3, *found.table(("a", "b", "c")).shape))
    asked = pramble.estimate(
        found, by=["a", "b", "c"], query={str(i): own for i, own in enumerate(w)}
    )
    flat = w.reshape(3, -1)
    assert asked.covariance == pytest.approx(flat @ whole.covariance @ flat.T)

"""One cross-tabulation, whatever holds the records."""

from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.data.crosstab import crosstab, reordered
from pramble.data.labels import as_labels
from pramble.data.open import open_records
from pramble.errors import InvalidData

RNG = np.random.default_rng(3)
N = 5000
TABLE = pa.table(
    {
        "sex": RNG.choice(["f", "m", None], N, p=[0.5, 0.4, 0.1]),
        "age": RNG.integers(1, 13, N),
        "w": RNG.random(N) + 0.5,
        "y": RNG.normal(size=N),
    }
)
POWERS = [(0, 0), (1, 0), (2, 0), (1, 1), (2, 2)]


def doors(tmp_path):
    path = tmp_path / "t.csv"
    pl.from_arrow(TABLE).write_csv(path)
    relation = duckdb.connect().from_arrow(TABLE)
    return {
        "arrow": TABLE,
        "polars": pl.from_arrow(TABLE),
        "lazy": pl.from_arrow(TABLE).lazy(),
        "pandas": TABLE.to_pandas(),
        "duckdb": relation,
        "stream": TABLE.to_reader(700),
        "csv": path,
        "mapping": TABLE.to_pydict(),
    }


def test_a_table_of_no_columns_counts_the_rows(tmp_path):
    for door, data in doors(tmp_path).items():
        assert crosstab(open_records(data), []).n == N, door


def test_every_door_gives_the_same_table(tmp_path):
    rows = list(zip(*(TABLE[name].to_pylist() for name in ("sex", "age")), strict=True))
    expected = Counter(rows)
    for door, data in doors(tmp_path).items():
        table = crosstab(
            open_records(data), ["sex", "age"], weights="w", measure="y", powers=POWERS
        )
        assert table.levels == (("f", "m", None), tuple(range(1, 13))), door
        got = {table.labels_of(c): int(n) for c, n in enumerate(table.counts)}
        assert got == expected, door
        w, y = TABLE["w"].to_numpy(), TABLE["y"].to_numpy()
        cell = np.array([list(expected).index(row) for row in rows])
        order = [list(expected).index(table.labels_of(c)) for c in range(len(table.counts))]
        for a, b in POWERS:
            sums = np.bincount(cell, w**a * y**b)[order]
            np.testing.assert_allclose(table.sums[a, b], sums, rtol=1e-9, err_msg=door)


def test_rows_know_their_cell(tmp_path):
    for door, data in doors(tmp_path).items():
        table = crosstab(open_records(data), ["age", "sex"], keep_rows=True)
        labels = [table.labels_of(cell) for cell in table.cell_of]
        assert labels == list(
            zip(TABLE["age"].to_pylist(), TABLE["sex"].to_pylist(), strict=True)
        ), door


def test_declared_labels_are_kept_in_their_order_and_others_refused():
    records = open_records({"a": ["x", "y", "x"]})
    table = crosstab(records, ["a"], labels={"a": as_labels(["y", "z", "x"])})
    assert table.levels == (("y", "z", "x"),)
    assert table.array().tolist() == [1, 0, 2]
    with pytest.raises(InvalidData, match=r"Column 'a' must hold declared categories .* 2 rows"):
        crosstab(records, ["a"], labels={"a": as_labels(["y", "z"])})


def test_ordered_categoricals_and_enums_keep_their_order():
    order = ["low", "middle", "high"]
    values = ["high", "low", "low"]
    frame = pd.DataFrame({"a": pd.Categorical(values, categories=order, ordered=True)})
    enum = pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(order))})
    for data in (frame, enum, enum.lazy(), pa.Table.from_pandas(frame)):
        assert crosstab(open_records(data), ["a"]).levels == (tuple(order),)


def test_unordered_categories_tell_nothing_of_first_appearance():
    frame = pl.DataFrame({"a": pl.Series(["z", "a", "m"], dtype=pl.Categorical)})
    assert crosstab(open_records(frame), ["a"]).levels == (("a", "m", "z"),)


def test_labels_of_several_types_stay_apart():
    table = crosstab(open_records({"a": [1, "1", True, None, 1.0, float("nan")]}), ["a"])
    found = [(type(label).__name__, label) for label in table.levels[0]]
    assert found == [("bool", True), ("int", 1), ("str", "1"), ("NoneType", None)]
    assert table.counts.tolist() == [1, 2, 1, 2]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.integers(-3, 3), st.booleans()),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 20),
)
def test_batches_do_not_matter(rows, size):
    table = pa.table(dict(zip("xyz", zip(*rows, strict=True), strict=True)))
    whole = crosstab(open_records(table), ["x", "y", "z"], keep_rows=True)
    parts = crosstab(open_records(table.to_reader(size)), ["x", "y", "z"], keep_rows=True)
    assert whole.levels == parts.levels
    np.testing.assert_array_equal(whole.cells, parts.cells)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    np.testing.assert_array_equal(whole.cell_of, parts.cell_of)
    assert Counter(rows) == {whole.labels_of(c): n for c, n in enumerate(whole.counts.tolist())}
    fewer = reordered(whole, ["z", "x"])
    assert Counter((z, x) for x, _, z in rows) == {
        fewer.labels_of(c): n for c, n in enumerate(fewer.counts.tolist())
    }


def test_numbers_that_are_none_are_refused_by_row_not_value():
    records = open_records({"a": ["x", "y"], "w": ["3", "secret"]})
    with pytest.raises(InvalidData, match="Column 'w' must hold numbers") as error:
        crosstab(records, ["a"], weights="w", powers=[(1, 0)])
    assert "secret" not in str(error.value)

"""Everything that holds records opens as the same records."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.reading import levels

import pramble

COLUMNS = {"sex": ["f", "m", "f", None], "age": [3, 10, 9, 3]}
TABLE = pa.table(COLUMNS)
HOLDERS = {
    "mapping": lambda: COLUMNS,
    "arrays": lambda: {"sex": pa.array(COLUMNS["sex"]), "age": np.array(COLUMNS["age"])},
    "series": lambda: {name: pl.Series(values) for name, values in COLUMNS.items()},
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda: pd.DataFrame(COLUMNS, index=[5, 3, 9, 1]),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"sex": "category"}),
    "pandas floats": lambda: pd.DataFrame(COLUMNS).astype({"age": float}),
    "pandas nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.DataFrame(COLUMNS).lazy(),
    "polars categories": lambda: pl.DataFrame(COLUMNS, schema_overrides={"sex": pl.Categorical}),
    "pyarrow": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "views": lambda: pa.table(pl.DataFrame(COLUMNS)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_holder_gives_the_same_counts(holder):
    assert levels(HOLDERS[holder](), "sex") == {"f": 2, "m": 1, None: 1}
    assert list(levels(HOLDERS[holder](), "age").items()) == [(3, 2), (9, 1), (10, 1)]


@pytest.mark.parametrize("lazy", [False, True])
def test_an_enumeration_keeps_its_order(lazy):
    frame = pl.DataFrame({"s": ["b", "a"]}, schema={"s": pl.Enum(["z", "b", "a"])})
    found = levels(frame.lazy() if lazy else frame, "s")
    assert list(found.items()) == [("b", 1), ("a", 1)], "not the order of the alphabet"


@pytest.mark.parametrize("wrong", [None, float("nan")])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_weight_that_is_no_number_is_refused_everywhere(lazy, wrong):
    frame = pl.DataFrame({"s": ["a", "b"], "w": [1.0, wrong]})
    with pytest.raises(pramble.InvalidData, match="finite"):
        pramble.estimate(frame.lazy() if lazy else frame, {}, by="s", weights="w")


def test_files_count_as_what_they_were_written_from(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("sex,age\nf,3\nm,10\nf,9\n,3\n")
    for data in (COLUMNS, tmp_path / "a.parquet", tmp_path / "a.csv"):
        assert levels(data, "sex") == {"f": 2, "m": 1, None: 1}
        assert levels(data, "age") == {3: 2, 9: 1, 10: 1}

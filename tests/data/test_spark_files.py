"""Rows of Parquet files by their numbers, as tasks on Spark read them; no Spark is needed here."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramble.data.open import open_records
from pramble.data.remote import ON_SPARK, on_spark
from pramble.spark.files import rows_between

TABLE = pa.table({"n": np.arange(1000), "sex": ["f", "m"] * 500})


@pytest.fixture
def folder(tmp_path):
    """Three files: row groups of several sizes, none, and numbers that take less room."""
    pq.write_table(TABLE[:430], tmp_path / "a.parquet", row_group_size=100)
    pq.write_table(TABLE[:0], tmp_path / "b.parquet")
    narrow = TABLE[430:].set_column(0, "n", TABLE["n"][430:].cast(pa.int32()))
    pq.write_table(narrow, tmp_path / "c.parquet", row_group_size=64)
    return tmp_path


@pytest.mark.parametrize(
    "rows", [range(1000), range(1), range(99, 101), range(350, 700), range(430, 494), range(0)]
)
def test_any_rows_are_read_as_one_machine_reads_them(folder, rows):
    files = open_records(folder)
    abouts = [pq.read_metadata(path) for path in files.paths]
    groups = [
        tuple(about.row_group(i).num_rows for i in range(about.num_row_groups)) for about in abouts
    ]
    assert groups[0] == (100, 100, 100, 100, 30)
    found = list(rows_between(files, groups, ("sex", "n"), ("sex",), rows))
    whole = [n for batch in found for n in batch["n"].to_pylist()]
    assert whole == list(rows)
    assert all(batch["n"].type == pa.int64() for batch in found)
    assert [s for batch in found for s in batch["sex"].to_pylist()] == ["fm"[n % 2] for n in rows]


@pytest.mark.parametrize("name", ON_SPARK)
def test_what_works_on_spark_is_where_it_is_listed(name):
    assert callable(on_spark(name))

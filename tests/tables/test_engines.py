"""The released bytes are the same whatever holds the rows."""

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.tables.people import KEY, LABELS, assert_same, design

import pramble

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning:ibis"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


def shuffled(table):
    order = np.random.default_rng(1).permutation(len(table))
    return table.take(pa.array(order))


def in_batches(table):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700))


def narrow(table):
    """The same values in other types: dictionaries, small integers, whole floats."""
    frame = table.to_pandas()
    return frame.assign(
        sex=frame["sex"].astype("category"),
        age=frame["age"].astype("int8"),
        job=frame["job"].astype("float32"),
        id=frame["id"].astype("int32"),
    )


def in_csv(table, folder):
    # an empty text and a missing value look the same in text: they are told apart by quotes
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


def in_parquet(table, folder):
    pq.write_table(table, folder / "rows.parquet", row_group_size=1000)
    return folder / "rows.parquet"


def in_folder(table, folder):
    (folder / "many").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 1000, 1000), folder / "many" / f"{i}.parquet")
    return folder / "many"


def in_duckdb(table, folder):
    return duckdb.from_arrow(table)


def in_ibis(table, folder):
    import ibis

    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE people AS SELECT * FROM '{in_parquet(table, folder)}'")
    return connection.table("people")


def in_sqlite(table, folder):
    import ibis

    with closing(sqlite3.connect(folder / "rows.db")) as file, file:
        frame = table.to_pandas().astype({"job": "Int64"})
        frame.to_sql("people", file, index=False, dtype={"ill": "BOOLEAN"})
    return ibis.sqlite.connect(folder / "rows.db").table("people")


WAYS = {
    "mapping": lambda table, _: table.to_pydict(),
    "arrow": lambda table, _: table,
    "another order": lambda table, _: shuffled(table),
    "reader": lambda table, _: in_batches(table),
    "pandas": lambda table, _: table.to_pandas(),
    "other types": lambda table, _: narrow(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "polars scan": lambda table, folder: pl.scan_parquet(in_parquet(table, folder)),
    "parquet": in_parquet,
    "folder": in_folder,
    "csv": in_csv,
    "duckdb": in_duckdb,
    "ibis duckdb": in_ibis,
    "ibis expression": lambda table, folder: in_ibis(table, folder).filter(lambda t: t.age < 99),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("person", [None, "id"])
def test_the_released_bytes_are_the_same_whatever_the_engine(
    table, expected, way, person, tmp_path
):
    source = WAYS[way](table, tmp_path)
    found = pramble.measure(source, design(2), key=KEY, person=person)
    assert_same(found, expected[person])


def test_a_database_in_a_file_is_counted_too(table, expected, tmp_path):
    pytest.importorskip("regex", reason="needs ibis-framework[sqlite]")
    assert_same(pramble.measure(in_sqlite(table, tmp_path), design(2), key=KEY), expected[None])


@pytest.mark.parametrize("way", ["mapping", "arrow", "polars lazy", "duckdb", "csv", "ibis duckdb"])
@pytest.mark.parametrize("person", [None, "id"])
def test_no_rows_are_measured_too(table, way, person, tmp_path):
    none = WAYS[way](table.slice(0, 0), tmp_path)
    found = pramble.measure(none, design(1), key=KEY, person=person)
    assert found.total == 0
    assert_same(found, pramble.measure(table.slice(0, 0), design(1), key=KEY))
    assert any(np.any(part) for part in found.parts.values())


@pytest.mark.parametrize("way", ["arrow", "polars lazy", "duckdb"])
def test_wide_tables_are_counted_alike(table, way, tmp_path):
    wide = design(1, tables=[tuple(LABELS)])
    found = pramble.measure(WAYS[way](table, tmp_path), wide, key=KEY)
    assert_same(found, pramble.measure(table.to_pandas(), wide, key=KEY))


def test_rows_are_named_where_they_have_places(table):
    plan = pramble.design_tables({"age": 6, "sex": ["f", "m"]}, 1.0, 1e-6)
    first = table["age"].to_pylist().index(6)
    for person in (None, "id"):
        with pytest.raises(pramble.InvalidData, match=rf"'age'.*\(row {first}, ") as error:
            pramble.measure(table, plan, person=person)
        assert f"row {first}: 6" in error.value.values


def test_missing_columns_are_named(table):
    plan = pramble.design_tables({"age": 7, "shoe": 2}, 1.0, 1e-6)
    with pytest.raises(pramble.InvalidData, match="shoe"):
        pramble.measure(table, plan)
    with pytest.raises(pramble.InvalidData, match="nobody"):
        pramble.measure(table, design(), person="nobody")


def test_only_designs_of_tables_are_taken(table):
    with pytest.raises(pramble.InvalidInput, match="design_tables"):
        pramble.measure(table, pramble.randomized_response(2, 1.0))
    plan = design().plan
    assert_same(pramble.measure(table, plan, key=KEY), pramble.measure(table, design(), key=KEY))

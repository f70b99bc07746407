"""Files that tasks on Spark read by row numbers and randomise, as a frame."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine import plans
from tests.spark.test_perturb import FRAME, KEY, PLAN, RELEASED, N, partitions

import pramble
from pramble.spark.files import fitted


@pytest.fixture
def folder(tmp_path):
    """The people in three files of uneven blocks; the order of names is that of the rows."""
    (tmp_path / "in").mkdir()
    for place, (start, stop) in enumerate(((0, 1234), (1234, 1300), (1300, N))):
        FRAME[start:stop].to_parquet(tmp_path / "in" / f"part-{place}.parquet", row_group_size=311)
    return tmp_path / "in"


def test_it_is_the_release_of_one_machine(spark, folder, monkeypatch):
    monkeypatch.setattr("pramble.spark.files.partition_rows", lambda columns: 700)
    out = pramble.perturb(folder, PLAN, key=KEY, spark=spark)
    found = out.toArrow()
    assert found.to_pydict() == RELEASED.to_dict("list")
    assert partitions(out) == 6
    assert out.toArrow() == found
    pramble.perturb_file(folder, folder.with_name("out.parquet"), PLAN, key=KEY)
    whole = pq.read_table(folder.with_name("out.parquet")).select(found.column_names)
    assert whole.to_pydict() == found.to_pydict()


def test_rows_may_begin_at_any_number(sessions, folder):
    first = 1 << 61
    out = pramble.perturb(str(folder), PLAN, key=KEY, first_row=first, spark=sessions["classic"])
    whole = pramble.perturb(FRAME, PLAN, key=KEY, first_row=first)
    assert out.toArrow().to_pydict() == whole.to_dict("list")


def test_partitions_do_not_tell_true_values(sessions, tmp_path, monkeypatch):
    """Blocks of files may end where values say; what is released ends where numbers say."""
    monkeypatch.setattr("pramble.spark.files.partition_rows", lambda columns: 700)
    blind = pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5]], categories=["f", "m"])
    files = []
    for name, size in (("a", 17), ("b", 999)):
        people = FRAME.assign(sex="f" if name == "a" else "m")
        people.to_parquet(tmp_path / f"{name}.parquet", row_group_size=size)
        out = pramble.perturb(
            tmp_path / f"{name}.parquet", {"sex": blind}, key=KEY, spark=sessions["classic"]
        )
        out.write.parquet(str(tmp_path / f"{name}-out"))
        parts = sorted((tmp_path / f"{name}-out").glob("part-*.parquet"))
        files.append([part.read_bytes() for part in parts])
    assert files[0] == files[1]
    assert [pq.read_metadata(part).num_rows for part in parts] == [700] * 5 + [500]


def test_plans_of_branches_and_blocks(spark, tmp_path):
    table = plans.TABLE.set_column(3, "area", plans.TABLE["area"].cast("string"))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    out = pramble.perturb(tmp_path / "in.parquet", plans.PLAN, key=KEY, spark=spark).toArrow()
    whole = pramble.perturb(table, plans.PLAN, key=KEY)
    assert plans.columns_of(plans.PLAN, out) == plans.columns_of(plans.PLAN, whole)


def test_columns_left_alone_keep_their_values(sessions, tmp_path):
    when = pd.Timestamp("2020-01-01 12:00:00.123456")
    table = pa.table(
        {
            "sex": ["f", "m"],
            "t": pa.array([when, None], pa.timestamp("ns")),
            "z": pa.array([when, None], pa.timestamp("us", "Europe/Vienna")),
            "d": pa.array([when.date(), None]),
            "c": pa.array(["x", None]).dictionary_encode(),
            "l": pa.array([[1], None]),
            "b": pa.array([b"b", None], pa.large_binary()),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", coerce_timestamps=None)
    out = pramble.perturb(
        tmp_path / "in.parquet", {"sex": PLAN["sex"]}, spark=sessions["classic"]
    ).toArrow()
    for name in table.column_names[1:]:
        assert out[name].to_pylist() == table[name].to_pylist(), name


def test_files_that_were_written_anew_are_refused(sessions, folder):
    out = pramble.perturb(folder, PLAN, key=KEY, spark=sessions["classic"])
    first = out.toArrow()
    assert out.toArrow() == first
    last = folder / "part-2.parquet"
    other = np.where(FRAME["sex"] == "f", "m", "f")[1300:]
    FRAME[1300:].assign(sex=other).to_parquet(last, row_group_size=311)
    with pytest.raises(Exception, match=r"part-2\.parquet was written again after perturb was"):
        out.toArrow()


def test_times_that_spark_cannot_hold_are_told_of():
    fine = pa.array([1_000_000_001], pa.timestamp("ns"))
    assert fitted(fine, pa.field("t", pa.timestamp("ns"))).equals(fine)
    with pytest.raises(pramble.InvalidData, match=r"'t' has values that do not fit into timestamp"):
        fitted(fine, pa.field("t", pa.timestamp("us")))


def test_what_is_refused_is_told_when_perturb_is_called(spark, folder, tmp_path):
    bad = FRAME.assign(sex=np.where(FRAME["id"] % 1999 == 1500, "x", FRAME["sex"]))
    bad.to_parquet(tmp_path / "bad.parquet", row_group_size=400)
    with pytest.raises(
        pramble.InvalidData, match=r"Column 'sex' must hold .* 2 rows do not \(row 1500, row 3499\)"
    ):
        pramble.perturb(tmp_path / "bad.parquet", PLAN, spark=spark)
    with pytest.raises(pramble.InvalidPlan, match="'nowhere' is missing"):
        pramble.perturb(folder, {"nowhere": PLAN["sex"]}, spark=spark)
    with pytest.raises(pramble.InvalidInput, match="a Spark frame has its session already"):
        pramble.perturb(FRAME, PLAN, spark=spark)
    for wrong in ({"row_number": "id"}, {"column": "sex"}):
        with pytest.raises(pramble.InvalidInput, match="rows of files are numbered in order"):
            pramble.perturb(folder, PLAN, spark=spark, **wrong)
    with pytest.raises(pramble.InvalidInput, match="one mechanism"):
        pramble.perturb(folder, PLAN["sex"], spark=spark)
    pq.write_table(
        pa.table({"sex": ["f"], "u": pa.array([1], pa.uint64())}), tmp_path / "u.parquet"
    )
    with pytest.raises(pramble.InvalidData, match=r"'u' is of type uint64, which Spark has no"):
        pramble.perturb(tmp_path / "u.parquet", {"sex": PLAN["sex"]}, spark=spark)

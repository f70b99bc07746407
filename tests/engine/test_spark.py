"""Spark: the same bits as on one machine, however the rows are partitioned."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from tests.engine import plans

import pramble

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KEY = bytes(range(32))
N = 4000
RNG = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {
        "id": np.arange(N),
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(0, 5, N).astype(np.int16),
        "kept": RNG.random(N),
    }
)
PLAN = {
    "sex": pramble.randomized_response(["f", "m"], 1.0),
    "age": pramble.randomized_response(5, 1.0),
}
RELEASED = pramble.perturb(FRAME, PLAN, key=KEY)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    import shutil

    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("needs the program 'java'; `make setup` installs it")
        pytest.skip("needs the program 'java'; `make setup` installs it")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "700m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_rows_are_numbered_as_they_stand(spark, tmp_path):
    FRAME.to_parquet(tmp_path / "part-0.parquet", row_group_size=500)
    read = spark.read.parquet(str(tmp_path))
    assert read.rdd.getNumPartitions() == 1
    local = spark.createDataFrame(FRAME)
    assert local.rdd.getNumPartitions() == 2
    for frame in (read, local):
        out = pramble.perturb(frame, PLAN, key=KEY)
        assert out.schema == frame.schema
        assert out.toPandas().equals(RELEASED)


@pytest.mark.parametrize("row_number", [None, "id"])
def test_partitions_and_files_do_not_tell_true_values(spark, tmp_path, monkeypatch, row_number):
    """A text source is split by bytes: longer labels moved the ends of partitions."""
    monkeypatch.setattr("pramble.engine.spark.BATCH_ROWS", 700)
    monkeypatch.setattr(
        "pramble.engine.block.Block.draw", lambda self, codes, rows: np.zeros_like(codes)
    )
    long = "m" * 300
    plan = {"sex": pramble.randomized_response(["f", long], 1.0)}
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    shapes, sources = [], []
    for name, share in (("a", 0.1), ("b", 0.9)):
        sex = np.where(np.arange(N) < share * N, long, "f")
        FRAME.assign(sex=sex).to_csv(tmp_path / f"{name}.csv", index=False)
        frame = spark.read.csv(str(tmp_path / f"{name}.csv"), header=True, inferSchema=True)
        sources.append(frame.rdd.getNumPartitions())
        out = pramble.perturb(frame, plan, key=KEY, row_number=row_number)
        out.write.parquet(str(tmp_path / f"{name}-out"))
        parts = sorted((tmp_path / f"{name}-out").glob("part-*.parquet"))
        shapes.append([pd.read_parquet(part)["id"].tolist() for part in parts])
    assert sources[0] != sources[1]  # the source does tell
    assert shapes[0] == shapes[1]
    assert [len(part) for part in shapes[0]] == [700] * 5 + [500]
    assert [i for part in shapes[0] for i in part] == list(range(N))


def test_a_column_of_numbers_makes_partitions_irrelevant(spark):
    shuffled = spark.createDataFrame(FRAME).repartition(5, "kept")
    out = pramble.perturb(shuffled, PLAN, key=KEY, row_number="id").toPandas()
    assert shuffled.toPandas()["id"].tolist() != FRAME["id"].tolist()
    assert out.equals(RELEASED)  # in the order of the numbers, however the rows came


@pytest.mark.parametrize("row_number", [None, "id"])
def test_plans_of_branches_and_blocks_give_the_release_of_one_machine(spark, row_number):
    table = plans.TABLE.set_column(3, "area", plans.TABLE["area"].cast("string"))
    frame = spark.createDataFrame(table)
    if row_number is not None:
        frame = frame.repartition(5, "kept")
    out = pramble.perturb(frame, plans.PLAN, key=KEY, row_number=row_number)
    assert out.schema == frame.schema
    whole = pramble.perturb(table, plans.PLAN, key=KEY)
    assert plans.columns_of(plans.PLAN, out.toArrow()) == plans.columns_of(plans.PLAN, whole)


def test_columns_left_alone_keep_any_type(spark):
    frame = spark.sql(
        "select 'f' sex, 1L id, timestamp '2020-01-01' t, timestamp_ntz '2020-01-01' n, array(1) a,"
        " cast(1 as decimal(9, 2)) d, struct(1 x, 'y' y) s, interval '1' day i, binary('b') b"
    )
    out = pramble.perturb(frame, {"sex": PLAN["sex"]}, key=KEY, row_number="id")
    assert out.schema == frame.schema
    kept = ["t", "n", "a", "d", "s", "i", "b"]
    assert out.select(kept).collect() == frame.select(kept).collect()


def test_a_frame_is_one_release_however_often_it_is_evaluated(spark):
    out = pramble.perturb(spark.createDataFrame(FRAME), PLAN)
    first = out.toPandas()
    assert out.toPandas().equals(first)
    assert out.filter("id % 10 = 3").toPandas()["sex"].tolist() == first["sex"][3::10].tolist()


def test_undeclared_values_and_moved_rows_are_named(spark):
    from pyspark.errors import PythonException

    from pramble.engine.record import as_record
    from pramble.engine.spark import by_position

    bad = spark.createDataFrame(FRAME.assign(sex=["x", *FRAME["sex"][1:]]))
    with pytest.raises(PythonException, match="row 0"):
        pramble.perturb(bad, PLAN).toPandas()
    with pytest.raises(pramble.InvalidPlan, match="'nowhere' is missing"):
        pramble.perturb(bad, {"nowhere": PLAN["sex"]})
    batches = spark.createDataFrame(FRAME).toArrow().to_batches()
    for counted in (N - 1, N + 1):
        task = by_position(as_record(KEY, PLAN, threads=1), {0: (0, counted)}, "number")
        with pytest.raises(pramble.InvalidData, match=f"partition 0 had {counted} rows"):
            list(task(batches))

"""Spark: the same bits as on one machine, however the rows are partitioned."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.engine import plans

import pramble
from pramble.data.arrays import even_batches
from pramble.engine.record import bound_plan
from pramble.spark.frames import SparkDraws
from pramble.spark.records import SparkRecords

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


def frame_of(spark, table=None):
    """A Spark frame of a pandas one, by way of Arrow."""
    found = FRAME if table is None else table
    return spark.createDataFrame(pa.Table.from_pandas(found, preserve_index=False))


def partitions(frame):
    """How many partitions a frame has, as tasks meet them."""
    return len(SparkRecords(frame.select("sex")).spans)


def same(out, table):
    """Whether a Spark frame holds a pandas frame, row by row."""
    return out.toArrow().to_pydict() == table.to_dict("list")


def test_rows_are_numbered_as_they_stand(spark, tmp_path):
    FRAME.to_parquet(tmp_path / "part-0.parquet", row_group_size=500)
    read = spark.read.parquet(str(tmp_path))
    assert partitions(read) == 1
    local = frame_of(spark)
    assert partitions(local) == 2
    for frame in (read, local):
        out = pramble.perturb(frame, PLAN, key=KEY)
        assert out.schema == frame.schema
        assert same(out, RELEASED)


@pytest.mark.parametrize("row_number", [None, "id"])
def test_partitions_and_files_do_not_tell_true_values(spark, tmp_path, monkeypatch, row_number):
    """A text source is split by bytes: longer labels moved the ends of partitions."""
    monkeypatch.setattr("pramble.spark.frames.partition_rows", lambda columns: 700)
    long = "m" * 300
    blind = pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5]], categories=["f", long])
    plan = {"sex": blind}  # what it draws does not depend on the true value
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    shapes, sources, files = [], [], []
    for name, share in (("a", 0.1), ("b", 0.9)):
        sex = np.where(np.arange(N) < share * N, long, "f")
        FRAME.assign(sex=sex).to_csv(tmp_path / f"{name}.csv", index=False)
        frame = spark.read.csv(str(tmp_path / f"{name}.csv"), header=True, inferSchema=True)
        sources.append(partitions(frame))
        out = pramble.perturb(frame, plan, key=KEY, row_number=row_number)
        out.write.parquet(str(tmp_path / f"{name}-out"))
        parts = sorted((tmp_path / f"{name}-out").glob("part-*.parquet"))
        shapes.append([pd.read_parquet(part)["id"].tolist() for part in parts])
        files.append([part.read_bytes() for part in parts])
    assert sources[0] != sources[1]  # the source does tell
    assert shapes[0] == shapes[1]
    assert files[0] == files[1]
    assert [len(part) for part in shapes[0]] == [700] * 5 + [500]
    assert [i for part in shapes[0] for i in part] == list(range(N))


def test_a_column_of_numbers_makes_partitions_irrelevant(spark):
    shuffled = frame_of(spark).repartition(5, "kept")
    out = pramble.perturb(shuffled, PLAN, key=KEY, row_number="id")
    assert shuffled.toArrow()["id"].to_pylist() != FRAME["id"].tolist()
    assert same(out, RELEASED)  # in the order of the numbers, however the rows came


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
    out = pramble.perturb(frame_of(spark), PLAN)
    first = out.toArrow()
    assert out.toArrow() == first
    some = out.filter("id % 10 = 3").toArrow()
    assert some["sex"].to_pylist() == first["sex"].to_pylist()[3::10]


@pytest.mark.parametrize("row_number", [None, "id"])
def test_columns_of_any_name_and_kind_are_drawn_together(sessions, row_number):
    texts = {f"c.`{i}": RNG.choice(["a", "b", "c"], 300) for i in range(8)}
    table = pa.table({"id": np.arange(300), **texts, "age": RNG.integers(0, 5, 300)})
    plan = {name: pramble.randomized_response(["a", "b", "c"], 2.0) for name in texts}
    plan["age"] = PLAN["age"]
    frame = sessions["classic"].createDataFrame(table)
    out = pramble.perturb(frame, plan, key=KEY, row_number=row_number)
    assert out.toArrow().to_pydict() == pramble.perturb(table, plan, key=KEY).to_pydict()


def test_rows_may_begin_at_any_number(sessions):
    first = 1 << 61
    out = pramble.perturb(frame_of(sessions["classic"]), PLAN, key=KEY, first_row=first)
    assert same(out, pramble.perturb(FRAME, PLAN, key=KEY, first_row=first))


def test_undeclared_values_are_refused_when_perturb_is_called(spark):
    bad = frame_of(spark, FRAME.assign(sex=["x", None, *FRAME["sex"][2:]]))
    with pytest.raises(
        pramble.InvalidData, match=r"Column 'sex' must hold .* 2 rows do not\. Decl"
    ):
        pramble.perturb(bad, PLAN)
    with pytest.raises(pramble.InvalidPlan, match="'nowhere' is missing"):
        pramble.perturb(bad, {"nowhere": PLAN["sex"]})


def test_rows_that_moved_are_refused():
    record = bound_plan(KEY, PLAN, threads=1)
    columns = pa.table({"sex": FRAME["sex"], "age": FRAME["age"]})
    batches = columns.to_batches(max_chunksize=900)
    for counted in (N - 1, N + 1, N):
        task = SparkDraws(record, ("sex", "age"), {0: range(counted)})
        if counted != N:
            with pytest.raises(pramble.InvalidData, match=f"partition 0 had {counted} rows"):
                list(task(batches))
            continue
        drawn = pa.Table.from_batches(list(task(batches)))
        assert drawn["0"].to_pylist() == RELEASED["sex"].tolist()
        assert drawn["1"].to_pylist() == RELEASED["age"].tolist()
        assert drawn.columns[-1].to_pylist() == list(range(N))


def test_pieces_end_where_blocks_of_rows_end():
    table = pa.table({"a": range(950)})
    for size, first in ((33, 0), (100, 40), (950, 99), (1, 250)):
        pieces = list(
            even_batches(table.to_batches(max_chunksize=size), 100, first=100 - first % 100)
        )
        assert pa.Table.from_batches(pieces) == table
        ends = np.cumsum([first, *(piece.num_rows for piece in pieces)])
        assert not (ends[1:-1] % 100).any()
        assert (np.diff(ends) <= 100).all()

"""Scans of Spark frames: the figures of one machine, and no row leaves the workers."""

import numpy as np
import pyarrow as pa
import pytest

import pramble
from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.releasing.scan import count_columns
from pramble.releasing.spec.document import spec_from
from pramble.spark.records import SparkRecords
from pramble.values import Reporter

N = 3000
RNG = np.random.default_rng(8)
TABLE = pa.table(
    {
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(0, 12, N),
        "area": np.sort(RNG.choice([f"area {i}" for i in range(40)], N)),
        "w": 1 + RNG.random(N).round(3),
        "income": RNG.normal(1000, 200, N).round(2),
        "person": RNG.integers(0, N // 2, N),
    }
)
PLAN = {
    "sex": pramble.randomized_response(["f", "m"], 1.0),
    "age": pramble.randomized_response(12, 2.0),
}
KEYS = ["sex", "age", "area"]


@pytest.fixture
def frame(spark):
    """Two partitions, in the order of the table."""
    return spark.createDataFrame(TABLE)


@pytest.fixture
def rows_stay(monkeypatch):
    def refused(*args, **kwargs):
        pytest.fail("rows were asked for")

    monkeypatch.setattr(SparkRecords, "here", refused)


@pytest.mark.usefixtures("rows_stay")
def test_estimates_are_those_of_one_machine(frame):
    for asked in (
        {"by": ["sex"]},
        {"by": ["age", "sex"]},
        {"by": ["sex", "area"]},
        {"by": "sex", "weights": "w", "mean": "income"},
    ):
        ours, theirs = (pramble.estimate(data, PLAN, **asked).columns() for data in (frame, TABLE))
        assert ours.keys() == theirs.keys()
        for name, values in theirs.items():
            if isinstance(values[0], float):
                np.testing.assert_allclose(ours[name], values, rtol=1e-12, atol=1e-12)
            else:
                assert ours[name] == values


@pytest.mark.usefixtures("rows_stay")
def test_risks_are_those_of_one_machine_by_class(frame):
    ours, theirs = (
        pramble.assess(data, KEYS, population_size=30_000, model="independence")
        for data in (frame, TABLE)
    )
    assert (ours.n, ours.sample_uniques) == (theirs.n, theirs.sample_uniques)
    assert ours.table.levels == theirs.table.levels
    assert ours.table.cells.tolist() == theirs.table.cells.tolist()
    assert (ours.tau1, ours.tau2) == pytest.approx((theirs.tau1, theirs.tau2), rel=1e-12)
    assert ours.records["rows"].sum() == N
    np.testing.assert_allclose(ours.records["r2"][theirs.table.cell_of], theirs.records["r2"])
    after = [a.after(PLAN) for a in (ours, theirs)]
    assert after[0].worst == pytest.approx(after[1].worst, rel=1e-12)
    assert after[0].share_above(0.05) == pytest.approx(after[1].share_above(0.05), rel=1e-12)
    with pytest.raises(pramble.InvalidInput, match="stay where they are"):
        ours.riskiest()


@pytest.mark.usefixtures("rows_stay")
def test_weights_and_calibration_are_those_of_one_machine(frame):
    ours, theirs = (pramble.assess(data, KEYS, weights="w").summary() for data in (frame, TABLE))
    for name in ("n", "sample_uniques", "below_3"):
        assert ours[name] == theirs[name]
    for name in ("tau1", "tau2", "sum_of_individual_risk"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-11)
    given = {"population_size": 30_000, "column": "area", "model": "independence", "at_most": 20.0}
    found = [pramble.calibrate(data, KEYS, **given).alpha for data in (frame, TABLE)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


DECISIONS = {
    "alpha": 4.0,
    "person": "person",
    "columns": {"sex": {"categories": ["f", "m"]}, "age": {"bands": [0, 4, 8]}, "area": {}},
    "risk": {"keys": ["sex", "age"], "population_size": 30_000},
    "possible": [{"never": {"sex": "m", "age": "8+"}, "repair": {"age": "4-7"}}],
}


@pytest.mark.usefixtures("rows_stay")
def test_the_counts_of_a_release_are_those_of_one_machine(frame):
    spec = spec_from(DECISIONS, seen_allowed=True)
    told = []
    ours, theirs = (
        count_columns(
            spec.open(data),
            spec,
            tables=[("sex", "age"), ("age", "area")],
            reporter=Reporter(told.append),
        )
        for data in (frame, TABLE)
    )
    assert (ours.rows, ours.rows_per_person) == (theirs.rows, theirs.rows_per_person)
    for mine, other in zip(ours.columns, theirs.columns, strict=True):
        assert (mine.labels, mine.counts, mine.ordered) == (
            other.labels,
            other.counts,
            other.ordered,
        )
    assert {t: c.tolist() for t, c in ours.tables.items()} == {
        t: c.tolist() for t, c in theirs.tables.items()
    }
    assert ours.keys.counts.tolist() == theirs.keys.counts.tolist()
    assert told


def test_what_workers_refuse_reads_as_on_one_machine(spark):
    """The bad row is in the second partition; rows are numbered from the first of all."""
    light = TABLE.set_column(3, "w", pa.array([*TABLE["w"].to_pylist()[:-2], -1.0, 2.0]))
    blank = TABLE.set_column(0, "sex", pa.array([*TABLE["sex"].to_pylist()[:-3], "x", None, "y"]))
    for table, job in (
        (light, lambda data: pramble.assess(data, KEYS, weights="w")),
        (blank, lambda data: pramble.estimate(data, PLAN, by="sex")),
    ):
        said = []
        for data in (spark.createDataFrame(table), table):
            with pytest.raises(pramble.InvalidData) as error:
                job(data)
            said.append((str(error.value), error.value.values))
        assert said[0] == said[1]
        assert "row 299" in said[0][0]


def test_what_needs_rows_brings_the_columns_it_needs(frame):
    table = crosstab(open_records(frame), ["area"], keep_rows=True)
    assert [table.labels_of(cell)[0] for cell in table.cell_of] == TABLE["area"].to_pylist()

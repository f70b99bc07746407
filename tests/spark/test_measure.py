"""Tables of rows on Spark are counted where the rows are, and released as on one machine."""

import pyarrow.parquet as pq
import pytest
from tests.tables.exact import without_noise
from tests.tables.people import KEY, LABELS, ODD, assert_same, design, people_table
from tests.tables.test_weights import weighted_people

import pramble
from pramble.data.open import open_records
from pramble.engine.measure import measure_records
from pramble.spark.records import SparkRecords
from pramble.values import Reporter


@pytest.fixture(scope="module")
def table():
    return people_table()


@pytest.fixture(scope="module")
def expected(table):
    return {
        person: pramble.measure(table, design(2), key=KEY, person=person) for person in (None, "id")
    }


@pytest.fixture(autouse=True)
def rows_stay(monkeypatch):
    def refused(*args, **kwargs):
        pytest.fail("rows were asked for")

    monkeypatch.setattr(SparkRecords, "here", refused)


@pytest.mark.parametrize("person", [None, "id"])
def test_frames_release_the_same_bytes(spark, table, expected, person):
    frame = spark.createDataFrame(table).repartition(5)
    found = pramble.measure(frame, design(2), key=KEY, person=person)
    assert_same(found, expected[person])


@pytest.mark.parametrize("person", [None, "id"])
def test_paths_release_the_same_bytes(sessions, table, expected, person, tmp_path):
    for i in range(3):
        part = table.slice(i * 1000, 1000)
        pq.write_table(part, tmp_path / f"{i}.parquet", row_group_size=400)
    found = pramble.measure(tmp_path, design(2), key=KEY, person=person, spark=sessions["classic"])
    assert_same(found, expected[person])


@pytest.mark.filterwarnings("ignore:.*rows weigh more than")
@pytest.mark.parametrize("person", [None, "id"])
def test_weighted_tables_are_the_same(spark, person):
    table = weighted_people()
    weighted = pramble.design_tables(LABELS, 1.0, 1e-6, rows_per_person=2, largest_weight=400)
    one, other = (
        pramble.measure(data, weighted, key=KEY, person=person, weights="wgt")
        for data in (spark.createDataFrame(table).repartition(5), table)
    )
    assert_same(one, other)
    assert one.weighted.totals == other.weighted.totals


def test_persons_of_several_columns(sessions, table):
    frame = sessions["classic"].createDataFrame(table)
    quiet = without_noise(design(3).plan)
    one, other = (
        pramble.measure(data, quiet, key=KEY, person=["id", ODD]) for data in (frame, table)
    )
    assert_same(one, other)
    assert 0 < one.total < len(table)


def test_undeclared_values_are_named_by_their_rows(sessions, table):
    plan = pramble.design_tables({"age": 6, "sex": ["f", "m"]}, 1.0, 1e-6)
    frame = sessions["classic"].createDataFrame(table)
    first = table["age"].to_pylist().index(6)
    for person in (None, "id"):
        with pytest.raises(pramble.InvalidData, match=rf"'age'.*\(row {first}, "):
            pramble.measure(frame, plan, person=person)


def test_rows_of_nobody_are_refused(sessions, table):
    frame = sessions["classic"].createDataFrame(table)
    plan = pramble.design_tables({"age": 7, "sex": ["f", "m"]}, 1.0, 1e-6)
    first = table["job"].to_pylist().index(None)
    with pytest.raises(pramble.InvalidData, match=f"'job' must say whose each row is; row {first}"):
        pramble.measure(frame, plan, person="job")


def test_recoded_columns_are_counted_and_recoded_persons_refused(sessions, table):
    frame = sessions["classic"].createDataFrame(table)
    plan = pramble.design_tables({"age": ["0-1", "2-4", "5+"], "ill": [False, True]}, 1.0, 1e-6)
    reading = {"recode": {"age": [0, 2, 5]}}
    one, other = (
        pramble.measure(data, plan, key=KEY, reading=reading, person="id")
        for data in (frame, table)
    )
    assert_same(one, other)
    with pytest.raises(pramble.InvalidInput, match="cannot be recoded"):
        pramble.measure(frame, plan, reading={"recode": {"id": [0, 100]}}, person="id")


def test_repaired_rows_of_a_person_are_counted_together(sessions, table):
    rules = [{"if": {"age": [0, 1]}, "then": {"sex": ["f"]}, "repair": {"sex": "f"}}]
    frame = sessions["classic"].createDataFrame(table).repartition(5)
    one, other = (
        measure_records(
            open_records(data, pramble.Reading(repairs=tuple(rules))),
            design(2).plan,
            key=KEY,
            person="id",
            reporter=Reporter(None),
        )
        for data in (frame, table)
    )
    assert_same(one, other)


def test_no_rows_are_measured_too(sessions, table):
    frame = sessions["classic"].createDataFrame(table).where("age > 99")
    one = pramble.measure(frame, design(), key=KEY)
    assert_same(one, pramble.measure(table.slice(0, 0), design(), key=KEY))

"""One law for every job of a scan: parts of the rows, merged in turn, tell what one pass tells."""

import pickle
from itertools import pairwise
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble.releasing.profile.columns as looks
import pramble.releasing.scan as tables
from pramble.data.crosstab import CrosstabJob
from pramble.data.labels import as_labels
from pramble.data.open import open_records
from pramble.data.records import scan
from pramble.errors import InvalidData, PrambleError, bad_row, rows_later, with_values
from pramble.releasing.contributions import PeopleJob
from pramble.releasing.profile.columns import ProfileJob
from pramble.releasing.scan import BrokenRules, JointCounts, ValueCounts

LABELS = ["NA", "b", "c", "d", "e", None]
RULE = {"never": {"one": "b", "two": [1, 2]}, "repair": {"two": 3}}
POWERS = ((1, 0), (1, 1))

rows = st.lists(
    st.tuples(
        st.sampled_from(LABELS),
        st.sampled_from([1, 2, 3, None]),
        st.integers(0, 5),
        st.integers(1, 9),
    ),
    max_size=30,
)
cuts = st.lists(st.integers(0, 30), max_size=8)


def table_of(drawn):
    columns = list(zip(*drawn, strict=True)) or [()] * 4
    kinds = [pa.string(), pa.int64(), pa.int32(), pa.float64()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(("one", "two", "who", "w"), arrays, strict=True)))


def value_counts(records):
    return [ValueCounts("one"), ValueCounts("two")]


def told_by_value_counts(jobs):
    return [(job.counts, job.neighbours.pairs, job.neighbours.equal) for job in jobs]


def table_counts(records):
    jobs = {name: ValueCounts(name) for name in ("one", "two", "who")}
    wanted = [("one", "two"), ("two", "who", "one"), ("one", "who")]
    return [*jobs.values(), JointCounts(jobs, wanted, seen=["who"])]


def told_by_table_counts(jobs):
    *columns, joint = jobs
    order = {job.columns[0]: job.levels.ordered() for job in columns}
    settled = joint.over_labels(
        {n: SimpleNamespace(labels=labels, places=place) for n, (labels, place) in order.items()}
    )
    return {table: found.tolist() for table, found in settled.items()}


def tabulation(records):
    labels = {"one": as_labels(LABELS)}
    return [
        CrosstabJob(records, ("one", "who", "two"), labels=labels, presence=("two",)),
        CrosstabJob(records, ("who", "two"), weights="w", measure="w", powers=POWERS),
        CrosstabJob(records, ()),
    ]


def told_by_tabulation(jobs):
    found = [job.result() for job in jobs]
    sums = [{p: s.tolist() for p, s in table.sums.items()} for table in found]
    return [(t.levels, t.cells.tolist(), t.counts.tolist()) for t in found], sums


def strays(records):
    return [CrosstabJob(records, ("one", "two"), labels={"one": as_labels(["b", "c"])})]


def told_by_strays(jobs):
    try:
        jobs[0].result()
    except InvalidData as error:
        return str(error), error.values
    return None


def rules(records):
    return [BrokenRules([RULE, {"if": {"one": "c"}, "then": {"two": 1}}], typed=True)]


def people(records):
    return [PeopleJob(["who"])]


def rows_of_people(jobs):
    (job,) = jobs
    return [part.tolist() for part in job.by_person()] if job.rows else job.rows, job.bits


def column_looks(records):
    return [ProfileJob(name, typed=True) for name in records.names]


def told_by_looks(jobs):
    return [
        (
            # Rows are counted while no value is left out.
            {str(label): job.is_many or rows for label, rows in job.labels().items()},
            job.rows,
            job.empty,
            job.kind,
            job.is_many,
        )
        for job in jobs
    ]


KINDS = {
    "value counts": (value_counts, told_by_value_counts),
    "tables": (table_counts, told_by_table_counts),
    "tabulation": (tabulation, told_by_tabulation),
    "strays": (strays, told_by_strays),
    "rules": (rules, lambda jobs: (jobs[0].counts, jobs[0].first, jobs[0].rows)),
    "people": (people, rows_of_people),
    "looks": (column_looks, told_by_looks),
}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(looks, "MOST_DISTINCT", 2)
    monkeypatch.setattr(tables, "MOST_COUNTED", 60)
    monkeypatch.setattr("pramble.data.crosstab.MERGED_AT", 5)
    monkeypatch.setattr("pramble.releasing.contributions.MOST_HELD", 8)


@pytest.mark.parametrize("kind", KINDS)
@given(rows, cuts, cuts)
def test_parts_of_the_rows_merged_are_one_pass(kind, drawn, of_batches, of_parts):
    make, told = KINDS[kind]
    table = table_of(drawn)
    records = open_records(table)
    whole = make(records)
    scan(records, whole)
    fresh = pickle.dumps(make(records))
    merged = pickle.loads(fresh)
    parts = sorted({0, *(cut for cut in of_parts if cut <= len(drawn)), len(drawn)})
    for start, stop in pairwise(parts):
        jobs = pickle.loads(fresh)
        inner = sorted({start, *(cut for cut in of_batches if start < cut < stop), stop})
        for low, high in pairwise(inner):
            for batch in table.slice(low, high - low).to_batches():
                for job in jobs:
                    job.add(batch)
        for job, later in zip(merged, pickle.loads(pickle.dumps(jobs)), strict=True):
            job.merge(later)
    empty = pickle.loads(fresh)  # a part without rows, as Spark has some
    for job, later in zip(merged, empty, strict=True):
        job.merge(later)
    assert told(merged) == told(whole)


def test_the_row_that_an_error_names_counts_from_the_first_of_all():
    error = with_values(bad_row("Row ", 3, " is bad."), "x")
    found = rows_later(pickle.loads(pickle.dumps(error)), 10)
    assert (str(found), found.values) == ("Row 13 is bad.", "x")
    other = InvalidData("No row.")
    assert rows_later(other, 10) is other
    assert isinstance(found, PrambleError)


def test_values_that_were_not_declared_are_all_counted():
    table = pa.table({"a": ["x", "z"] * 300})
    job = CrosstabJob(open_records(table), ("a",), labels={"a": as_labels(["x", "y"])})
    for batch in table.to_batches(max_chunksize=7):
        job.add(batch)
    with pytest.raises(InvalidData, match=r"300 rows do not \(row 1, row 3, row 5, row 7, row 9, "):
        job.result()


def test_a_mark_of_missing_values_in_a_later_part_is_kept():
    first, later = ProfileJob("a", typed=True), ProfileJob("a", typed=True)
    first.add(pa.table({"a": ["b", "c", "d"]}))
    later.add(pa.table({"a": ["e", "NA"]}))
    first.merge(later)
    assert list(first.labels()) == ["b", "c", "d", "NA"]

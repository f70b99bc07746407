"""A whole release on Spark: the folder that one machine writes, whatever happens to its tasks."""

import json
import os
import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import crowd, plan_that_keeps, release_by

import pramble
import pramble.spark.write as spark_write
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.records import FileRecords
from pramble.spark.records import SparkRecords
from pramble.spark.workers import failed_on_spark
from pramble.spark.write import PieceTask

KEY = bytes(range(32))
ROWS = BATCH_ROWS + 30_000
PLAN = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(list(range(5)), 2.0),
    }
)
WITH_BANDS = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(["0-1", "2+"], 2.0),
    }
)
BANDS = {
    "columns": {
        "sex": {"categories": ["f", "m"]},
        "age": {"low": 0, "high": 5, "bands": [0, 2]},
    },
    "possible": [{"never": {"sex": "m", "age": "0-1"}, "repair": {"age": "2+"}}],
    "person": "person",
    "drop": ["person", "town"],
}


def by_plan(plan, **options):
    """How a case is released: like any other, by this plan."""

    def verb(source, target, **more):
        settings = {"key": KEY, "rows_per_file": BATCH_ROWS, **options, **more}
        return release_by(plan, source, target, **settings)

    return verb


CASES = {
    "plain": by_plan(PLAN, drop=["person"], person=False),
    "shuffled": by_plan(PLAN, drop=["person", "town", "income"], person=False, shuffle=True),
    "bands": by_plan(WITH_BANDS, **BANDS),
    "central": by_plan(plan_that_keeps(2.0), tables=2, central=40.0, design="records"),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two files each, in row groups that no piece begins with."""
    rng = np.random.default_rng(5)
    people = pa.table(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "age": rng.integers(0, 5, ROWS),
            "town": rng.choice(["x", "y", "z"], ROWS),
            "income": pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1),
            "person": np.arange(ROWS) // 2,
        }
    )
    found = {}
    for name, table in {"people": people, "crowd": crowd(ROWS)}.items():
        found[name] = tmp_path_factory.mktemp(name)
        pq.write_table(table[:90_000], found[name] / "a.parquet", row_group_size=30_000)
        pq.write_table(table[90_000:], found[name] / "b.parquet", row_group_size=45_000)
    return found


@pytest.fixture(scope="module")
def on_one_machine(sources, tmp_path_factory):
    """The release of a case on one machine, made once."""
    made = {}

    def release_of(case):
        if case not in made:
            target = tmp_path_factory.mktemp("here") / "out"
            made[case] = CASES[case](sources["crowd" if case == "central" else "people"], target)
        return made[case]

    return release_of


@pytest.fixture
def source(sources):
    return sources["people"]


@pytest.fixture
def rows_stay(monkeypatch):
    """No more than the few first rows may come to the driver, or be read there."""
    given = SparkRecords.here

    def few(self, columns, *, rows=None):
        if rows is None:
            pytest.fail("rows were asked for")
        return given(self, columns, rows=rows)

    monkeypatch.setattr(SparkRecords, "here", few)


def read(spark, source):
    """The files in the order of their names."""
    frames = [spark.read.parquet(str(source / f"{name}.parquet")) for name in "ab"]
    return frames[0].unionAll(frames[1])


def contents(folder):
    """The manifest but for its time, and every other published file, by its name."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "summary.html"
    }
    manifest = json.loads(files.pop("manifest.json"))
    manifest.pop("created")
    return manifest, files


def same_release(ours, theirs):
    (mine, files), (other, expected) = (contents(one.folder) for one in (ours, theirs))
    assert len([name for name in files if name.endswith(".parquet")]) >= 2
    assert list(files) == list(expected)
    assert [name for name in files if files[name] != expected[name]] == []
    assert mine == other
    figures = [
        replace(
            one.outcome,
            seconds=0.0,
            created="",
            source="",
            record=None,
            checks=[check for check in one.outcome.checks if check.name != "folder"],
        )
        for one in (ours, theirs)
    ]
    assert figures[0] == figures[1]
    shown = [(c.name, c.before, c.estimate, c.lower) for c in ours.outcome.record.columns]
    assert shown == [(c.name, c.before, c.estimate, c.lower) for c in theirs.outcome.record.columns]
    assert shown[0][2] is not None


@pytest.mark.usefixtures("rows_stay")
@pytest.mark.parametrize("case", CASES)
def test_the_folder_is_that_of_one_machine(sessions, sources, on_one_machine, case, tmp_path):
    source = sources["crowd" if case == "central" else "people"]
    frame = read(sessions["classic"], source)
    same_release(CASES[case](frame, tmp_path / "frame"), on_one_machine(case))
    through = sessions["connect" if case == "shuffled" else "classic"]
    same_release(CASES[case](source, tmp_path / "files", spark=through), on_one_machine(case))


@pytest.mark.usefixtures("rows_stay")
def test_connect_writes_the_same_of_a_frame(sessions, source, on_one_machine, tmp_path):
    ours = CASES["plain"](read(sessions["connect"], source), tmp_path / "out", pages=True)
    assert (tmp_path / "out-report.html").exists()
    assert (ours.folder / "summary.html").exists()
    same_release(ours, on_one_machine("plain"))


def killed_once(self, batches, piece):
    """Write a piece, and at the first attempt at the second one end this worker midway."""
    mark = Path(self.folder).parent / "killed"
    if piece == 1 and not mark.exists():
        mark.touch()
        attempt = self.folder / ".attempts" / "half.parquet"
        attempt.write_bytes(b"PAR1 half a piece")
        os._exit(1)
    yield from PieceTask.__call__(self, batches, piece)


def always_failing(self, batches, piece):
    if piece == 1:
        raise RuntimeError("confidential")
    yield from PieceTask.__call__(self, batches, piece)


def counting_something_else(self, batches, piece):
    """Write a piece, and remember other values than were written."""
    import pramble.spark.write as spark_piece

    given = spark_piece.write_piece

    def other(*args, **kwargs):
        tally, links = given(*args, **kwargs)
        tally.digests["income"][0] = b"other"
        return tally, links

    spark_piece.write_piece = other
    try:
        yield from PieceTask.__call__(self, batches, piece)
    finally:
        spark_piece.write_piece = given


def task_like(call):
    """A task whose class goes to the workers with it."""
    made = type("Task", (PieceTask,), {"__call__": call})
    made.__module__ = call.__module__ = "__main__"
    return made


def test_a_killed_worker_is_made_up_for(sessions, source, on_one_machine, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_write, "PieceTask", task_like(killed_once))
    ours = CASES["plain"](read(sessions["classic"], source), tmp_path / "out")
    assert (tmp_path / "killed").exists()
    same_release(ours, on_one_machine("plain"))


def test_a_task_that_always_fails_leaves_nothing(sessions, source, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_write, "PieceTask", task_like(always_failing))
    with pytest.raises(pramble.InvalidInput, match="failed as often as Spark allows") as error:
        CASES["plain"](source, tmp_path / "out", spark=sessions["classic"])
    assert "(RuntimeError). Nothing was released." in str(error.value)
    assert "confidential" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_piece_that_is_not_what_was_meant_is_refused(sessions, source, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_write, "PieceTask", task_like(counting_something_else))
    with pytest.raises(pramble.PrivacyError, match=r"They differ: income\. Nothing was released"):
        CASES["plain"](source, tmp_path / "out", spark=sessions["connect"])
    assert list(tmp_path.iterdir()) == []


def test_people_and_the_ledger_are_those_of_one_machine(sessions, tmp_path):
    table = pa.table({"sex": ["f", "m"] * 300, "who": [f"person {i // 3}" for i in range(600)]})
    frame = sessions["classic"].createDataFrame(table)
    plan, told = pramble.Plan({"sex": PLAN["sex"]}), []
    settings = {"person": "who", "drop": ["who"], "ledger": tmp_path / "ledger", "alpha": 40.0}
    for data in (frame, frame):
        with pytest.warns(pramble.PrambleWarning) as said:
            r = release_by(plan, data, tmp_path / f"out {len(told)}", **settings)
        assert r.guarantee.rows == 3
        told.append(any("have spent" in str(one.message) for one in said))
    assert told == [False, True]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_random_two_rows_of_each_are_those_of_one_machine(sessions, tmp_path, shuffle):
    """Of a frame and of files that tasks read, over pieces that begin amid row groups."""
    rng = np.random.default_rng(4)
    few = rng.integers(0, 3000, 2 * BATCH_ROWS)
    who = np.where(rng.random(len(few)) < 0.2, few, 10_000 + np.arange(len(few)))
    table = pa.table({"sex": rng.choice(["f", "m"], len(few)), "who": who})
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=70_000)
    verb = by_plan(
        pramble.Plan({"sex": PLAN["sex"]}),
        person="who", rows_per_person=2, drop=["who"], alpha=40.0, shuffle=shuffle,
    )  # fmt: skip
    here = verb(tmp_path / "people.parquet", tmp_path / "here")
    assert here.manifest["rows"] == np.minimum(np.unique(who, return_counts=True)[1], 2).sum()
    session = sessions["classic"]
    frame = session.read.parquet(str(tmp_path / "people.parquet"))
    same_release(verb(frame, tmp_path / "frame"), here)
    same_release(verb(tmp_path / "people.parquet", tmp_path / "files", spark=session), here)


def test_people_that_nobody_stated_are_found_where_the_rows_are(sessions, source, tmp_path):
    with pytest.raises(pramble.PrivacyError, match="Rows share values of 'person'"):
        release_by(
            PLAN, source, tmp_path / "out", drop=["person"], spark=sessions["classic"], dry_run=True
        )


def one_more_each_time(folder):
    """Rows of which one more is "f" each time that a part of them is read."""

    def rows(batches):
        for batch in batches:
            read = sum(1 for _ in folder.iterdir())
            (folder / str(uuid.uuid4())).touch()
            sex = pa.array(np.where(np.arange(batch.num_rows) <= read, "f", "m"))
            yield pa.RecordBatch.from_arrays([sex], names=["sex"])

    rows.__module__ = "__main__"
    return rows


def test_rows_that_do_not_stand_still_are_refused(sessions, tmp_path):
    read = tmp_path / "read"
    read.mkdir()
    frame = sessions["classic"].range(3000).mapInArrow(one_more_each_time(read), "sex string")
    plan = pramble.Plan({"sex": PLAN["sex"]})
    with pytest.raises(pramble.InvalidData, match="'sex' held other values when they were counted"):
        release_by(plan, frame, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [read]


def test_what_is_refused_reads_as_on_one_machine(sessions, tmp_path):
    rng = np.random.default_rng(1)
    bad = pa.table({"sex": ["f", "m"] * 50 + ["x"], "age": rng.integers(0, 5, 101)})
    copied = bad.append_column("copy", pa.array([f"is {age}" for age in bad["age"].to_pylist()]))
    copied = copied.set_column(0, "sex", pa.array(["f", "m"] * 50 + ["m"]))
    for table in (bad, copied):
        said = []
        for data in (sessions["classic"].createDataFrame(table), table):
            with pytest.raises(pramble.PrambleError) as error:
                release_by(PLAN, data, tmp_path / "out", rows_per_file=BATCH_ROWS)
            said.append(str(error.value))
        assert said[0] == said[1]
    assert list(tmp_path.iterdir()) == []


def test_what_spark_says_of_a_failed_task_becomes_one_sentence():
    said = "Job aborted\n  File x\npramble.errors.InvalidData: Rows must stand still.\n\tat java"
    assert str(failed_on_spark(said)) == "Rows must stand still. Nothing was released."
    other = failed_on_spark("Job aborted\nValueError: 'Jane Doe'\n\tat java")
    assert "(ValueError)" in str(other)
    assert "Jane" not in str(other)
    assert "Jane" in other.values


def test_what_is_not_done_on_spark_is_said(sessions, source, tmp_path):
    spark = sessions["classic"]
    verb, target = CASES["plain"], tmp_path / "out"
    for data, there in ((source, "nowhere://host/out"), ("nowhere://host/people", target)):
        with pytest.raises(pramble.InvalidInput, match=r"'nowhere://host/.*' cannot be opened"):
            verb(data, there, spark=spark)
    with pytest.raises(pramble.InvalidInput, match="has its session already"):
        verb(read(spark, source), target, spark=spark)
    csv = tmp_path / "people.csv"
    csv.write_text("sex\nf\n")
    with pytest.raises(pramble.InvalidData, match="must be Parquet"):
        verb(csv, target, spark=spark)


def test_a_dry_run_brings_few_rows(sessions, source, tmp_path, rows_stay):
    del rows_stay
    frame = read(sessions["classic"], source)
    r = release_by(PLAN, frame, tmp_path / "out", drop=["person"], person=False, dry_run=True)
    assert r.outcome.data_file == "1 file in randomised/"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", ["plain", "bands", "central"])
def test_it_is_opened_on_spark(sessions, on_one_machine, case, monkeypatch):
    folder = on_one_machine(case).folder
    theirs = pramble.open_release(folder)
    monkeypatch.setattr(FileRecords, "raw_batches", lambda *_, **__: pytest.fail("read here"))
    ours = pramble.open_release(folder, spark=sessions["connect" if case == "plain" else "classic"])
    by = ["ill"] if case == "central" else ["sex", "age"]
    found = [pramble.estimate(one, by=by) for one in (ours, theirs)]
    np.testing.assert_allclose(found[0].probabilities, found[1].probabilities, rtol=1e-12)
    assert found[0].cells == found[1].cells
    if case == "plain":
        assert ours.data.schema["sex"].dataType.typeName() == "string"
        figures = [
            pramble.assess(one.data, ["sex", "town"], model="none").summary()
            for one in (ours, theirs)
        ]
        assert figures[0]["n"] == figures[1]["n"]
        assert figures[0]["below_3"] == figures[1]["below_3"]
    if case == "bands":
        assert {row.age for row in ours.data.select("age").distinct().collect()} == {"0-1", "2+"}


def test_changed_pieces_are_refused_by_tasks(sessions, on_one_machine, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(on_one_machine("plain").folder, copy)
    piece = copy / "randomised" / "part-00001.parquet"
    content = bytearray(piece.read_bytes())
    content[1000] ^= 1
    piece.write_bytes(content)
    with pytest.raises(pramble.InvalidData, match=r"part-00001.parquet is not the file") as error:
        pramble.open_release(copy, spark=sessions["classic"])
    assert "SHA-256 differs" in str(error.value)

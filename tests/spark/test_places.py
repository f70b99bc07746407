"""Releases at addresses: the folder of one machine, whole or not at all, and no secrets shown."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.test_release import always_failing, contents, task_like

import pramble
import pramble.spark.write as spark_write
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.places import Place, path_or_place
from pramble.releasing.folder.build import building

KEY = bytes(range(32))
N = BATCH_ROWS + 500


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(7)
    table = pa.table({"sex": rng.choice(["f", "m"], N), "income": rng.integers(0, 900, N)})
    pq.write_table(table[: N // 2], folder / "a.parquet", row_group_size=30_000)
    pq.write_table(table[N // 2 :], folder / "b.parquet")
    return folder


@pytest.fixture(autouse=True)
def where_reports_lie(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def released(source, target, **options):
    return pramble.release(
        source,
        target,
        columns={"sex": {"categories": ["f", "m"]}},
        alpha=1.0,
        design="paper",
        prior="uniform",
        rows_per_file=BATCH_ROWS,
        key=KEY,
        ledger=False,
        **options,
    )


def test_the_folder_is_that_of_one_machine(spark, source, tmp_path):
    theirs = released(source, tmp_path / "path")
    address = f"file://{tmp_path}/deep/address"
    ours = released(f"file://{source}", address, spark=spark)
    assert contents(tmp_path / "deep" / "address") == contents(theirs.folder)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["address"]
    assert (tmp_path / "here" / "address-report.html").exists()
    assert str(ours.folder) == address
    opened = pramble.open_release(address, spark=spark)
    assert opened.data.count() == N
    here = pramble.open_release(tmp_path / "path")
    assert opened.data.toArrow()["sex"].to_pylist() == here.data["sex"].to_pylist()
    assert pramble.open_release(address).data == here.data
    with pytest.raises(pramble.InvalidInput, match="is not empty; a release is never overwritten"):
        released(f"file://{source}", address, spark=spark)


def test_tasks_that_end_or_fail_leave_nothing(sessions, source, tmp_path, monkeypatch):
    spark, out = sessions["classic"], tmp_path / "there"
    monkeypatch.setattr(spark_write, "PieceTask", task_like(always_failing))
    with pytest.raises(pramble.InvalidInput, match="failed as often as Spark allows"):
        released(source, f"file://{out}/out", spark=spark)
    assert list(out.iterdir()) == []
    ended = task_like(killed_at_an_address)
    monkeypatch.setattr(spark_write, "PieceTask", ended)
    released(source, f"file://{out}/out", spark=spark)
    assert contents(out / "out") == contents(released(source, tmp_path / "path").folder)
    assert sorted(path.name for path in out.iterdir()) == ["killed", "out"]


def killed_at_an_address(self, batches, piece):
    """As on a path, with the mark where the driver finds it."""
    import os

    mark = self.folder.parent / "killed"
    if piece == 1 and not mark.exists():
        mark.write_bytes(b"")
        (self.folder / ".attempts" / "half.parquet").write_bytes(b"PAR1 half a piece")
        os._exit(1)
    from pramble.spark.write import PieceTask

    yield from PieceTask.__call__(self, batches, piece)


def test_stores_without_renaming_get_the_manifest_last(tmp_path, monkeypatch):
    monkeypatch.setattr("pramble.data.places.RENAMES", ())
    target = path_or_place(f"file://{tmp_path}/out")
    told = []
    given = Place.replace
    monkeypatch.setattr(
        Place, "replace", lambda self, other: (told.append(self.name), given(self, other))
    )
    (tmp_path / "out").mkdir()
    with building(target) as folder:
        for name in ("manifest.json", "analysis.R", "summary.html"):
            (folder / name).write_text(name)
    assert told[-1] == "manifest.json"
    assert len(list((tmp_path / "out").iterdir())) == 3
    monkeypatch.setattr(Place, "replace", failing_at_the_manifest)
    other = path_or_place(f"file://{tmp_path}/other")
    (tmp_path / "other").mkdir()
    with pytest.raises(pramble.InvalidInput, match="Nothing was released"):
        fill(other)
    assert not (tmp_path / "other").exists()
    assert not list(tmp_path.glob(".other*"))
    with pytest.raises(pramble.InvalidData, match="/other' does not exist"):
        pramble.open_release(f"file://{tmp_path}/other")
    (tmp_path / "other").mkdir()
    with pytest.raises(pramble.InvalidData, match="/other' is no release: it has no manifest"):
        pramble.open_release(f"file://{tmp_path}/other")


def fill(target):
    with building(target) as folder:
        for name in ("manifest.json", "analysis.R"):
            (folder / name).write_text(name)


def failing_at_the_manifest(self, other):
    if self.name == "manifest.json":
        raise OSError("gone")
    self.store.move(self.inner, other.inner)


def test_no_secret_of_an_address_is_shown(tmp_path):
    address = "s3://user:hunter2@bucket/people?region=eu-west-1"
    place = path_or_place(address)
    again = pickle.loads(pickle.dumps(place / "a.parquet"))
    assert str(again) == "s3://bucket/people/a.parquet"
    assert "hunter2" not in repr(again) + repr(place)
    table = {"sex": ["f", "m"]}
    for work in (
        lambda: pramble.release(address, tmp_path / "out", columns=["sex"], alpha=1.0),
        lambda: released(table, address),
        lambda: pramble.open_release("nowhere://user:hunter2@host/x?key=swordfish"),
    ):
        with pytest.raises(pramble.PrambleError) as error:
            work()
        assert "hunter2" not in str(error.value)
        assert "swordfish" not in str(error.value)

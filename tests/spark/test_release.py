"""A whole release on Spark: the folder that one machine writes, whatever happens to its tasks."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import release_by

import pramble
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.open import open_records
from pramble.data.spark_records import SparkRecords

KEY = bytes(range(32))
ROWS = 2 * BATCH_ROWS + 40_000
PLAN = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(list(range(5)), 2.0),
    }
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], ROWS),
            "age": rng.integers(0, 5, ROWS),
            "town": rng.choice(["x", "y", "z"], ROWS),
            "income": pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.1),
        }
    )


@pytest.fixture(scope="module")
def source(people, tmp_path_factory):
    """Two files, in row groups that no piece begins with."""
    folder = tmp_path_factory.mktemp("people")
    pq.write_table(people[:170_000], folder / "a.parquet", row_group_size=30_000)
    pq.write_table(people[170_000:], folder / "b.parquet", row_group_size=45_000)
    return folder


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


def same_folder(ours, theirs):
    (mine, files), (other, expected) = (contents(one.folder) for one in (ours, theirs))
    assert list(files) == list(expected)
    assert [name for name in files if files[name] != expected[name]] == []
    assert mine == other


def read(spark, source):
    """The files in the order of their names, in one partition and another."""
    frames = [spark.read.parquet(str(source / f"{name}.parquet")) for name in "ab"]
    return frames[0].unionAll(frames[1])


@pytest.fixture
def same_content(source, monkeypatch):
    """Let a frame be known as the files that it was read from."""
    found = open_records(source).digest()
    monkeypatch.setattr(SparkRecords, "digest", lambda self: found)


OPTIONS = {
    "plain": {},
    "shuffled": {"shuffle": True},
}


@pytest.fixture(scope="module", params=OPTIONS)
def here(request, source, tmp_path_factory):
    options = {"key": KEY, "rows_per_file": BATCH_ROWS, **OPTIONS[request.param]}
    target = tmp_path_factory.mktemp("here") / "out"
    return release_by(PLAN, source, target, **options), options


@pytest.mark.usefixtures("same_content")
def test_the_folder_is_that_of_one_machine(spark, source, here, tmp_path):
    theirs, options = here
    same_folder(release_by(PLAN, source, tmp_path / "files", spark=spark, **options), theirs)
    same_folder(release_by(PLAN, read(spark, source), tmp_path / "frame", **options), theirs)

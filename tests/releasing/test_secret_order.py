"""A secret order beyond memory: bit for bit that in memory, and on disk only without a name."""

import os
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.cuts import random_order
from tests.releasing.conftest import release_by

import pramble
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.open import open_records
from pramble.data.records import TableRecords
from pramble.engine import keystream, shuffle
from pramble.engine.shuffle import ShuffledRecords
from pramble.errors import InvalidInput

KEY = bytes(range(32))
ROWS = 6000


@pytest.fixture
def limit(monkeypatch):
    """Let nothing above so many values be shuffled in memory."""

    def set_limit(cells):
        monkeypatch.setattr(shuffle, "MOST_CELLS_SHUFFLED", cells)

    return set_limit


def numbered(rows, folder, key=KEY):
    """Row numbers as the dealt records give them."""
    records = ShuffledRecords(open_records({"n": np.arange(rows)}), ("n",), rows, key, folder)
    return np.concatenate([batch["n"].to_numpy() for batch in records.batches()])


@pytest.mark.parametrize(
    ("rows", "cells"), [(1, 1), (2, 1), (100, 3), (100, 300), (7000, 200), (7000, 10**6)]
)
def test_the_order_is_that_of_sorting_everything(tmp_path, limit, rows, cells):
    limit(cells)
    assert np.array_equal(numbered(rows, tmp_path), random_order(rows, key=KEY))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("values", [1, 2, 50])
@pytest.mark.parametrize("streams", [{"2"}, {"2", "1"}, {"2", "1", "0"}])
def test_rows_that_agree_in_a_word_go_by_the_next(tmp_path, limit, monkeypatch, values, streams):
    """Words of few values: buckets are dealt again, and rows equal in all keep their order."""

    class Alike(keystream.KeyStream):
        def words(self, rows):
            found = super().words(rows)
            return found % np.uint32(values) if self.path[-1] in streams else found

    monkeypatch.setattr(shuffle, "KeyStream", Alike)
    limit(300)
    assert np.array_equal(numbered(3000, tmp_path), random_order(3000, key=KEY))


def test_a_large_bucket_is_dealt_again(tmp_path, limit, monkeypatch):
    monkeypatch.setattr(shuffle, "MOST_BITS", 1)
    limit(30)
    sizes, expected = [], random_order(2000, key=KEY)
    real = shuffle.in_word_order
    monkeypatch.setattr(
        shuffle, "in_word_order", lambda words: sizes.append(len(words[0])) or real(words)
    )
    assert np.array_equal(numbered(2000, tmp_path), expected)
    assert max(sizes) <= 10
    assert sum(sizes) == 2000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    n = ROWS
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 5, n),
            "town": pa.array(rng.choice(["x", "y", "z"], n)).dictionary_encode(),
            "code": pa.array(rng.integers(0, 4, n)).dictionary_encode(),
            "income": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "born": pa.array([date(1950 + i % 60, 1 + i % 12, 1) for i in rng.integers(0, 720, n)]),
            "note": pa.array([f"n{i}" * (i % 3) for i in range(n)], mask=rng.random(n) < 0.1),
            "list": pa.array([[i % 3, 1] if i % 5 else None for i in range(n)]),
            "pair": pa.array([{"a": i % 4, "b": str(i % 7)} for i in range(n)]),
            "flag": pa.array(rng.random(n) < 0.3),
        }
    )


PLAN = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(list(range(5)), 2.0),
    }
)


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.parquet")}


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "frame"])
def test_both_ways_give_the_same_bytes(people, tmp_path, limit, monkeypatch, kind):
    source = people
    if kind == "csv":
        source = tmp_path / "people.csv"
        people.drop(["list", "pair"]).to_pandas().to_csv(source, index=False)
    elif kind != "frame":
        source = tmp_path / "people"
        source.mkdir()
        for i in range(1 if kind == "parquet" else 3):
            part = people if kind == "parquet" else people.slice(i * 2500, 2500)
            pq.write_table(part, source / f"{i}.parquet")
    options = {"key": KEY, "shuffle": True, "allow": ["note", "born", "list", "pair", "code"]}
    if kind == "csv":
        options["allow"] = ["note", "born", "code"]
    one = release_by(PLAN, source, tmp_path / "one", **options)
    limit(5000)
    two = release_by(PLAN, source, tmp_path / "two", **options)
    assert content(one.folder) == content(two.folder) != {}
    assert all(check.passed for check in two.outcome.checks)


def test_in_pieces_beyond_memory(tmp_path, limit):
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    source = {"sex": ["f", "m"] * (BATCH_ROWS // 2 + 300)}
    one = release_by(plan, source, tmp_path / "one", key=KEY, shuffle=True)
    limit(50_000)
    two = release_by(
        plan, source, tmp_path / "two", key=KEY, shuffle=True, rows_per_file=BATCH_ROWS
    )
    assert pq.read_table(two.folder / "data").equals(
        pq.read_table(one.folder / "randomised.parquet")
    )


def test_rows_on_the_disk_have_no_name(tmp_path, limit, monkeypatch):
    """While rows are dealt and read, their folder is empty and their files are unlinked."""
    limit(300)
    links, real = [], shuffle.Bucket.add

    def add(bucket, table):
        real(bucket, table)
        links.append(os.fstat(bucket.file.fileno()).st_nlink)
        assert list(tmp_path.iterdir()) == []

    monkeypatch.setattr(shuffle.Bucket, "add", add)
    records = ShuffledRecords(open_records({"n": np.arange(3000)}), ("n",), 3000, KEY, tmp_path)
    for _ in records.batches():
        assert list(tmp_path.iterdir()) == []
    assert set(links) == {0}


def test_a_full_disk_while_dealing_leaves_nothing(people, tmp_path, limit, monkeypatch):
    limit(5000)

    class Full:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, _):
            raise OSError(28, "No space left on device")

    real = shuffle.tempfile.TemporaryFile
    monkeypatch.setattr(shuffle.tempfile, "TemporaryFile", lambda **named: Full(real(**named)))
    with pytest.raises(InvalidInput, match=r"No space left on device\. Nothing was released"):
        release_by(PLAN, people, tmp_path / "out", shuffle=True, allow=people.column_names[2:])
    assert list(tmp_path.glob("*out*")) == []


def test_a_source_that_grew_meanwhile_is_told_of(people, tmp_path, limit):
    """Whatever was counted decides how rows are dealt, not which."""
    limit(900)
    records = TableRecords(people.select(["age"]))
    more = ShuffledRecords(records, ("age",), 1000, KEY, tmp_path)
    assert sum(batch.num_rows for batch in more.batches()) == ROWS

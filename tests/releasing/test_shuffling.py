"""Releases in a random order: the same people, unlinked from their places."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramble

KEY = bytes(range(32))


@pytest.fixture
def sorted_file(tmp_path):
    """A file sorted by the column that will be randomised, with a number for every record."""
    sex = ["f"] * 300 + ["m"] * 300
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"sex": sex, "id": list(range(600))}), path)
    return path


def release(path, target, **options):
    plan = {
        "alpha": 3.0,
        "prior": "uniform",
        "columns": {"sex": {"categories": ["f", "m"]}},
        **options,
    }
    return pramble.release(path, target, plan=plan, key=KEY, ledger=False)


def test_rows_move_whole_and_none_is_lost(sorted_file, tmp_path):
    r = release(sorted_file, tmp_path / "out", shuffle=True)
    data = pramble.open_release(r.folder).data
    ids = [int(value) for value in data["id"].to_pylist()]
    assert sorted(ids) == list(range(600))
    assert ids != list(range(600))
    kept = sum(
        (value == "f") == (i < 300) for i, value in zip(ids, data["sex"].to_pylist(), strict=True)
    )
    keep = math.exp(3) / (1 + math.exp(3))
    assert abs(kept / 600 - keep) < 6 * math.sqrt(keep * (1 - keep) / 600)


def test_the_order_no_longer_tells_the_value_and_nothing_warns(sorted_file, tmp_path):
    plain = release(sorted_file, tmp_path / "plain")
    mixed = release(sorted_file, tmp_path / "mixed", shuffle=True)
    assert any("order of the rows" in warning for warning in plain.outcome.warnings)
    assert not any("order of the rows" in warning for warning in mixed.outcome.warnings)
    values = pramble.open_release(mixed.folder).data["sex"].to_pylist()
    assert abs(values[:300].count("f") - values[300:].count("f")) < 75


def test_the_same_key_gives_the_same_order(sorted_file, tmp_path):
    one = release(sorted_file, tmp_path / "one", shuffle=True)
    two = release(sorted_file, tmp_path / "two", shuffle=True)
    assert one.manifest["data"]["sha256"] == two.manifest["data"]["sha256"]

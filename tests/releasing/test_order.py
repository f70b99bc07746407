"""An order of rows that tells values is noticed; a random one is left in peace."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramble import release

TEXT = pa.string()
PLAN = {"alpha": 1.0, "columns": {"x": {"categories": ["a", "b", "c"]}}, "prior": "uniform"}


def warned(values, tmp_path, *, kind=TEXT):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"x": pa.array(values, kind)}), path)
    r = release(path, tmp_path / "out", plan=PLAN, dry_run=True, ledger=False)
    return any("order of the rows goes with x" in warning for warning in r.outcome.warnings)


@pytest.mark.parametrize("kind", [TEXT, pa.dictionary(pa.int8(), TEXT)])
def test_a_sorted_file_is_warned_of(tmp_path, kind):
    assert warned(["a"] * 500 + ["b"] * 300 + ["c"] * 200, tmp_path, kind=kind)


def test_an_alternating_file_is_warned_of(tmp_path):
    assert warned(["a", "b"] * 300, tmp_path)


def test_a_random_order_is_not(tmp_path):
    rng = np.random.default_rng(5)
    values = rng.choice(["a", "b", "c"], size=5000, p=[0.7, 0.2, 0.1])
    assert not warned(values.tolist(), tmp_path)

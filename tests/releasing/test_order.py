"""An order of rows that tells values is noticed; a random one is left in peace."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramble.releasing.linkage import Neighbours
from pramble.releasing.release import release

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


def test_the_variance_bounds_that_of_random_orders():
    rng = np.random.default_rng(9)
    values = np.repeat([0, 1, 2], [60, 30, 10])
    alarms = 0
    for _ in range(300):
        found = Neighbours()
        found.add(rng.permutation(values))
        alarms += found.follow_values([60, 30, 10])
    assert alarms == 0


def test_empty_cells_are_values_and_a_constant_column_tells_nothing():
    found = Neighbours()
    found.add(np.array([0, 0, 1, 0]))
    assert (found.pairs, found.equal) == (3, 1)
    assert not Neighbours(pairs=99, equal=99).follow_values([100, 0])

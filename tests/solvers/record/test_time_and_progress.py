"""Designs of records keep their limits, tell how far they are, and get no worse with more."""

import time

import numpy as np
import pytest

import pramble

RNG = np.random.default_rng(5)
SIZES = {"a": 3, "b": 2, "c": 9, "d": 2, "e": 5, "f": 5, "g": 11, "h": 4, "i": 3, "j": 3}


def correlated(sizes, rows=20_000):
    """Counts of records whose columns depend on one another, with many empty cells."""
    hidden = RNG.integers(0, 4, rows)
    codes = [(RNG.poisson(hidden * 0.8 + 0.3) + RNG.integers(0, 2, rows)) % n for n in sizes]
    flat = np.ravel_multi_index(codes, sizes)
    return (np.bincount(flat, minlength=int(np.prod(sizes))) / rows).reshape(sizes)


@pytest.mark.parametrize("limit", [1.0, 4.0])
@pytest.mark.parametrize("whole", [False, True])
def test_ten_columns_keep_their_time(limit, whole):
    prior = correlated(tuple(SIZES.values()))
    pramble.design_record({"a": 2, "b": 3}, 1.0, time_limit=1.0)  # compiles
    start = time.monotonic()
    used = time.process_time()
    d = pramble.design_record(SIZES, 4.0, prior=prior, whole=whole, time_limit=limit)
    spent = min(time.monotonic() - start, time.process_time() - used)
    assert spent < 1.2 * limit + 2.0
    assert np.isfinite(d.value)
    assert d.certificate.satisfies(4.0)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 4), (2, 2, 3), (2, 2, 2, 2)])
def test_small_records_take_a_moment(sizes):
    columns = {f"c{i}": n for i, n in enumerate(sizes)}
    pramble.design_record(columns, 1.0)  # compiles
    used = time.process_time()
    pramble.design_record(columns, 1.0)
    assert time.process_time() - used < 3.0


def test_progress_is_told_in_order():
    told = []
    d = pramble.design_record({"a": 3, "b": 3, "c": 2}, 1.0, progress=told.append)
    assert all(isinstance(one, pramble.Progress) for one in told)
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert told[-1].figures["value"] == d.value


def test_more_effort_is_no_worse():
    sizes = {f"c{i}": n for i, n in enumerate((5, 2, 6, 5))}
    values = [pramble.design_record(sizes, 1.0, effort=limit).value for limit in (0.3, 2, 8)]
    assert values[1] <= values[0] * 1.03
    assert values[2] <= values[1] * 1.03

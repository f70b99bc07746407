"""The fingerprint of what is randomised: the same wherever rows are looked at, and of one file."""

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pramble.releasing.fingerprint import LANES, PRIME, Fingerprint, hash_of, times
from pramble.releasing.scan import ValueCounts

KEY = bytes(range(32))
numbers = st.integers(0, PRIME - 1)
values = st.lists(
    st.tuples(st.sampled_from(["f", "m", None, "ä"]), st.integers(0, 3)), min_size=1, max_size=30
)


def sums_of(rows, cuts=(), key=KEY):
    """The fingerprint of some rows, cut into parts that are merged."""
    table = pa.table({
        "sex": pa.array([sex for sex, _ in rows], pa.string()),
        "age": pa.array([age for _, age in rows], pa.int64()),
    })  # fmt: skip
    parts = []
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        jobs = {name: ValueCounts(name) for name in table.column_names}
        mark = Fingerprint(jobs, key)
        for batch in table.slice(start, stop - start).to_batches(max_chunksize=4):
            for job in (*jobs.values(), mark):
                job.add(batch)
        parts.append(pickle.loads(pickle.dumps(mark)))
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    return str(whole)


@given(numbers, numbers)
def test_products_are_right(a, b):
    assert int(times(np.uint64(a), np.uint64(b))) == a * b % PRIME


@given(values, st.data())
def test_it_is_the_polynomial_that_it_says_however_rows_are_cut(rows, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    found = sums_of(rows, cuts)
    mark = Fingerprint({}, KEY)
    expected = []
    for lane in LANES:
        total, ratio = 0, mark.number(lane, "ratio")
        for sex, age in rows:
            row = hash_of(sex) * mark.number(lane, "column", "sex")
            row += hash_of(age) * mark.number(lane, "column", "age")
            total = (total * ratio + row) % PRIME
        expected.append(total)
    assert found == " ".join(map(str, (len(rows), *expected)))


def test_another_value_order_column_or_key_is_another_fingerprint():
    rows = [("f", 0), ("m", 1), ("f", 1), (None, 2)]
    others = [
        [("f", 0), ("m", 1), ("f", 1), ("f", 2)],
        [("m", 1), ("f", 0), ("f", 1), (None, 2)],
        [("f", 1), ("m", 0), ("f", 1), (None, 2)],
        [("f", 0), ("m", 1), ("f", 1)],
        [*rows, (None, 2)],
    ]
    found = [sums_of(rows), sums_of(rows, key=bytes(32)), *map(sums_of, others)]
    assert len(set(found)) == len(found)
    for lane in (1, 2):
        assert len({one.split()[lane] for one in found}) == len(found)


def test_texts_and_numbers_of_a_file_without_types_are_the_same():
    assert hash_of("7") == hash_of(7)
    assert hash_of(None) != hash_of("")

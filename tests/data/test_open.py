"""What holds no records is refused; what is read is not held."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramble.data.arrays import finite_numbers
from pramble.data.crosstab import crosstab
from pramble.data.formats import arrow
from pramble.data.formats.registry import FORMATS, endings
from pramble.data.open import open_records
from pramble.errors import InvalidData

COLUMNS = {"sex": ["f", "m", "f", None], "age": [3, 10, 9, 3]}

BAD = [
    ({"a": 5}, "must be a sequence"),
    ({"a": "text"}, "sequences of values"),
    ({5: [1]}, "mapping from names"),
    ({"a": [1, 2], "b": [1]}, "as many rows"),
    ({"a": [1, "x"], "b": [1]}, "as many rows"),
    ({"a": np.zeros((2, 2))}, "must be a sequence"),
    ({"a": pd.Series([1, "secret"], dtype=object)}, "of one type"),
    (5, "Data is a path"),
]


@pytest.mark.parametrize(("data", "message"), BAD, ids=[m for _, m in BAD])
def test_what_holds_no_records_is_refused_without_its_values(data, message):
    with pytest.raises(InvalidData, match=message) as error:
        open_records(data)
    assert "secret" not in str(error.value)


def test_frames_of_unknown_objects_are_refused_without_their_values():
    class Secret:
        def __repr__(self):
            return "secret"

    with pytest.raises(InvalidData, match="Column 'a'") as error:
        open_records(pd.DataFrame({"a": [Secret(), Secret()]}))
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("weights", [np.ones(3), np.ones(5), np.array([1, 1, 1, np.nan])])
def test_weights_must_be_one_for_each_record(weights):
    with pytest.raises(InvalidData, match=r"one number per row|finite"):
        crosstab(open_records(COLUMNS), ["sex"], weights=weights, powers=[(1, 0)])


def test_numbers():
    assert finite_numbers(pa.array([2**60 + 1]), "x").tolist() == [float(2**60)]
    assert finite_numbers(pa.array([" 1,5"], pa.string_view()), "x", decimal=",").tolist() == [1.5]
    assert finite_numbers(pa.array(["2", "3"]).dictionary_encode(), "x").tolist() == [2.0, 3.0]
    for values in (pa.array(["secret"]), ["secret"], pa.array([[1]])):
        with pytest.raises(InvalidData, match="'x' must hold numbers") as error:
            finite_numbers(values, "x")
        assert "secret" not in str(error.value)
    with pytest.raises(InvalidData, match="row 11 holds none"):
        finite_numbers(pa.array([1.0, None]), "x", rows=range(10, 12))


def test_formats_can_be_gone_through():
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)
    assert len(set(endings())) == len(endings())
    for form in FORMATS:
        assert all(ending.startswith(".") for ending in form.endings)
        assert form.write is not None or not form.packed
    assert set(endings(written=True)) < set(endings())


def test_parquet_is_read_without_being_held(tmp_path):
    """What is allocated on the way is a few batches, not the file."""
    path = tmp_path / "many.parquet"
    noise = np.random.default_rng(1).integers(0, 2**62, 3_000_000)
    pq.write_table(pa.table({"n": noise}), path, row_group_size=50_000)
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_records(path).batches():
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 3


def test_row_groups_have_one_size_by_the_number_of_columns():
    assert arrow.group_rows(1) == arrow.group_rows(16) == 1 << 20
    assert arrow.group_rows(17) == 1 << 19
    assert arrow.group_rows(64) == 1 << 18
    assert arrow.group_rows(65) == 1 << 17

"""A release of banded numbers and dates is opened again, and its numbers are read."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import pramble

KEY = b"b" * 32
COLUMNS = {
    "age": {"bands": {"from": 0, "to": 20, "step": 5}, "family": "response"},
    "when": {"bands": {"by": "year", "from": 2020, "to": 2022}, "family": "response"},
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 1096, 4000)]
    return pa.table({"age": rng.integers(0, 30, 4000), "when": days})


def test_numbers_and_dates_come_back(people, tmp_path):
    pramble.release(
        people,
        tmp_path / "out",
        columns=COLUMNS,
        alpha=8.0,
        design="paper",
        key=KEY,
        ledger=False,
        pages=False,
    )
    opened = pramble.open_release(tmp_path / "out")
    years = pramble.estimate(opened, by="when").distribution()
    assert years.cells["statistic"][0] == "mean"
    assert abs(years.values[0] - 2021.5) < 6 * years.standard_errors[0] < 0.2
    both = pramble.estimate(opened, by=["when", "age"])
    ages = both.distribution("age", high=30, shares=[0.5])
    assert ages.cells["when"][-3:] == ("2020", "2021", "2022")
    assert (np.abs(ages.values[-3:] - 15) < 6 * ages.standard_errors[-3:]).all()
    assert (ages.standard_errors[-3:] < 1).all()


def test_dates_out_of_range_stop_the_release(people, tmp_path):
    short = {"when": {"bands": {"by": "year", "from": 2020, "to": 2021}}}
    with pytest.raises(pramble.InvalidData, match="dates from 2020 to 2021"):
        pramble.release(
            people, tmp_path / "out", columns=short, alpha=1.0, drop=["age"], ledger=False
        )
    assert not (tmp_path / "out").exists()

"""People for releases: a small file with a bit of everything, and a ledger of its own."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from pramble import datasets

AGES = ["<15", "15", "16", "17", "18-24", "25-35", "36-50", "51-70", ">70"]
PLAN = {
    "alpha": 3.0,
    "design": "paper",
    "columns": {
        "SEX": {"categories": ["Male", "Female"]},
        "AGE": {"categories": AGES},
    },
    "drop": ["name"],
}


@pytest.fixture(scope="session")
def people():
    table = datasets.synthetic_new_york(6000, seed=11).select(["SEX", "AGE", "RACESING"])
    n = table.num_rows
    table = table.append_column("income", pa.array(np.random.default_rng(7).lognormal(10, 1, n)))
    return table.append_column("name", pa.array([f"person {i}" for i in range(n)]))


@pytest.fixture
def people_file(people, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    return path


@pytest.fixture
def people_csv(people, tmp_path):
    path = tmp_path / "people.csv"
    plain = people.cast(pa.schema([(f.name, pa.string()) for f in people.schema]))
    pacsv.write_csv(plain, path)
    return path


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))

"""First plans: what columns look like, and plans that read back."""

import datetime as dt
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from pramble.errors import InvalidPlan
from pramble.releasing.profile.survey import survey_file
from pramble.releasing.spec.document import spec_from

N = 400
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "sex": pa.array(RNG.choice(["m", "f"], N)).dictionary_encode(),
        "grade": pa.array(RNG.integers(1, 5, N)),
        "smokes": pa.array(RNG.random(N) < 0.3),
        "region": pa.array([None if i % 50 == 0 else "nesw"[i % 4] for i in range(N)]),
        "person_id": pa.array(RNG.permutation(10**6)[:N]),
        "code": pa.array([f"c{i}" for i in range(N)]),
        "income": pa.array(RNG.normal(size=N)),
        "zip": pa.array(RNG.integers(10_000, 10_150, N)),
        "remark": pa.array([f"{'a long remark ' * 4}{i % 90}" for i in range(N)]),
        "town": pa.array([f"town {i % 250}" for i in range(N)]),
        "born": pa.array([dt.date(1980, 1, 1)] * N),
        "country": pa.array(["x"] * N),
    }
)
KINDS = {
    "sex": "categorical",
    "grade": "categorical",
    "smokes": "categorical",
    "region": "categorical",
    "person_id": "identifier",
    "code": "identifier",
    "income": "numeric",
    "zip": "codes",
    "remark": "free text",
    "town": "nearly unique",
    "born": "date",
    "country": "constant",
}


@pytest.fixture
def survey(tmp_path):
    pq.write_table(TABLE, tmp_path / "people.parquet")
    return survey_file(tmp_path / "people.parquet")


def test_columns_are_recognised(survey):
    assert {look.name: look.kind for look in survey.profiles} == KINDS


def test_columns_of_a_csv_are_recognised(tmp_path):
    pacsv.write_csv(TABLE, tmp_path / "people.csv")
    found = {look.name: look.kind for look in survey_file(tmp_path / "people.csv").profiles}
    assert found == KINDS


def test_an_accepted_draft_is_a_plan(survey):
    text = survey.draft(accepted=KINDS, alpha=1.5)
    plan = spec_from(tomllib.loads(text))
    assert plan.alpha == 1.5
    assert [c.name for c in plan.columns] == ["sex", "grade", "smokes", "region", "income"]
    assert plan.columns[0].categories == ("f", "m")
    assert plan.columns[2].categories == (False, True)
    assert plan.columns[3].labels() == ("e", "n", "s", "w", "missing")
    assert plan.columns[4].recode["bands"] == (-2, -1, 0, 1)
    assert plan.columns[4].recode["low"] == -2
    assert set(plan.drop) == set(KINDS) - {c.name for c in plan.columns}
    assert "identifier: 400 distinct values in 400 rows" in text


def test_a_declined_column_must_be_declared(survey):
    text = survey.draft(accepted=["sex", "grade", "smokes"])
    with pytest.raises(InvalidPlan, match="Column 'region': categories must be at least two"):
        spec_from(tomllib.loads(text))


def test_odd_names_are_written_so_that_they_read_back(tmp_path):
    names = ['a "quoted" name', "with.dots", "üñí ☃", "line\nbreak"]
    table = pa.table({name: ["x", "y", 'z "q"', "back\\slash"] * 10 for name in names})
    pq.write_table(table, tmp_path / "odd.parquet")
    survey = survey_file(tmp_path / "odd.parquet", columns=names)
    plan = spec_from(tomllib.loads(survey.draft(accepted=names)))
    assert [c.name for c in plan.columns] == names
    assert plan.columns[0].categories == ("back\\slash", "x", "y", 'z "q"')

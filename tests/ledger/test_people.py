"""A ledger that knows people: what was released once is recognised, however the file changed."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import in_ledger
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import PrivacyError

RNG = np.random.default_rng(5)
PLAN = {"alpha": 2.0, "columns": {"sex": {"categories": ["f", "m"]}}}


def table(n=1000):
    return pa.table(
        {
            "sex": RNG.choice(["f", "m"], n),
            "age": RNG.integers(0, 90, n),
            "town": RNG.choice(list("abcdef"), n),
        }
    )


@pytest.fixture
def office(tmp_path):
    """A folder in which people.parquet was released once, with α = 2 and a budget of 5."""
    people = table()
    pq.write_table(people, tmp_path / "people.parquet")
    book = tmp_path / "ledger.sqlite"
    released(tmp_path, "people.parquet", "first", budget=5.0)
    return tmp_path, people, book


def released(folder, source, target, **options):
    given = folder / source if isinstance(source, str) else source
    return pramble.release(
        given, folder / target, plan=PLAN, ledger=folder / "ledger.sqlite", pages=False, **options
    )


def as_csv(people, folder):
    pa.csv.write_csv(people, folder / "copy.csv")
    return "copy.csv"


def packed(people, folder):
    as_csv(people, folder)
    (folder / "c.csv.gz").write_bytes(gzip.compress((folder / "copy.csv").read_bytes()))
    return "c.csv.gz"


def recompressed(people, folder):
    pq.write_table(people, folder / "again.parquet", compression="gzip")
    return "again.parquet"


def one_fewer(people, folder):
    pq.write_table(people.slice(1), folder / "fewer.parquet")
    return "fewer.parquet"


def other_rows(people, folder):
    pq.write_table(people.take(RNG.permutation(len(people))), folder / "rows.parquet")
    return "rows.parquet"


def other_columns(people, folder):
    pq.write_table(people.select(["town", "sex", "age"]), folder / "columns.parquet")
    return "columns.parquet"


def fewer_columns(people, folder):
    pq.write_table(people.select(["age", "sex"]), folder / "two.parquet")
    return "two.parquet"


def a_region(people, folder):
    pq.write_table(people.slice(0, 50), folder / "region.parquet")
    return "region.parquet"


def capitals(people, folder):
    renamed = people.rename_columns(["sex", "AGE", "TOWN"])
    pq.write_table(renamed, folder / "capitals.parquet")
    return "capitals.parquet"


def a_folder(people, folder):
    (folder / "parts").mkdir()
    pq.write_table(people.slice(0, 600), folder / "parts" / "1.parquet")
    pq.write_table(people.slice(600), folder / "parts" / "2.parquet")
    (folder / "parts" / ".notes").write_text("not part of the data")
    return "parts"


def a_frame(people, folder):
    return people


CHANGES = [
    as_csv, packed, recompressed, one_fewer, other_rows, other_columns, fewer_columns, a_region,
    capitals, a_folder, a_frame,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_same_people_in_another_file_are_asked_about(office, change):
    folder, people, book = office
    source = change(people, folder)
    with pytest.raises(PrivacyError, match=r"may hold the people of 'people\.parquet'.*people=N"):
        released(folder, source, "second")
    assert not (folder / "second").exists()
    second = released(folder, source, "second", people="people")
    assert second.outcome.ledger_total.alpha == 4
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        released(folder, source, "third", people="people")  # the budget came with the first release
    assert len(in_ledger(book)) == 2


def test_the_very_same_file_needs_no_word(office):
    folder, _, _ = office
    assert released(folder, "people.parquet", "second").outcome.ledger_total.alpha == 4


def test_the_very_same_file_is_not_released_under_another_name(office):
    folder, _, _ = office
    with pytest.raises(PrivacyError, match="This very file was released before"):
        released(folder, "people.parquet", "second", people="others")


@pytest.mark.parametrize("name", ["People ", "PEOPLE", "\tpeople"])
def test_a_name_in_another_spelling_is_the_same_name(office, name):
    folder, people, book = office
    second = released(folder, as_csv(people, folder), "second", people=name)
    assert second.outcome.ledger_total.alpha == 4
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        released(folder, "people.parquet", "third", people=name)
    with pytest.raises(PrivacyError, match="does not raise"):
        released(folder, "people.parquet", "third", people=name, budget=9.0)
    assert [entry["people"] for entry in in_ledger(book)] == ["people", "people"]
    asked = ["ledger", "--ledger", str(book), "--people", name]
    assert CliRunner().invoke(app, [*asked, "--budget", "4"]).exit_code == 0
    assert json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)[1]["budget"] == 4


def test_new_people_get_no_name_in_another_spelling(office):
    folder, _, book = office
    pq.write_table(pa.table({"rooms": [1, 2] * 50}), folder / "People.v2.parquet")
    plan = {"alpha": 1.0, "columns": {"rooms": {"categories": [1, 2]}}}
    pramble.release(
        folder / "People.v2.parquet", folder / "flats", plan=plan, ledger=book, pages=False
    )
    assert in_ledger(book)[-1]["people"] == "People-2"


def test_a_release_does_not_raise_a_budget(office):
    folder, _, book = office
    with pytest.raises(PrivacyError, match=r"pramble ledger --people 'people' --budget 9"):
        released(folder, "people.parquet", "second", budget=9.0)
    released(folder, "people.parquet", "second", budget=4.5)
    assert in_ledger(book)[-1]["budget"] == 4.5


def test_other_files_hold_other_people(office):
    folder, _, book = office
    flats = pa.table({"rent": [1, 2] * 50, "rooms": [1, 2, 2, 1] * 25, "sex": ["f", "m"] * 50})
    pq.write_table(flats.select(["rent", "rooms"]), folder / "people.v2.parquet")
    plan = {"alpha": 1.0, "columns": {"rooms": {"categories": [1, 2]}}}
    pramble.release(
        folder / "people.v2.parquet", folder / "flats", plan=plan, ledger=book, pages=False
    )
    assert [entry["people"] for entry in in_ledger(book)] == ["people", "people-2"]


def test_a_name_in_the_plan(office):
    folder, people, book = office
    source = as_csv(people, folder)
    pramble.release(
        folder / source, folder / "b", plan={**PLAN, "people": "people"}, ledger=book, pages=False
    )
    assert in_ledger(book)[-1]["total"] == 4


def test_a_new_ledger_says_so(office, tmp_path):
    folder, _, _ = office
    r = pramble.release(
        folder / "people.parquet", folder / "b", plan=PLAN, ledger=tmp_path / "new.db", pages=False
    )
    assert any("A new ledger was made" in warning for warning in r.outcome.warnings)


def test_a_dry_run_makes_no_ledger_and_keeps_to_the_budget(office, tmp_path):
    folder, _, _ = office
    path = tmp_path / "deep" / "new.db"
    asked = {"plan": PLAN, "ledger": path, "dry_run": True}
    made = pramble.release(folder / "people.parquet", folder / "b", **asked)
    assert any("There is no ledger yet" in warning for warning in made.outcome.warnings)
    assert not path.parent.exists()
    with pytest.raises(PrivacyError, match=r"budget 1 already"):
        pramble.release(folder / "people.parquet", folder / "b", **asked, budget=1.0)

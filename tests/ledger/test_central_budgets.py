"""Central budgets: added up beside local ones, kept by releases, and known to old ledgers."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.releasing.conftest import COLUMNS, central, crowd, in_ledger, plan_that_keeps
from tests.releasing.seams import release_by
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidPlan, PrivacyError


def test_budgets_that_are_none_are_refused(tmp_path):
    wrong = [(0, 0), (0, 1e-6), (1, 1), (1, -0.1), (float("nan"), 0.1), 3, "10", (1,), ("a", "b")]
    for budget in wrong:
        with pytest.raises(InvalidPlan, match="central budget"):
            central(crowd(5), tmp_path / "out", ledger=tmp_path / "l", central_budget=budget)
    with pytest.raises(InvalidPlan, match="needs a ledger"):
        central(crowd(5), tmp_path / "out", ledger=False, central_budget=(1, 1e-6))
    assert list(tmp_path.iterdir()) == []


BEFORE_CENTRAL = """
CREATE TABLE secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL);
CREATE TABLE people (name TEXT PRIMARY KEY, budget TEXT);
CREATE TABLE spent (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created TEXT NOT NULL,
  people TEXT NOT NULL REFERENCES people (name),
  file TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  rows INTEGER,
  file_columns TEXT NOT NULL,
  columns TEXT NOT NULL,
  alpha TEXT NOT NULL,
  rows_per_person INTEGER NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'done'))
);
CREATE INDEX by_people ON spent (people);
INSERT INTO secret VALUES (1, x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff');
INSERT INTO people VALUES ('staff', '5'), ('guests', NULL);
INSERT INTO spent VALUES
  (1, '2026-01-01T00:00:00+00:00', 'staff', 'staff.csv', 'aa', 10, '["sex"]', '["sex"]', '3/2', 1,
   '/out/1', 'done'),
  (4, '2026-01-02T00:00:00+00:00', 'staff', 'staff.csv', 'aa', 10, '["sex"]', '["sex"]', '2', 3,
   '/out/4', 'pending'),
  (5, '2026-01-03T00:00:00+00:00', 'guests', 'g.csv', 'bb', NULL, '["a"]', '["a"]', '1', 1,
   '/out/5', 'done');
"""
"""A ledger as it was before releases had a central promise, with three releases in it."""


def old_ledger(folder):
    path = folder / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(BEFORE_CENTRAL)
    connection.close()
    return path


def test_an_old_ledger_counts_its_releases_as_unshuffled(tmp_path):
    rows = in_ledger(old_ledger(tmp_path))
    assert [row["id"] for row in rows] == [1, 4, 5]
    assert [(row["alpha"], row["epsilon"], row["delta"]) for row in rows] == [
        (1.5, 1.5, 0.0), (2.0, 2.0, 0.0), (1.0, 1.0, 0.0),
    ]  # fmt: skip
    staff = rows[1]
    assert (staff["total"], staff["total_epsilon"], staff["total_delta"]) == (3.5, 3.5, 0.0)
    assert (staff["budget"], staff["central_budget"]) == (5.0, None)


def test_two_spellings_in_an_old_ledger_are_the_same_people(tmp_path):
    path = old_ledger(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO people VALUES ('Staff ', NULL)")
        connection.execute("UPDATE spent SET people = 'Staff ' WHERE id = 4")
    connection.close()
    last = in_ledger(path)[1]
    assert last["total"] == 3.5
    assert last["budget"] == 5.0


def released(folder, name, **options):
    """A shuffled release of the same people, entered in the ledger of a folder."""
    given = {"central": 2.0, "delta": 1e-5, "design": "records", "tables": 2, **options}
    return release_by(
        plan_that_keeps(1.6), crowd(300), folder / name,
        ledger=folder / "ledger.sqlite", people="staff", **given,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two shuffled releases of the same people, and one of others that is not shuffled."""
    folder = tmp_path_factory.mktemp("office")
    first = released(folder, "one", central_budget=(3.0, 1e-4))
    second = released(folder, "two")
    pramble.release(
        crowd(200, seed=2), folder / "guests", columns=COLUMNS, alpha=2.0, design="paper",
        prior="uniform", ledger=folder / "ledger.sqlite", people="guests", pages=False,
    )  # fmt: skip
    return folder, (first, second)


@pytest.fixture
def office(made, tmp_path):
    """The ledger of these releases, and what they are."""
    folder, releases = made
    return Path(shutil.copy(folder / "ledger.sqlite", tmp_path)), releases


def test_a_release_beyond_the_central_budget_writes_nothing(office, tmp_path):
    book, releases = office
    one = releases[0].central
    spent = releases[0].central + releases[1].central
    staff = [row for row in in_ledger(book) if row["people"] == "staff"][-1]
    assert (staff["total_epsilon"], staff["total_delta"]) == (spent.shown, spent.shown_delta)
    for number in range(3):
        if spent.epsilon + one.epsilon > 3:
            break
        released(tmp_path, f"more{number}")
        spent += one
    before = in_ledger(book)
    with pytest.raises(PrivacyError, match=r"of the central budget ε = 3, δ = 0.0001 already"):
        released(tmp_path, "never", pages=True)
    assert in_ledger(book) == before
    assert not list(tmp_path.glob("*never*"))


@pytest.mark.parametrize("larger", [(4.0, 1e-6), (3.0, 1e-3)])
def test_a_release_does_not_raise_a_central_budget(office, tmp_path, larger):
    book, _ = office
    with pytest.raises(PrivacyError, match=r"does not raise.*--central-budget"):
        released(tmp_path, "three", central_budget=larger)
    assert len(in_ledger(book)) == 3


def run(*arguments):
    found = CliRunner().invoke(app, [str(part) for part in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_command_adds_up_both(office):
    book, releases = office
    rows = in_ledger(book)
    total = releases[0].central + releases[1].central
    assert [row["people"] for row in rows] == ["staff", "staff", "guests"]
    last, guests = rows[1], rows[2]
    assert last["total"] == pytest.approx(2 * releases[0].alpha)
    assert last["total_epsilon"] == total.shown
    assert last["total_delta"] == total.shown_delta
    assert last["together"] <= last["total_epsilon"]
    assert last["central_budget"] == [3.0, 1e-4]
    assert guests["alpha"] == guests["epsilon"] == pytest.approx(2.0)
    assert guests["delta"] == 0.0
    assert guests["central_budget"] is None


def test_the_command_shows_totals_of_both_in_every_form(office, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    book, releases = office
    shown = " ".join(run("ledger", "--ledger", book).split())
    total = releases[0].central + releases[1].central
    assert f"staff: α = {2 * releases[0].alpha:.4g} in all; against readers" in shown
    assert f"{total.number} of a budget of ε = 3, δ = 0.0001" in shown
    assert "guests: α = 2 in all; against readers of the releases ε = 2." in shown
    csv = run("ledger", "--ledger", book, "--csv").splitlines()
    assert csv[0].startswith("id,created,people,file,columns,alpha,total,budget,epsilon,delta")
    total = float(csv[2].split(",")[csv[0].split(",").index("total_epsilon")])
    assert total == pytest.approx(float(2 * releases[0].central.epsilon))
    only = json.loads(run("ledger", "--ledger", book, "--people", "guests", "--json"))
    assert [row["people"] for row in only] == ["guests"]


def test_the_command_sets_a_central_budget(office):
    book, *_ = office
    run("ledger", "--ledger", book, "--people", "guests", "--central-budget", "2.5,1e-5")
    guests = in_ledger(book)[-1]
    assert (guests["central_budget"], guests["budget"]) == ([2.5, 1e-5], None)
    for wrong in ("2.5", "x,y", "1,2"):
        found = CliRunner().invoke(
            app, ["ledger", "--ledger", str(book), "--people", "guests", "--central-budget", wrong]
        )
        assert found.exit_code != 0
    assert in_ledger(book)[-1]["central_budget"] == [2.5, 1e-5]

"""Central budgets: added up beside local ones, kept by many writers, and known to old ledgers."""

import json
import sqlite3
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releasing.conftest import central, crowd, plan_that_keeps
from tests.releasing.seams import as_designed
from typer.testing import CliRunner

import pramble.releasing.record_design as record_design
from pramble.cli.app import app
from pramble.errors import InvalidPlan, PrivacyError
from pramble.ledger.account import as_central, open_account, open_book
from pramble.ledger.book import NOTHING, KnownFile, Ledger, smaller
from pramble.privacy.guarantee import CentralPrivacy, RecordPrivacy, composed

FILE = KnownFile("people.csv", "f", 100, ("sex", "age"))
MOST = CentralPrivacy(Fraction(1), Fraction(1, 10**5))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def enter(ledger, epsilon, delta=0, *, people="x", alpha=8, **options):
    spent = RecordPrivacy(Fraction(alpha))
    given = None if epsilon is None else CentralPrivacy(Fraction(epsilon), Fraction(delta))
    return ledger.enter(
        people, spent, file=FILE, columns=["sex"], target="out", central=given, **options
    )


def test_local_and_central_sums_are_kept_apart(ledger):
    enter(ledger, Fraction(1, 3), Fraction(1, 10**6), alpha=8)
    enter(ledger, None, alpha=2)
    enter(ledger, Fraction(1, 7), Fraction(1, 10**7), alpha=5)
    enter(ledger, 9, people="others")
    assert ledger.total("x") == RecordPrivacy(Fraction(15))
    assert ledger.central_total("x").epsilon == Fraction(1, 3) + 2 + Fraction(1, 7)
    assert ledger.central_total("x").delta == Fraction(11, 10**7)
    assert ledger.central_total("nobody") == NOTHING
    assert Ledger(ledger.path).central_total("x") == ledger.central_total("x")


def test_neither_epsilon_nor_delta_of_a_budget_is_passed(ledger):
    enter(ledger, Fraction(1, 2), Fraction(1, 10**6), central_budget=MOST)
    for epsilon, delta in ((Fraction(501, 1000), 0), (0, Fraction(91, 10**7))):
        with pytest.raises(PrivacyError, match=r"central budget .*Nothing was released"):
            enter(ledger, epsilon, delta)
    enter(ledger, Fraction(1, 2), Fraction(9, 10**6))
    assert ledger.central_total("x") == MOST
    with pytest.raises(PrivacyError, match="central budget"):
        enter(ledger, None, alpha=1)  # unshuffled: ε = α
    assert len(ledger.entries()) == 2


def test_a_central_budget_is_none_on_alpha_and_the_other_way_round(ledger):
    enter(ledger, Fraction(1, 10), alpha=50, central_budget=MOST)
    with pytest.raises(PrivacyError, match="of the budget 60"):
        enter(ledger, Fraction(1, 10), alpha=20, budget=RecordPrivacy(Fraction(60)))
    assert ledger.budgets("x") == (None, MOST)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e-5)), max_size=8),
    st.tuples(st.floats(0.1, 2), st.floats(1e-6, 1e-4)),
)
def test_whatever_is_asked_both_parts_of_the_budget_hold(tmp_path_factory, amounts, budget):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l.sqlite")
    most, spent = CentralPrivacy(*map(Fraction, budget)), NOTHING
    for epsilon, delta in amounts:
        more = CentralPrivacy(Fraction(epsilon), Fraction(delta))
        try:
            enter(ledger, epsilon, delta, central_budget=most)
        except PrivacyError:
            assert not most.allows(spent + more)
            continue
        spent = spent + more
    assert ledger.central_total("x") == spent
    assert most.allows(spent)


pairs = st.builds(
    CentralPrivacy, st.fractions(0, 2, max_denominator=9), st.fractions(0, 1, max_denominator=9)
)


@given(pairs, pairs, pairs)
def test_the_smaller_of_two_budgets_is_what_both_allow(one, two, spent):
    both = smaller(one, two)
    assert both.allows(spent) == (one.allows(spent) and two.allows(spent))


def test_budgets_that_are_none_are_refused(tmp_path):
    for wrong in ((0, 1e-6), (1, 1), (1, -0.1), (float("nan"), 0.1), 3, "10", (1,), ("a", "b")):
        with pytest.raises(InvalidPlan, match="central budget"):
            as_central(wrong)
    with pytest.raises(InvalidPlan, match="needs a ledger"):
        open_book(ledger=False, budget=None, central_budget=(1, 1e-6))
    with pytest.raises(InvalidPlan, match="central budget"):
        central(crowd(5), tmp_path / "out", ledger=tmp_path / "l", central_budget=(0, 0))
    assert list(tmp_path.iterdir()) == []


def test_a_release_does_not_raise_a_central_budget(ledger):
    enter(ledger, Fraction(1, 10), central_budget=MOST)
    facts = {"name": "people.csv", "rows": 100, "columns": ("sex", "age")}
    for larger in ((2, 1e-6), (0.5, 1e-4)):
        with pytest.raises(PrivacyError, match=r"does not raise.*--central-budget"):
            open_account(ledger, facts, digest="d", people="x", central_budget=larger)
    open_account(ledger, facts, digest="d", people="x", central_budget=(0.5, 1e-6))
    ledger.set_budget("x", CentralPrivacy(Fraction(2), Fraction(1, 10**5)))
    open_account(ledger, facts, digest="d", people="x", central_budget=(2, 1e-6))


WRITER = """
import sys
from fractions import Fraction
from pramble.errors import PrivacyError
from pramble.ledger.book import Ledger
from pramble.ledger.book import KnownFile
from pramble.privacy.guarantee import CentralPrivacy
from pramble.privacy.guarantee import RecordPrivacy
ledger = Ledger(sys.argv[1])
file = KnownFile("f", "f", 1, ("a",))
most = CentralPrivacy(Fraction(1), Fraction(1, 1000))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    try:
        ledger.confirm(ledger.enter(
            "x", RecordPrivacy(Fraction(9)), file=file, columns=["a"], target="",
            central=CentralPrivacy(Fraction(1) / int(sys.argv[3]), Fraction(1, 10**6)),
            central_budget=most))
        print("got", flush=True)
    except PrivacyError:
        print("refused", flush=True)
"""


def race(path, *, writers, rounds, parts):
    """Processes that wait until all are there, and then enter releases at once."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(rounds), str(parts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(writers)
    ]
    for run in runs:
        run.stdout.readline()
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    return [run.communicate(timeout=120)[0].split() for run in runs]


def test_of_two_processes_that_race_for_a_budget_one_gets_it(tmp_path):
    path = tmp_path / "l.sqlite"
    ends = race(path, writers=2, rounds=1, parts=1)
    assert sorted(ends) == [["got"], ["refused"]]
    assert Ledger(path).central_total("x").epsilon == 1


def test_many_writers_meet_a_central_budget_exactly(tmp_path):
    ends = race(tmp_path / "l.sqlite", writers=3, rounds=5, parts=8)
    assert sum(end.count("got") for end in ends) == 8
    assert Ledger(tmp_path / "l.sqlite").central_total("x").epsilon == 1


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


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(BEFORE_CENTRAL)
    connection.close()
    return path


def test_an_old_ledger_counts_its_releases_as_unshuffled(old):
    ledger = Ledger(old)
    assert not ledger.is_new
    assert ledger.total("staff") == RecordPrivacy(Fraction(7, 2), 3)
    assert ledger.central_total("staff") == CentralPrivacy(Fraction(7, 2), Fraction(0), 3)
    assert ledger.budgets("staff") == (RecordPrivacy(Fraction(5)), None)
    assert [entry.id for entry in ledger.entries()] == [1, 4, 5]
    assert ledger.entries()[1].central == CentralPrivacy(Fraction(2), Fraction(0), 3)


def test_an_old_ledger_is_written_on_and_opened_again(old):
    fingerprint = Ledger(old).fingerprint("digest")
    for ledger in (Ledger(old), Ledger(old)):
        entry = enter(
            ledger, Fraction(1, 8), Fraction(1, 10**6), people="staff", alpha=Fraction(1, 2)
        )
        ledger.confirm(entry)
    ledger = Ledger(old)
    assert [entry.id for entry in ledger.entries()] == [1, 4, 5, 6, 7]
    assert ledger.central_total("staff").epsilon == Fraction(7, 2) + Fraction(1, 4)
    with pytest.raises(PrivacyError, match="of the budget 5"):
        enter(ledger, Fraction(1, 8), people="staff", alpha=1)
    ledger.cancel(4)
    assert ledger.fingerprint("digest") == fingerprint
    assert ledger.total("staff").alpha == Fraction(5, 2)


def test_two_processes_may_open_an_old_ledger_at_once(old):
    code = "import sys; from pramble.ledger.book import Ledger; Ledger(sys.argv[1])"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(old)], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [run.communicate(timeout=60)[1] for run in runs] == [b""] * 2
    assert len(Ledger(old).entries()) == 3


@pytest.fixture
def office(tmp_path, monkeypatch):
    """Two shuffled releases of the same people, and one of others that is not shuffled."""
    plan = plan_that_keeps(1.6)
    monkeypatch.setattr(
        record_design, "design_record", lambda labels, **o: as_designed(plan, 1.0, labels, **o)
    )
    book, people = tmp_path / "ledger.sqlite", crowd(300)
    common = {"central": 2.0, "tables": 2, "ledger": book, "people": "staff"}
    first = central(people, tmp_path / "one", central_budget=(3.0, 1e-4), **common)
    second = central(people, tmp_path / "two", **common)
    Ledger(book).confirm(enter(Ledger(book), None, people="guests", alpha=2))
    return book, people, (first, second), common


def test_a_release_beyond_the_central_budget_writes_nothing(office, tmp_path):
    book, people, releases, common = office
    spent = sum((release.central for release in releases), NOTHING)
    assert Ledger(book).central_total("staff") == spent
    left = CentralPrivacy(Fraction(3), Fraction(1e-4))
    third = releases[0].central
    allowed = left.allows(spent + third)
    for number in range(3):
        if not left.allows(Ledger(book).central_total("staff") + third):
            break
        central(people, tmp_path / f"more{number}", **common)
    assert allowed == (tmp_path / "more0").exists()
    before = Ledger(book).entries()
    with pytest.raises(PrivacyError, match=r"of the central budget ε = 3, δ = 0.0001 already"):
        central(people, tmp_path / "never", pages=True, **common)
    assert Ledger(book).entries() == before
    assert not list(tmp_path.glob("*never*"))


def run(*arguments):
    found = CliRunner().invoke(app, [str(part) for part in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_command_adds_up_both_and_composes(office):
    book, _, releases, _ = office
    rows = json.loads(run("ledger", "--ledger", book, "--json"))
    parts = [release.central for release in releases]
    assert [row["people"] for row in rows] == ["staff", "staff", "guests"]
    last, guests = rows[1], rows[2]
    assert last["total"] == pytest.approx(2 * releases[0].alpha)
    assert last["total_epsilon"] == (parts[0] + parts[1]).shown
    assert last["total_delta"] == (parts[0] + parts[1]).shown_delta
    assert last["together"] == composed(parts, delta=2 * last["total_delta"])
    assert last["together"] <= last["total_epsilon"]
    assert last["central_budget"] == [3.0, 1e-4]
    assert (guests["alpha"], guests["epsilon"], guests["delta"]) == (2.0, 2.0, 0.0)
    assert guests["central_budget"] is None


def test_the_command_shows_totals_of_both_in_every_form(office, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    book, _, releases, _ = office
    shown = " ".join(run("ledger", "--ledger", book).split())
    total = releases[0].central + releases[1].central
    assert f"staff: α = {2 * releases[0].alpha:.4g} in all; against readers" in shown
    assert f"ε = {total.shown:.4g}, δ = 2e-05 of a budget of ε = 3, δ = 0.0001" in shown
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
    assert Ledger(book).budgets("guests")[1] == CentralPrivacy(Fraction(2.5), Fraction(1e-5))
    assert Ledger(book).budgets("guests")[0] is None
    for wrong in ("2.5", "x,y", "1,2"):
        found = CliRunner().invoke(
            app, ["ledger", "--ledger", str(book), "--people", "guests", "--central-budget", wrong]
        )
        assert found.exit_code != 0
    assert Ledger(book).budgets("guests")[1].epsilon == Fraction(2.5)

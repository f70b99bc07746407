"""The ledger adds up, refuses to pass a budget, and survives many writers and kills."""

import os
import signal
import stat
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.data.open import open_records
from pramble.errors import InvalidData, InvalidInput, PrivacyError
from pramble.ledger.book import KnownFile, Ledger, default_ledger
from pramble.privacy.guarantee import RecordPrivacy


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\nm\nf\n")
    return path


FILE = KnownFile("people.csv", "f", 100, ("sex", "age"))


def enter(ledger, who, alpha, **options):
    promise = RecordPrivacy(Fraction(alpha))
    settings = {"file": FILE, "columns": ["a"], "target": "out", **options}
    return ledger.enter(who, promise, **settings)


def digest(path):
    return open_records(path).digest()


def test_totals_add_up_exactly(ledger, people):
    who = ledger.fingerprint(digest(people))
    for _ in range(10):
        ledger.confirm(enter(ledger, who, 0.1))
    assert ledger.total(who).alpha == 10 * Fraction(0.1)
    assert ledger.total("somebody else").alpha == 0
    assert [entry.state for entry in ledger.entries()] == ["done"] * 10
    assert Ledger(ledger.path).total(who).alpha == 10 * Fraction(0.1)


def test_fingerprints_follow_the_content_and_the_ledger(ledger, people, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(people.read_bytes())
    assert ledger.fingerprint(digest(copy)) == ledger.fingerprint(digest(people))
    copy.write_text("sex\nm\nm\n")
    assert ledger.fingerprint(digest(copy)) != ledger.fingerprint(digest(people))
    other = Ledger(tmp_path / "other.sqlite")
    assert other.fingerprint(digest(people)) != ledger.fingerprint(digest(people))


def test_a_folder_has_a_fingerprint(ledger, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_text("a\n1\n")
    first = ledger.fingerprint(digest(folder))
    (folder / "2.csv").write_text("a\n2\n")
    assert ledger.fingerprint(digest(folder)) != first


def test_a_budget_is_never_passed_and_may_be_met(ledger):
    enter(ledger, "x", Fraction(2), budget=RecordPrivacy(Fraction(3)))
    with pytest.raises(PrivacyError, match=r"at most 1 is left\. Nothing was released"):
        enter(ledger, "x", Fraction(3, 2), budget=RecordPrivacy(Fraction(3)))
    enter(ledger, "x", Fraction(1), budget=RecordPrivacy(Fraction(3)))
    assert ledger.total("x").alpha == 3


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 2), max_size=8), st.floats(0.1, 5))
def test_whatever_is_asked_the_budget_holds(tmp_path_factory, amounts, budget):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l.sqlite")
    for amount in amounts:
        try:
            enter(ledger, "x", amount, budget=RecordPrivacy(Fraction(budget)))
        except PrivacyError:
            continue
    assert ledger.total("x").alpha <= Fraction(budget)


def test_only_pending_releases_can_be_cancelled(ledger):
    first = enter(ledger, "x", Fraction(1))
    second = enter(ledger, "x", Fraction(1))
    ledger.confirm(first)
    ledger.cancel(second.id)
    assert ledger.total("x").alpha == 1
    for number in (first.id, second.id, 99):
        with pytest.raises(InvalidInput, match="no pending release"):
            ledger.cancel(number)


def test_a_release_cancelled_while_it_ran_counts_when_it_is_complete(ledger):
    entry = enter(ledger, "x", Fraction(1, 3))
    ledger.cancel(entry.id)
    later = enter(ledger, "x", Fraction(1))
    ledger.confirm(entry)
    assert ledger.total("x").alpha == Fraction(4, 3)
    assert later.id != entry.id
    assert [(e.id, e.state) for e in ledger.entries()] == [
        (entry.id, "done"),
        (later.id, "pending"),
    ]


def test_only_the_owner_reads_it(ledger):
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is not a database at all" * 50)
    with pytest.raises(InvalidData, match="cannot be used"):
        Ledger(path)
    with pytest.raises(InvalidInput, match="cannot be opened"):
        Ledger(path / "below")


def test_the_default_place_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_ledger() == tmp_path / "pramble" / "ledger.sqlite"


WRITER = """
import sys
from fractions import Fraction
from pramble.errors import PrivacyError
from pramble.privacy.guarantee import RecordPrivacy
from pramble.ledger.book import Ledger
from pramble.ledger.book import KnownFile
ledger = Ledger(sys.argv[1])
file = KnownFile("f", "f", 1, ("a",))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    try:
        limit = RecordPrivacy(Fraction(5))
        spent = RecordPrivacy(Fraction(1, 8))
        ledger.confirm(ledger.enter("x", spent, file=file, columns=["a"], target="", budget=limit))
    except PrivacyError:
        pass
"""


def start(path, rounds):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(rounds)], stdout=subprocess.PIPE
    )


def test_many_writers_at_once_meet_the_budget_exactly(tmp_path):
    path = tmp_path / "ledger.sqlite"
    writers = [start(path, 12) for _ in range(5)]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    assert Ledger(path).total("x").alpha == 5  # 60 tries of 1/8 against a budget of 40 eighths
    assert len(Ledger(path).entries()) == 40


def test_killed_writers_leave_a_sound_ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    for pause in (0.0, 0.01, 0.03):
        writer = start(path, 10_000)
        writer.stdout.readline()
        time.sleep(pause)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate(timeout=60)
        ledger = Ledger(path)
        assert ledger.total("x").alpha == Fraction(len(ledger.entries()), 8)
    assert ledger.total("x").alpha <= 5


def test_a_budget_stays_with_the_people(ledger):
    enter(ledger, "x", 2, budget=RecordPrivacy(Fraction(3)))
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        enter(ledger, "x", 2)
    enter(ledger, "y", 2)
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        enter(ledger, "x", 2, budget=RecordPrivacy(Fraction(9)))  # a larger one does not replace it
    assert ledger.budgets("x")[0].alpha == 3
    assert ledger.budgets("y")[0] is None
    ledger.set_budget("x", RecordPrivacy(Fraction(5)))
    enter(ledger, "x", 2)
    assert ledger.total("x").alpha == 4


def test_entries_come_back_as_they_were_entered(ledger):
    first = ledger.enter(
        "x", RecordPrivacy(Fraction(1, 3)).of_rows(4), file=FILE, columns=["a", "b"], target="out"
    )
    assert ledger.entries() == [first]
    assert ledger.total("x") == RecordPrivacy(Fraction(4, 3), 4)
    assert Ledger(ledger.path).is_new is False

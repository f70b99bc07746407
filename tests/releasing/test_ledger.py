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
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.folder.ledger import Ledger, default_ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\nm\nf\n")
    return path


def digest(path):
    return open_records(path).digest()


def test_totals_add_up_exactly(ledger, people):
    who = ledger.fingerprint(digest(people))
    for _ in range(10):
        ledger.confirm(
            ledger.enter(who, RecordPrivacy(Fraction(0.1)), columns=["sex"], target="out")
        )
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
    assert ledger.fingerprint_of_name("x") != ledger.fingerprint_of_name("y")


def test_a_folder_has_a_fingerprint(ledger, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_text("a\n1\n")
    first = ledger.fingerprint(digest(folder))
    (folder / "2.csv").write_text("a\n2\n")
    assert ledger.fingerprint(digest(folder)) != first


def test_a_budget_is_never_passed_and_may_be_met(ledger):
    ledger.enter(
        "x",
        RecordPrivacy(Fraction(2)),
        columns=["a"],
        target="out",
        budget=RecordPrivacy(Fraction(3)),
    )
    with pytest.raises(PrivacyError, match=r"at most 1 is left\. Nothing was released"):
        ledger.enter(
            "x",
            RecordPrivacy(Fraction(3, 2)),
            columns=["a"],
            target="out",
            budget=RecordPrivacy(Fraction(3)),
        )
    ledger.enter(
        "x",
        RecordPrivacy(Fraction(1)),
        columns=["a"],
        target="out",
        budget=RecordPrivacy(Fraction(3)),
    )
    assert ledger.total("x").alpha == 3


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 2), max_size=8), st.floats(0.1, 5))
def test_whatever_is_asked_the_budget_holds(tmp_path_factory, amounts, budget):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l.sqlite")
    for amount in amounts:
        try:
            ledger.enter(
                "x",
                RecordPrivacy(Fraction(amount)),
                columns=[],
                target="",
                budget=RecordPrivacy(Fraction(budget)),
            )
        except PrivacyError:
            continue
    assert ledger.total("x").alpha <= Fraction(budget)


def test_only_pending_releases_can_be_cancelled(ledger):
    first = ledger.enter("x", RecordPrivacy(Fraction(1)), columns=["a"], target="out")
    second = ledger.enter("x", RecordPrivacy(Fraction(1)), columns=["a"], target="out")
    ledger.confirm(first)
    ledger.cancel(second.id)
    assert ledger.total("x").alpha == 1
    for number in (first.id, second.id, 99):
        with pytest.raises(InvalidInput, match="no pending release"):
            ledger.cancel(number)


def test_a_release_cancelled_while_it_ran_counts_when_it_is_complete(ledger):
    entry = ledger.enter("x", RecordPrivacy(Fraction(1, 3)), columns=["a"], target="out")
    ledger.cancel(entry.id)
    later = ledger.enter("x", RecordPrivacy(Fraction(1)), columns=["a"], target="out")
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
from pramble.releasing.folder.ledger import Ledger
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    try:
        limit = RecordPrivacy(Fraction(5))
        spent = RecordPrivacy(Fraction(1, 8))
        ledger.confirm(ledger.enter("x", spent, columns=["a"], target="", budget=limit))
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

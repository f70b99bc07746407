"""A ledger in trouble: refused, never passed, never short of an entry; damage is noticed."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.ledger.test_central_budgets import old_ledger
from tests.releasing.conftest import in_ledger
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput, PrambleError, PrivacyError

PLAN = {"alpha": 1.0, "columns": {"sex": {"categories": ["f", "m"]}}, "design": "columns",
        "prior": "uniform"}  # fmt: skip
DRAWS = random.Random(3)
PEOPLE = pa.table({"sex": DRAWS.choices("fm", k=400), "town": DRAWS.choices("abcd", k=400)})
OTHERS = pa.table({"sex": DRAWS.choices("fm", k=700), "rooms": DRAWS.choices("1234", k=700)})


def released(folder, name, source=PEOPLE, **options):
    given = {"plan": PLAN, "ledger": folder / "l.db", "pages": False, "people": "x", **options}
    given = {key: own for key, own in given.items() if own is not None}
    return pramble.release(source, folder / name, **given)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a ledger of two releases, α = 1 each, and a budget of 2."""
    folder = tmp_path_factory.mktemp("made")
    released(folder, "a", budget=2.0)
    released(folder, "b")
    return folder / "l.db"


@pytest.fixture
def book(made, tmp_path):
    return Path(shutil.copy(made, tmp_path / "l.db"))


def edit(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


DAMAGE = {
    "an edited amount": 'UPDATE event SET text = replace(text, \'"alpha": "1"\', \'"alpha": "0"\')',
    "a cancelled entry": "UPDATE event SET text = replace(text, 'done', 'cancelled')",
    "a lost middle row": "DELETE FROM event WHERE number = 2",
    "a lost end": "DELETE FROM event WHERE number > 3",
    "a lost end, counted": "DELETE FROM event WHERE number > 3; UPDATE secret SET events = 3",
    "no rows": "DELETE FROM event",
    "no secret": "DELETE FROM secret",
    "another secret": "UPDATE secret SET bytes = randomblob(32)",
    "an older number": "PRAGMA user_version = 0",
    "a later number": "PRAGMA user_version = 3",
    "no table": "DROP TABLE event",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_ledger_refuses_releases_and_lists_nothing(book, what):
    edit(book, *DAMAGE[what].split("; "))
    before = book.read_bytes()
    for dry_run in (False, True):
        with pytest.raises(InvalidInput, match=r"cannot be used: .*Nothing was released.*--no-led"):
            released(book.parent, "c", dry_run=dry_run)
    answer = CliRunner().invoke(app, ["ledger", "--ledger", str(book)])
    assert isinstance(answer.exception, PrambleError)
    assert book.read_bytes() == before
    assert not (book.parent / "c").exists()
    assert released(book.parent, "c", ledger=False, people=None).folder.exists()


def test_the_users_own_damaged_ledger_refuses_too(book, monkeypatch):
    """A spent budget is not passed by damage: once it was, with a warning."""
    monkeypatch.setenv("XDG_DATA_HOME", str(book.parent / "xdg"))
    own = book.parent / "xdg" / "pramble" / "ledger.sqlite"
    own.parent.mkdir(parents=True)
    own.write_bytes(book.read_bytes()[:5000])
    with pytest.raises(InvalidInput, match=r"Nothing was released"):
        released(book.parent, "c", ledger=True, plan={**PLAN, "alpha": 50.0})
    own.write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"it is empty, no ledger"):
        released(book.parent, "c", ledger=True)


def test_a_locked_ledger_refuses_and_says_whom_to_ask(book, monkeypatch):
    from pramble.ledger import book as module

    monkeypatch.setattr(module, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(Path, "owner", lambda _: "mary")
    holder = sqlite3.connect(book, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InvalidInput, match=r"another program has held it .*ask 'mary'"):
        released(book.parent, "c")
    holder.close()


@pytest.mark.parametrize("message", ["database or disk is full", "attempt to write a readonly"])
def test_a_ledger_that_cannot_be_written_refuses(book, monkeypatch, message):
    real = sqlite3.connect

    class Failing(sqlite3.Connection):
        def execute(self, statement, *rest):
            if statement.startswith("BEGIN IMMEDIATE"):
                raise sqlite3.OperationalError(message)
            return super().execute(statement, *rest)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Failing))
    with pytest.raises(InvalidInput, match=message):
        released(book.parent, "c", plan={**PLAN, "alpha": 0.01}, people="others", source=OTHERS)
    assert not list(book.parent.glob("*c*"))


def test_listing_makes_no_ledger(tmp_path, monkeypatch):
    answer = CliRunner().invoke(app, ["ledger", "--ledger", str(tmp_path / "nosuch.db")])
    assert "There is no ledger" in str(answer.exception)
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_ledger_of_the_office(book, monkeypatch):
    monkeypatch.setenv("PRAMBLE_LEDGER", str(book))
    with pytest.raises(PrivacyError, match="of the budget 2 already"):
        released(book.parent, "c", ledger=True)
    released(book.parent, "c", ledger=book.parent / "other.db")
    monkeypatch.setenv("PRAMBLE_LEDGER", str(book.parent / "unmounted" / "l.db"))
    with pytest.raises(InvalidInput, match=r"PRAMBLE_LEDGER names it"):
        released(book.parent, "d", ledger=True)
    assert not (book.parent / "unmounted").exists()


def test_an_earlier_version_cannot_write_into_it(book):
    """It began so, whatever it found."""
    with pytest.raises(sqlite3.OperationalError, match="columns"):
        edit(book, "INSERT OR IGNORE INTO secret VALUES (1, x'00')")


def test_a_ledger_of_an_earlier_version_is_taken_over_once(tmp_path):
    path = old_ledger(tmp_path)
    rows = in_ledger(path)
    assert in_ledger(path) == rows
    assert [(row["id"], row["alpha"], row["state"]) for row in rows] == [
        (1, 1.5, "done"), (4, 2.0, "publishing"), (5, 1.0, "done"),
    ]  # fmt: skip
    edit(path, "UPDATE event SET text = replace(text, '3/2', '1/2')")
    with pytest.raises(InvalidInput, match="event 4 is missing or "):
        pramble.release(PEOPLE, tmp_path / "c", plan=PLAN, ledger=path)


def test_a_swapped_file_is_noticed_by_who_had_the_other_open(book, made):
    from pramble.ledger.book import Ledger

    ledger = Ledger(book)
    released(book.parent, "c", ledger=ledger, people="others", source=OTHERS)
    shutil.copy(made, book)
    with pytest.raises(InvalidInput, match="older copy took its place"):
        released(book.parent, "d", ledger=ledger, people="others", source=OTHERS)


def test_a_seal_of_an_earlier_listing_stands_in_a_later_one(book):
    def seal():
        shown = CliRunner().invoke(app, ["ledger", "--ledger", str(book)]).stdout
        return shown.split("Seal: ")[1].split()[0]

    first = seal()
    released(book.parent, "c", people="others", source=OTHERS)
    assert seal() != first
    connection = sqlite3.connect(book)
    assert (first,) in connection.execute("SELECT seal FROM event").fetchall()
    connection.close()


@pytest.mark.parametrize("trouble", ["rename", "mark"])
def test_a_folder_that_cannot_be_moved_leaves_nothing(tmp_path, monkeypatch, trouble):
    """The curator's report and the key go too, and the entry is cancelled."""
    real = Path.rename

    def fail(self, target):
        if ".out.partial-" in self.name:
            raise OSError(39, "Directory not empty")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    if trouble == "mark":
        from pramble.ledger.book import Ledger

        # As `pramble ledger --cancel` does while the release runs.
        publish = Ledger.publish
        monkeypatch.setattr(Ledger, "publish", lambda s, n: (s.cancel(n), publish(s, n)))
    with pytest.raises(PrambleError, match=r"Nothing was released"):
        released(tmp_path, "out", pages=True, key_file=tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == ["l.db"]
    assert in_ledger(tmp_path / "l.db") == []


def test_what_may_have_been_published_cannot_be_cancelled(tmp_path, monkeypatch):
    """A file system that says no after it did it: the folder stands, and the release counts."""
    real = Path.rename

    def moved_and_failed(self, target):
        real(self, target)
        if ".out.partial-" in self.name:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "rename", moved_and_failed)
    with (
        pytest.warns(pramble.errors.PrambleWarning, match="may have been published"),
        pytest.raises(InvalidInput),
    ):
        released(tmp_path, "out")
    (row,) = in_ledger(tmp_path / "l.db")
    assert row["state"] == "publishing"
    answer = CliRunner().invoke(
        app, ["ledger", "--ledger", str(tmp_path / "l.db"), "--cancel", "1"]
    )
    assert "stays in the ledger and counts" in str(answer.exception)
    assert len(in_ledger(tmp_path / "l.db")) == 1


def test_a_kill_at_the_move_stays_counted(tmp_path):
    code = (
        "import os, pathlib, sys; sys.path.insert(0, '.')\n"
        "from tests.ledger.test_trouble import released\n"
        "pathlib.Path.rename = lambda *_: os.kill(os.getpid(), 9)\n"
        "released(pathlib.Path(sys.argv[1]), 'out')"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    (row,) = in_ledger(tmp_path / "l.db")
    assert row["state"] == "publishing"
    shown = CliRunner().invoke(app, ["ledger", "--ledger", str(tmp_path / "l.db")]).stdout
    assert "Release 1 may have been published when its run ended" in " ".join(shown.split())


def test_copies_that_are_entered_between_check_and_entry_are_asked_about(tmp_path):
    """Two copies of one file at once: each was recognised before the other was entered."""
    copies = [tmp_path / f"people{end}.parquet" for end in ("", "-copy")]
    for path, kind in zip(copies, ("snappy", "gzip"), strict=True):
        pq.write_table(PEOPLE, path, compression=kind)
    given = {"people": None, "plan": {**PLAN, "alpha": 2.0}, "budget": 2.0}

    from pramble.ledger.account import Account

    real = Account.check

    def check(self, *rest):
        real(self, *rest)
        Account.check = real
        released(tmp_path, "b", copies[1], **given)

    Account.check = check
    try:
        with pytest.raises(PrivacyError, match="may hold the people of"):
            released(tmp_path, "a", copies[0], **given)
    finally:
        Account.check = real
    assert [row["alpha"] for row in in_ledger(tmp_path / "l.db")] == [2.0]
    assert not (tmp_path / "a").exists()


WORKER = """
import sys, time
from fractions import Fraction
from pramble.errors import PrambleError
from pramble.ledger.book import Ledger
from pramble.ledger.entries import Budgets, KnownFile
from pramble.privacy.promise import LocalPromise
book = Ledger(sys.argv[1])
limits = Budgets(LocalPromise(Fraction(5)))
for number in range(int(sys.argv[2])):
    file = KnownFile("f", "f", 1, ("a",))
    try:
        entry = book.enter("x", LocalPromise(Fraction(1, 8)), file=file, columns=["a"],
                           target="", budgets=limits)
        book.publish(entry.id)
        print("published", entry.id, flush=True)
        book.confirm(entry.id)
    except PrambleError:
        pass
"""


def worker(path, rounds):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), str(rounds)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("rounds", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_processes_that_are_killed_never_lose_what_they_published(tmp_path, rounds):
    chance = random.Random(rounds)
    for number in range(rounds):
        path = tmp_path / f"{number}.db"
        runs = [worker(path, 30) for _ in range(2)]
        time.sleep(chance.uniform(0.3, 0.8))
        os.kill(runs[0].pid, signal.SIGKILL)
        said = " ".join(run.communicate(timeout=120)[0] for run in runs).split()
        rows = in_ledger(path)
        published = {int(word) for word in said if word.isdigit()}
        assert published <= {row["id"] for row in rows if row["state"] != "pending"}
        assert sum(row["alpha"] for row in rows) <= 5


@pytest.mark.parametrize("rounds", [150, pytest.param(5_000, marks=pytest.mark.slow)])
def test_random_interleavings_and_damage(tmp_path, rounds):
    """Against a model that adds up: entering, marking, cancelling, budgets, bits and lost rows."""
    from fractions import Fraction

    from pramble.ledger.book import Ledger
    from pramble.ledger.entries import Budgets, KnownFile
    from pramble.privacy.promise import LocalPromise

    chance, path = random.Random(rounds), tmp_path / "l.db"
    books = [Ledger(path) for _ in range(3)]
    known = KnownFile("f", "f", 1, ("a",))
    state, limit = {}, Budgets(LocalPromise(Fraction(3)))
    for _ in range(rounds):
        own, step = chance.choice(books), chance.random()
        number = chance.choice(list(state) or [99])
        if step < 0.35:
            more = Fraction(chance.randint(1, 8), 8)
            fits = sum((s[1] for s in state.values()), more) <= 3
            try:
                entry = own.enter("x", LocalPromise(more), file=known, columns=["a"],
                                  target="", budgets=limit)  # fmt: skip
            except PrivacyError:
                assert not fits
                continue
            assert fits
            state[entry.id] = ["pending", more]
        elif step < 0.7:
            name, allowed, after = chance.choice([
                ("publish", {"pending"}, "publishing"),
                ("confirm", {"pending", "publishing"}, "done"),
                ("cancel", {"pending"}, None),
            ])  # fmt: skip
            may = number in state and state[number][0] in allowed
            try:
                getattr(own, name)(number)
            except PrambleError:
                assert not may
                continue
            assert may
            state[number][0] = after
            if after is None:
                del state[number]
        elif step < 0.95:
            whole, damaged = path.read_bytes(), None
            place = chance.randrange(len(whole))
            if chance.random() < 0.7:
                damaged = bytearray(whole)
                damaged[place] ^= 1 << chance.randrange(8)
            else:
                damaged = whole[:place]
            path.write_bytes(damaged)
            try:
                found = {e.id: [e.state, e.spent.alpha] for e in Ledger(path).entries()}
                assert found == state  # a bit that means nothing
            except PrambleError:
                pass
            path.write_bytes(whole)
        else:
            books[chance.randrange(3)] = Ledger(path)
    assert {e.id: [e.state, e.spent.alpha] for e in Ledger(path).entries()} == state

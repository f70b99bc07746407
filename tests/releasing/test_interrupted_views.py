"""A release of views that is killed: nothing or everything, and the ledger never counts too little.

Moments are chosen by what is on the disk, not by the clock alone: the process stops itself at a
given step, and is killed there.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import crowd

import pramble
from pramble.errors import InvalidData
from pramble.ledger.book import Ledger

RUN = """
import os, signal, sys
from importlib import import_module
from tests.releasing.conftest import COLUMNS, as_designed, views_that_keep
from pramble.data import atomic
from pramble.engine import dealt
from pramble.releasing.write import secret
from pramble.ledger.book import Ledger
from pramble.releasing.folder import build
from pramble.releasing.prepare import central_design
import pramble
verb = import_module("pramble.releasing.release")
contents = import_module("pramble.releasing.write.contents")
plan, (source, target, ledger, moment) = views_that_keep(2.0), sys.argv[1:]
central_design.design_record = lambda labels, **o: as_designed(plan, 1.0, labels, **o)

def small_memory():
    # no view fits in memory, so its rows are dealt into files first
    secret.MOST_CELLS_SHUFFLED = dealt.MOST_CELLS_SHUFFLED = 100

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

def stop(place, name, *, after=0, then=False):
    # kill this process at the first call of a function after some, or when it has returned
    whole, calls = getattr(place, name), []
    def counted(*given, **named):
        calls.append(1)
        if len(calls) > after and not then:
            killed()
        found = whole(*given, **named)
        if len(calls) > after:
            killed()
        return found
    setattr(place, name, counted)

{
    "before it is entered": lambda: stop(Ledger, "enter"),
    "entered": lambda: stop(Ledger, "enter", then=True),
    "first view": lambda: stop(contents, "write_part"),
    "dealing": lambda: small_memory() or stop(dealt, "deal", then=True),
    "second view": lambda: stop(contents, "write_part", after=1),
    "views written": lambda: stop(contents, "manifest_text"),
    "manifest written": lambda: stop(verb, "check_contents"),
    "checked": lambda: stop(verb, "check_contents", then=True),
    "report written": lambda: stop(verb, "write_private", then=True),
    "synced in part": lambda: stop(build, "sync", after=2),
    "moved, not synced": lambda: stop(build.Path, "rename", then=True),
    "moved": lambda: stop(Ledger, "confirm"),
    "confirmed": lambda: stop(Ledger, "confirm", then=True),
    "never": lambda: None,
}[moment]()
pramble.release(source, target, columns=COLUMNS, central=3.0, delta=1e-5, tables=2, ledger=ledger)
"""

NOTHING_SPENT = ["before it is entered"]
NOT_THERE = [
    "entered", "first view", "dealing", "second view", "views written", "manifest written",
    "checked", "report written", "synced in part",
]  # fmt: skip
THERE = ["moved, not synced", "moved", "confirmed"]


def run(source, target, ledger, moment):
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", RUN, source, target, ledger, moment],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": paths},
    )


def refused_everywhere(folder):
    """No folder that a killed run left is taken for a release, unless it is complete."""
    for place in [folder, *folder.rglob("*")]:
        if place.is_dir() and place.name != "views" and not place.name.startswith(".out.partial"):
            with pytest.raises(InvalidData):
                pramble.open_release(place)


def check(tmp_path, moment):
    source, target, book = tmp_path / "people.parquet", tmp_path / "o" / "out", tmp_path / "l.db"
    pq.write_table(crowd(300), source)
    first = run(source, target, book, moment)
    assert first.returncode == -signal.SIGKILL, first.stderr
    ledger = Ledger(book)
    entries = ledger.entries()
    if moment in NOTHING_SPENT:
        assert entries == []
    else:
        assert len(entries) == 1
        assert entries[0].state == ("done" if moment == "confirmed" else "pending")
    if moment in THERE:
        opened = pramble.open_release(target)
        assert opened.central == entries[0].central
        assert ledger.central_total(entries[0].people) == opened.central
        return source, target, book
    assert not target.exists()
    if moment == "dealing":
        found = [path for path in target.parent.rglob("*") if path.is_file()]
        assert [(path.name, path.stat().st_size) for path in found] == [("sex-ill.parquet", 0)]
    refused_everywhere(tmp_path)
    again = run(source, target, book, "never")
    assert again.returncode == 0, again.stderr
    assert list(target.parent.glob(".*")) == []
    opened = pramble.open_release(target)
    entries = ledger.entries()
    assert [entry.state for entry in entries][-1] == "done"
    assert len(entries) == (1 if moment in NOTHING_SPENT else 2)
    total = ledger.central_total(entries[-1].people)
    assert total.epsilon == len(entries) * opened.central.epsilon
    return source, target, book


@pytest.mark.parametrize("moment", ["first view", "dealing", "checked", "moved, not synced"])
def test_a_kill_leaves_nothing_or_everything(tmp_path, moment):
    check(tmp_path, moment)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [*NOTHING_SPENT, *NOT_THERE, *THERE])
def test_a_kill_at_any_step_leaves_nothing_or_everything(tmp_path, moment):
    source, target, book = check(tmp_path, moment)
    if moment in THERE:
        again = run(source, target, book, "never")
        assert again.returncode != 0
        assert "never overwritten" in again.stderr
        assert len(Ledger(book).entries()) == 1

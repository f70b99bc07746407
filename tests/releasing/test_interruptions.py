"""Killed anywhere, out of space: a complete release or none, and the ledger on the safe side."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.releasing.conftest import PLAN, in_ledger

import pramble
from pramble import release
from pramble.errors import InvalidInput

RUN = """
import sys, time
import pyarrow, pyarrow.parquet, pyarrow.dataset, numba
import pramble
from pramble.engine import perturb, sampling
from pramble.solvers import design
from pramble.estimation import estimate
plan = {"alpha": 3.0, "drop": ["name"], "columns": {"SEX": {"categories": ["Male", "Female"]},
        "RACESING": {"categories": "seen"}}}
print("ready", flush=True)
pramble.release(sys.argv[1], sys.argv[2], plan=plan, ledger=sys.argv[3])
print("done", flush=True)
"""


def start(source, target, ledger, **options):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(source), str(target), str(ledger)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("moments", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_leaves_nothing_or_everything(people_file, tmp_path, moments):
    ledger = tmp_path / "ledger.sqlite"
    whole = start(people_file, tmp_path / "first", ledger)
    whole.stdout.readline()
    begun = time.monotonic()
    assert whole.communicate(timeout=120)[0] == "done\n"
    duration = time.monotonic() - begun
    complete = 0
    for share in np.linspace(0.1, 1.1, moments):
        target = tmp_path / "out" / f"{share:.3f}"
        run = start(people_file, target, ledger)
        run.stdout.readline()
        time.sleep(share * duration)
        os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=60)
        if target.exists():
            complete += 1
            assert pramble.open_release(target).data.num_rows == 6000
        assert len(in_ledger(ledger)) >= 1 + complete
    for target in sorted({entry["target"] for entry in in_ledger(ledger)}):
        name = Path(target).name
        if not Path(target).exists():
            release(people_file, target, plan=PLAN, ledger=ledger)
        assert not list(Path(target).parent.glob(f".{name}.partial-*"))


def test_a_full_disk_leaves_nothing_and_says_so(people_file, tmp_path):
    """A limit on the size of files makes the data file fail half way."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    ledger = tmp_path / "ledger.sqlite"
    release(people_file, tmp_path / "warm", plan=PLAN)  # compiled code is cached now
    assert in_ledger(ledger) == []
    run = start(people_file, tmp_path / "out", ledger, preexec_fn=limit)
    _, words = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "Nothing was released." in words
    assert not list(tmp_path.glob("*out*"))
    assert in_ledger(ledger) == []


def test_an_empty_folder_may_become_the_release(people_file, tmp_path):
    (tmp_path / "out").mkdir()
    release(people_file, tmp_path / "out", plan=PLAN)
    assert pramble.open_release(tmp_path / "out").data.num_rows == 6000


def test_two_releases_to_one_target_at_once(people_file, tmp_path):
    runs = [start(people_file, tmp_path / "out", tmp_path / "l.sqlite") for _ in range(2)]
    ends = [run.communicate(timeout=120) for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 1]
    words = "".join(words for _, words in ends)
    assert "Nothing was released" in words or "never overwritten" in words
    assert pramble.open_release(tmp_path / "out").data.num_rows == 6000
    assert len(in_ledger(tmp_path / "l.sqlite")) == 1


def test_what_a_killed_run_left_is_removed_by_the_next(people_file, tmp_path):
    abandoned, busy = (tmp_path / f".out.partial-{end}" for end in ("12345678", "87654321"))
    for folder in (abandoned, busy):
        folder.mkdir()
        (folder / "randomised.parquet").write_text("half")
    lock = os.open(busy, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # as a process that is still writing holds it
    release(people_file, tmp_path / "out", plan=PLAN, pages=False)
    os.close(lock)
    assert not abandoned.exists()
    assert busy.exists()


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_any_trouble_while_writing_removes_the_folder(people_file, tmp_path, trouble):
    def watch(step):
        if step.what == "randomising" and step.rows:
            assert list(tmp_path.glob(".out.partial-*"))
            raise trouble

    expected = KeyboardInterrupt if trouble is KeyboardInterrupt else InvalidInput
    with pytest.raises(expected):
        release(people_file, tmp_path / "out", plan=PLAN, progress=watch)
    assert not list(tmp_path.glob("*out*"))
    assert in_ledger(tmp_path / "xdg/pramble/ledger.sqlite") == []


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(5, "Input/output error")])
def test_trouble_while_moving_into_place(people_file, tmp_path, monkeypatch, trouble):
    """Before the folder has its name nothing was released; after that it counts."""
    ledger, real = tmp_path / "ledger.sqlite", os.fsync

    def fail(handle):
        there = (tmp_path / "out").exists()
        if there if trouble is KeyboardInterrupt else list(tmp_path.glob(".out.partial-*")):
            raise trouble
        real(handle)

    monkeypatch.setattr(os, "fsync", fail)
    if trouble is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            release(people_file, tmp_path / "out", plan=PLAN, ledger=ledger, pages=False)
        assert pramble.open_release(tmp_path / "out").data.num_rows == 6000
        assert [entry["state"] for entry in in_ledger(ledger)] == ["publishing"]
    else:
        with pytest.raises(InvalidInput, match=r"Input/output error\. Nothing was released"):
            release(people_file, tmp_path / "out", plan=PLAN, ledger=ledger, pages=False)
        assert not list(tmp_path.glob("*out*"))
        assert in_ledger(ledger) == []


def test_a_report_that_cannot_be_written_leaves_nothing(people_file, tmp_path, monkeypatch):
    real = os.fsync

    def fail(handle):
        if list(tmp_path.glob(".out-report.html.*")):
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InvalidInput, match=r"No space left on device\. Nothing was released"):
        release(people_file, tmp_path / "out", plan=PLAN, ledger=False)
    assert not list(tmp_path.glob("*out*"))

"""Killed anywhere, out of space: a complete release or none, and the ledger on the safe side."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.releasing.conftest import PLAN

import pramble
import pramble.releasing.folder.build as folder_module
from pramble.errors import InvalidInput
from pramble.ledger.book import Ledger
from pramble.releasing.folder.build import building, locked
from pramble.releasing.release import release

RUN = """
import sys, time
import pyarrow, pyarrow.parquet, pyarrow.dataset, numba
import pramble
from pramble.engine import perturb, sampling
from pramble.releasing.release import release
from pramble.solvers import design
from pramble.estimation import estimate
plan = {"alpha": 3.0, "drop": ["name"], "columns": {"SEX": {"categories": ["Male", "Female"]},
        "RACESING": {"categories": "seen"}}}
print("ready", flush=True)
release(sys.argv[1], sys.argv[2], plan=plan, ledger=sys.argv[3])
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
        spent = Ledger(ledger).entries()
        published = 1 + complete
        assert len(spent) >= published
    for target in sorted({entry.target for entry in Ledger(ledger).entries()}):
        name = Path(target).name
        if not Path(target).exists():
            release(people_file, target, plan=PLAN, ledger=ledger)
        assert not list(Path(target).parent.glob(f".{name}.partial-*"))


def test_what_a_killed_run_left_is_removed_by_the_next(people_file, tmp_path):
    abandoned = tmp_path / ".out.partial-12345678"
    abandoned.mkdir()
    (abandoned / "data.parquet").write_text("half")
    busy = tmp_path / ".out.partial-87654321"
    busy.mkdir()
    lock = locked(busy)
    release(people_file, tmp_path / "out", plan=PLAN)
    os.close(lock)
    assert not abandoned.exists()
    assert busy.exists()


def test_a_full_disk_leaves_nothing_and_says_so(people_file, tmp_path):
    """A limit on the size of files makes the data file fail half way."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    ledger = tmp_path / "ledger.sqlite"
    release(people_file, tmp_path / "warm", plan=PLAN)  # compiled code is cached now
    Ledger(ledger)
    run = start(people_file, tmp_path / "out", ledger, preexec_fn=limit)
    _, words = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "Nothing was released." in words
    assert not list(tmp_path.glob("*out*"))
    assert Ledger(ledger).entries() == []


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_any_trouble_removes_the_folder(tmp_path, trouble):
    def fail():
        with building(tmp_path / "out") as folder:
            (folder / "data.csv").write_text("x")
            raise trouble

    expected = KeyboardInterrupt if trouble is KeyboardInterrupt else InvalidInput
    with pytest.raises(expected):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_trouble_while_moving_into_place(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(folder_module, "sync", refuse)
    with (
        pytest.raises(InvalidInput, match=r"Input/output error\. Nothing was released"),
        building(tmp_path / "out"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


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
    assert len(Ledger(tmp_path / "l.sqlite").entries()) == 1


def test_an_interrupt_after_the_folder_has_its_name_still_counts(
    people_file, tmp_path, monkeypatch
):
    def interrupt(_folder):
        if (tmp_path / "out").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        release(people_file, tmp_path / "out", plan=PLAN, ledger=tmp_path / "ledger.sqlite")
    assert pramble.open_release(tmp_path / "out").data.num_rows == 6000
    assert [entry.state for entry in Ledger(tmp_path / "ledger.sqlite").entries()] == ["pending"]

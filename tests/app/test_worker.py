"""Work in the background: in turn, replaced by its like, stopped, failed, killed."""

import os
import signal
import time

import pytest

from pramble.app.worker import Worker
from pramble.errors import InvalidData, with_values
from pramble.values import Progress


def slow(seconds, *, progress=None):
    if progress is not None:
        progress(Progress("sleeping", 0.5))
    time.sleep(seconds)
    return os.getpid()


def fails():
    raise with_values(InvalidData("Column 'a' holds others."), "secret")


def breaks():
    raise RuntimeError("secret")


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def worker():
    found = Worker()
    yield found
    found.stop()


def ended(worker, work):
    worker.wait(work)
    return work


def test_work_is_done_in_turn_by_one_process(worker):
    one = worker.do(slow, 0.2, name="one", progress=True)
    two = worker.do(slow, 0.0, name="two")
    assert (one.state, two.state, two.progress.what) == ("running", "running", "waiting")
    assert ended(worker, one).result == ended(worker, two).result != os.getpid()
    assert one.progress.what == "sleeping"


def test_work_of_the_same_name_is_replaced_and_the_rest_goes_on(worker):
    one = worker.do(slow, 60, name="one")
    two = worker.do(slow, 0.0, name="two")
    again = worker.do(slow, 0.0, name="one")
    assert one.state == "stopped"
    assert ended(worker, two).state == ended(worker, again).state == "done"


def test_what_goes_on_is_stopped_at_once_and_the_worker_works_on(worker):
    one, two = worker.do(slow, 60, name="one"), worker.do(slow, 0.0, name="two")
    worker.stop("one")
    assert one.state == "stopped"
    assert ended(worker, two).state == "done"
    one, two = worker.do(slow, 60, name="one"), worker.do(slow, 60, name="two")
    worker.stop()
    assert (one.state, two.state) == ("stopped", "stopped")
    assert worker.process is None
    assert ended(worker, worker.do(slow, 0.0)).state == "done"


def test_failures_are_sentences_that_keep_values_apart(worker):
    work = ended(worker, worker.do(fails))
    assert (work.state, work.error, work.values) == ("failed", "Column 'a' holds others.", "secret")
    work = ended(worker, worker.do(breaks))
    assert "RuntimeError" in work.error
    assert "secret" not in work.error


def test_a_killed_process_is_told_and_replaced(worker):
    assert "ended" in ended(worker, worker.do(dies)).error
    assert ended(worker, worker.do(slow, 0.0)).state == "done"

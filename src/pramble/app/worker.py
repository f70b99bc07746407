"""Work in the background: one process for each desk, which shows how far it is and can be stopped.

A process can be ended at any moment, also in the midst of a solver; verbs leave nothing behind when
they are killed. It keeps what it needs again, such as the counts of a file.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from pramble.errors import PrambleError
from pramble.values import Progress

STARTED = Progress("starting", 0.0)
PATIENCE = 10.0
"""Seconds that interrupted work has to undo what it has begun."""


class Work:
    """One piece of work, as the desk sees it.

    Attributes
    ----------
    state : {"running", "done", "failed", "stopped"}
    progress : Progress
    result : object
        When it is done.
    error, values : str
        Why it failed, as a sentence; and the values of the data that this is about.
    """

    def __init__(self, name: str) -> None:
        self.name, self.state, self.progress = name, "running", STARTED
        self.result: Any = None
        self.error = self.values = ""

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self.state == "running"

    def fail(self, error: str, values: str = "") -> None:
        """End with a sentence."""
        self.error, self.values, self.state = error, values, "failed"


class Worker:
    """A process that does one piece of work after another.

    Examples
    --------
    >>> worker = Worker()
    >>> work = worker.do(len, "abc")
    >>> worker.wait(work)
    >>> work.state, work.result
    ('done', 3)
    >>> worker.stop()
    """

    def __init__(self) -> None:
        self.process: Any = None
        self.ours: Connection | None = None
        self.work: Work | None = None
        self.reader: threading.Thread | None = None

    def do(self, task: Callable[..., Any], *given: Any, name: str = "", **more: Any) -> Work:
        """Begin a piece of work: a function of a module, with what it is given."""
        if self.work is not None and self.work.is_running:
            self.interrupt()
        if self.process is None or not self.process.is_alive():
            self.start()
        assert self.ours is not None
        self.work = Work(name or task.__name__)
        self.ours.send((task, given, more))
        self.reader = threading.Thread(target=listen, args=(self.ours, self.work), daemon=True)
        self.reader.start()
        return self.work

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=serve_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        """End the work that is going on, and the process with it."""
        if self.work is not None and self.work.is_running:
            self.work.state = "stopped"
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def interrupt(self, seconds: float = PATIENCE) -> bool:
        """Let the work that is going on undo what it has begun, and return whether it did.

        What takes longer than so many seconds is ended.
        """
        process = self.process
        if self.work is not None and self.work.is_running:
            self.work.state = "stopped"
        if process is None or not process.is_alive():
            return True
        os.kill(process.pid, signal.SIGINT)
        process.join(seconds)
        undone = not process.is_alive()
        self.stop()
        return undone

    def wait(self, work: Work) -> None:
        """Wait until a piece of work has ended."""
        if self.reader is not None and self.work is work:
            self.reader.join()


def listen(ours: Connection, work: Work) -> None:
    """Take what the process tells of a piece of work, until it has ended."""
    while work.is_running:
        try:
            kind, told = ours.recv()
        except (EOFError, OSError):
            if work.is_running:
                work.fail("The work was ended from outside, perhaps for want of memory.")
            return
        if kind == "progress":
            work.progress = told
        elif kind == "done":
            work.result, work.state = told, "done"
        else:
            work.fail(*told)


def serve_work(theirs: Connection) -> None:
    """Do what is asked for, in the process, until the desk is gone."""
    warnings.simplefilter("ignore")  # results hold what there is to say
    while True:
        try:
            task, given, more = theirs.recv()
            theirs.send(outcome(task, given, more, theirs))
        except (EOFError, OSError, KeyboardInterrupt):
            return


def outcome(
    task: Callable[..., Any], given: tuple[Any, ...], more: dict[str, Any], theirs: Connection
) -> tuple[str, Any]:
    """Do one piece of work and return how it ended."""
    if more.get("progress") is True:
        more["progress"] = lambda told: theirs.send(("progress", told))
    try:
        return "done", task(*given, **more)
    except PrambleError as error:
        return "failed", (str(error), error.values)
    except MemoryError:
        return "failed", ("There is not enough memory for this.", "")
    except OSError as error:
        return "failed", (f"{type(error).__name__}: {error.strerror or error}.", "")
    except Exception as error:  # noqa: BLE001 (its message may hold values of the data)
        return "failed", (f"Unexpected {type(error).__name__}; please report it.", str(error))

"""Work in the background: a process that does one thing after another, and can be stopped.

A process can be ended at any moment, also in the midst of a solver. It keeps what it needs again.
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

WAITING = Progress("waiting", 0.0)
# Seconds that interrupted work has to undo what it has begun.
PATIENCE = 10.0


class Work:
    """One piece of work; ``values`` are the values of the data that an error is about.

    When it is stopped it has ``patience`` seconds to undo what it has begun; ``stopped`` says what
    came of that, given whether it did.
    """

    def __init__(
        self, name: str, worker: "Worker", task: Callable[..., Any], given: Any, more: Any
    ) -> None:
        self.name, self.worker, self.asked = name, worker, (task, given, more)
        self.patience, self.undone = 0.0, True
        self.stopped: Callable[[bool], str] = lambda _: "Stopped; nothing was changed."
        self.state = "running"  # also while it waits; then "done", "failed" or "stopped"
        self.progress = WAITING
        self.result: Any = None
        self.error = self.values = ""

    @property
    def is_running(self) -> bool:
        return self.state == "running"


class Worker:
    """A process that does one piece of work after another."""

    def __init__(self) -> None:
        self.process: Any = None
        self.ours: Connection | None = None
        self.queue: list[Work] = []
        self.turn = threading.Condition(threading.RLock())

    def do(self, task: Callable[..., Any], *given: Any, name: str = "", **more: Any) -> Work:
        """Begin a piece of work, in its turn: a function of a module, with what it is given.

        Work of the same name that has not ended is stopped.
        """
        work = Work(name or task.__name__, self, task, given, more)
        with self.turn:
            self.stop(work.name)
            self.queue.append(work)
            if self.queue[0] is work:
                self.begin(work)
        return work

    def begin(self, work: Work) -> None:
        """Give the first of the queue to the process, which is started if there is none."""
        if self.process is None or not self.process.is_alive():
            # A fork would copy the threads of the server and of BLAS in whatever state they are.
            context = multiprocessing.get_context("spawn")
            self.ours, theirs = context.Pipe()
            self.process = context.Process(target=serve_work, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        assert self.ours is not None
        self.ours.send(work.asked)
        threading.Thread(target=self.listen, args=(self.ours, work), daemon=True).start()

    def listen(self, ours: Connection, work: Work) -> None:
        """Take what the process tells of a piece of work, until it has ended; then the next."""
        while work.is_running:
            try:
                kind, message = ours.recv()
            except (EOFError, OSError):
                kind, message = "failed", ("The work was ended, perhaps for want of memory.", "")
                self.forget(ours)
            with self.turn:
                if work.state == "stopped":  # meanwhile
                    break
                if kind == "progress":
                    work.progress = message
                elif kind == "done":
                    work.result, work.state = message, "done"
                else:
                    (work.error, work.values), work.state = message, "failed"
        with self.turn:
            if self.queue and self.queue[0] is work:
                self.go_on()
            self.turn.notify_all()

    def forget(self, ours: Connection) -> None:
        """Leave a process that has ended by itself."""
        with self.turn:
            if self.ours is ours and self.process is not None:
                self.process.join()
                self.process = None

    def go_on(self) -> None:
        """Leave the first of the queue, and begin the next."""
        self.queue.pop(0)
        if self.queue:
            self.begin(self.queue[0])

    def stop(self, name: str | None = None, *, patience: float = 0.0) -> bool:
        """Stop the work of a name, or all; what goes on is ended together with the process.

        With patience it has so many seconds to undo what it has begun; return whether it did.
        """
        undone = True
        with self.turn:
            ended = [work for work in self.queue if name in (None, work.name)]
            for work in ended:
                work.state = "stopped"
            first = self.queue[0] if self.queue else None
            self.queue = [work for work in self.queue if work not in ended or work is first]
            if (first in ended or name is None) and self.process is not None:
                undone = self.end(patience if first in ended else 0.0) or first is None
            if first is not None and first in ended:
                self.go_on()
            self.turn.notify_all()
        return undone

    def end(self, patience: float) -> bool:
        """End the process; return whether it ended by itself when it was interrupted."""
        process, self.process = self.process, None
        if patience and process.is_alive():
            # As Ctrl+C does: a release then removes its folder and its entry in the ledger.
            os.kill(process.pid, signal.SIGINT)
            process.join(patience)
        undone = not process.is_alive()
        process.kill()
        process.join()
        return undone

    def wait(self, work: Work) -> None:
        with self.turn:
            self.turn.wait_for(lambda: not work.is_running)


def serve_work(theirs: Connection) -> None:
    """Do what is asked for, in the process, until the app is gone."""
    warnings.simplefilter("ignore")  # results hold what there is to say
    while True:
        try:
            task, given, more = theirs.recv()
            theirs.send(outcome_of_work(task, given, more, theirs))
        except (EOFError, OSError, KeyboardInterrupt):
            return


def outcome_of_work(
    task: Callable[..., Any], given: tuple[Any, ...], more: dict[str, Any], theirs: Connection
) -> tuple[str, Any]:
    """Do one piece of work and return how it ended."""
    if more.get("progress") is True:
        more["progress"] = lambda message: theirs.send(("progress", message))
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

"""How far a run has come, and how long the rest will take."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    rows : int
        Rows done so far.
    share : float
        Share of the input that is done, between 0 and 1.
    seconds : float
        Time taken so far.
    """

    rows: int
    share: float
    seconds: float

    @property
    def rows_per_second(self) -> float:
        """The rate so far."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """The time that the rest will take at this rate; infinite before anything is done."""
        return self.seconds * (1 - self.share) / self.share if self.share else float("inf")


Watcher = Callable[[Progress], Any]


class Clock:
    """Tells a watcher how far a run has come; a run over several files has parts."""

    def __init__(self, watcher: Watcher | None) -> None:
        self.watcher = watcher
        self.start = time.monotonic()
        self.rows, self.before, self.part = 0, 0.0, 1.0

    def seconds(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self.start

    def begin_part(self, before: float, part: float) -> None:
        """Begin a file that is ``part`` of the whole, of which ``before`` is done."""
        self.before, self.part = before, part

    def tell(self, rows: int, share: float) -> None:
        """Note that ``rows`` more are done and ``share`` of the present part is read."""
        self.rows += rows
        if self.watcher:
            done = self.before + self.part * min(share, 1.0)
            self.watcher(Progress(self.rows, done, self.seconds()))

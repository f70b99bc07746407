"""When a search stops, and whom it tells."""

import math
import threading
import time

from pramble.values import Clock, Watcher

SHARED = 4.0
"""A busy machine may make a search take so many times its limit."""


class Watch:
    """The tolerance and the time of a search, and who hears how far it has come.

    The limit is in seconds of work, so that what is found depends little on what else the machine
    does: those of the processor in the thread that started, and at least a quarter of those on the
    wall. Another thread counts those on the wall.
    """

    def __init__(
        self, tolerance: float, time_limit: float | None = None, progress: Watcher | None = None
    ) -> None:
        self.tolerance = tolerance
        self.time_limit = math.inf if time_limit is None else time_limit
        self.clock = Clock(progress)
        self.start = time.monotonic(), time.thread_time()
        self.thread = threading.get_ident()

    def inner(self, tolerance: float, *, seconds: float = math.inf, quiet: bool = False) -> "Watch":
        """Return the watch of a part of the search, which may take so many seconds at most."""
        part = Watch(tolerance, min(self.time_limit, self.seconds() + seconds))
        part.start, part.thread = self.start, self.thread
        part.clock = self.clock.part(0.0, 1.0)
        part.clock.watcher = None if quiet else self.clock.watcher
        return part

    def seconds(self) -> float:
        """Return the seconds of work since the start."""
        wall, own = self.start
        passed = time.monotonic() - wall
        if threading.get_ident() != self.thread:
            return passed
        return max(time.thread_time() - own, passed / SHARED)

    def left(self) -> float:
        """Return the seconds left."""
        return self.time_limit - self.seconds()

    def closed(self, value: float, bound: float) -> bool:
        """Whether a value is so near to its bound, from either side, as the tolerance asks."""
        return abs(bound - value) <= self.tolerance * value

    def tell(self, what: str, *, value: float, bound: float) -> None:
        """Tell a value and a bound; the share done is the ratio of the two."""
        least, most = sorted((value, bound))
        share = least / most if 0 < most < math.inf else 0.0
        self.clock.tell(what, share, value=value, bound=bound)

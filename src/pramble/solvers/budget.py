"""How long a search goes on, and who hears how far it has come."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from pramble.errors import InvalidInput
from pramble.values import Reporter, Watcher

# Elementary operations in a unit of effort: about a second of one processor of 2024.
OPERATIONS = 1e9
# What a pass through a loop costs beside its arithmetic, in operations.
CALL = 2e4


class SearchOptions(TypedDict, total=False):
    """Keywords of every search: counted effort, seconds, and a function that hears of progress."""

    effort: float | None
    time_limit: float | None
    progress: Watcher | None


@dataclass
class Meter:
    """What a search and all its parts have spent, and when the time is up."""

    spent: float = 0.0
    deadline: float = math.inf


class SearchBudget:
    """The tolerance and the effort of a search, and who hears how far it has come.

    Effort is counted, not timed: every loop states how many operations it took. So the same input
    gives the same answer on every machine, however busy. Only a ``time_limit``, in seconds, that
    was asked for ends a search by the clock; it bounds the effort, too, for the parts of a search
    share that out.
    """

    def __init__(
        self,
        tolerance: float,
        effort: float | None = None,
        *,
        time_limit: float | None = None,
        progress: Watcher | None = None,
    ) -> None:
        checked_positive("effort", effort)
        checked_positive("time_limit", time_limit)
        self.tolerance = tolerance
        given = [float(one) for one in (effort, time_limit) if one is not None]
        self.limit = min(given, default=math.inf)
        self.start = 0.0
        self.reason = "effort" if time_limit is None else "time limit"
        self.meter = Meter()
        if time_limit is not None:
            self.meter.deadline = time.monotonic() + time_limit
        self.reporter = Reporter(progress)

    def part(
        self, tolerance: float, *, effort: float = math.inf, quiet: bool = False
    ) -> "SearchBudget":
        """Return the budget of a part of the search, which may take so much effort at most."""
        part = SearchBudget(tolerance)
        part.meter, part.reason, part.start = self.meter, self.reason, self.meter.spent
        part.limit = min(effort, self.limit - self.spent)
        part.reporter = self.reporter.part(0.0, 1.0)
        part.reporter.watcher = None if quiet else self.reporter.watcher
        return part

    def until(self, share: float) -> "SearchBudget":
        """Return the budget of a part that ends when so much of this one is spent."""
        return self.part(self.tolerance, effort=share * self.limit - self.spent, quiet=True)

    def spend(self, operations: float) -> None:
        """Count so many operations, and one pass through a loop."""
        self.meter.spent += (operations + CALL) / OPERATIONS

    @property
    def spent(self) -> float:
        return self.meter.spent - self.start

    def left(self) -> float:
        """Return the effort left; none when the time is up."""
        return -math.inf if self.seconds_left() <= 0 else self.limit - self.spent

    def seconds_left(self) -> float:
        """Return the seconds left; infinitely many unless a time limit was asked for."""
        deadline = self.meter.deadline
        return math.inf if math.isinf(deadline) else deadline - time.monotonic()

    def is_over(self) -> bool:
        return self.left() <= 0

    def closed(self, value: float, bound: float) -> bool:
        """Whether a value is so near to its bound, from either side, as the tolerance asks."""
        return abs(bound - value) <= self.tolerance * value

    def report(self, what: str, *, value: float, bound: float) -> None:
        """Report a value and a bound; the share done is the ratio of the two."""
        least, most = sorted((value, bound))
        share = least / most if 0 < most < math.inf else 0.0
        self.reporter.report(what, share, value=value, bound=bound)


def budget_of(tolerance: float, search: Mapping[str, Any]) -> SearchBudget:
    """Return the budget that a verb's keywords ask for; refuse keywords that it does not know."""
    unknown = sorted(search.keys() - SearchOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    return SearchBudget(tolerance, **search)


def checked_positive(name: str, given: float | None) -> None:
    """Refuse anything but a positive finite number, or None where none is given."""
    if given is None:
        return
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not (is_number and math.isfinite(given) and given > 0):
        raise InvalidInput(f"{name} must be positive and finite; found {given!r}.")

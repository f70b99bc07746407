"""What every area shares: frozen values, names of array types, and word of how far work has come.

A value is a frozen dataclass whose arrays are read-only and stay so after unpickling.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

T = TypeVar("T")


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T], /) -> type[T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, repr: bool = True) -> Callable[[type[T]], type[T]]: ...


def frozen(cls: Any = None, /, *, eq: bool = True, repr: bool = True) -> Any:  # noqa: A002
    """Make a class a frozen dataclass: arrays read-only, dicts sealed, pickled by its fields.

    ``__post_init__`` runs first, so it may check and replace fields. With arrays among the fields
    say ``eq=False``: values then compare by identity.

    Examples
    --------
    >>> @frozen(eq=False)
    ... class Pair:
    ...     numbers: Floats
    >>> Pair(np.array([1.0, 2.0])).numbers.flags.writeable
    False
    """

    def made(cls: Any) -> Any:
        check = getattr(cls, "__post_init__", None)

        def sealed(self: Any) -> None:
            if check is not None:
                check(self)
            for part in fields(self):
                found = getattr(self, part.name)
                if type(found) is dict:
                    object.__setattr__(self, part.name, MappingProxyType(found))
                elif isinstance(found, np.ndarray) and found.flags.writeable:
                    object.__setattr__(self, part.name, read_only(found.view()))

        cls.__post_init__ = sealed
        cls.__reduce__ = by_fields
        return dataclass(frozen=True, eq=eq, repr=repr)(cls)

    return made if cls is None else made(cls)


def by_fields(self: Any) -> tuple[Any, ...]:
    """Return how a value is built again: its class and its fields (pickle's ``__reduce__``)."""
    parts = (getattr(self, part.name) for part in fields(self))
    return type(self), tuple(dict(p) if isinstance(p, MappingProxyType) else p for p in parts)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array after switching off writing."""
    array.flags.writeable = False
    return array


@frozen
class Progress:
    """How far a piece of work has come: what every ``progress=`` callable is called with.

    Attributes
    ----------
    what : str
        What is being done.
    share : float
        Share of it that is done, between 0 and 1.
    seconds : float
        Time taken so far.
    rows : int
        Rows done so far, where rows are what is worked on.
    figures : mapping
        Figures on the way, such as the ``value`` and ``bound`` of a design.

    Examples
    --------
    >>> import pramble
    >>> pramble.Progress("writing", 0.25, seconds=2.0).seconds_left
    6.0
    """

    what: str
    share: float
    seconds: float = 0.0
    rows: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds_left(self) -> float:
        """The time that the rest will take at this rate; infinite before anything is done."""
        return self.seconds * (1 - self.share) / self.share if self.share else float("inf")


# The one protocol of `progress=`: a callable that is given a `Progress` now and then.
Watcher = Callable[[Progress], object]


class Reporter:
    """Says to a watcher how far a piece of work has come; work may have parts.

    Examples
    --------
    >>> reporter = Reporter(lambda progress: print(progress.what, progress.share))
    >>> reporter.report("counting", 0.5)
    counting 0.5
    >>> reporter.part(0.5, 0.2).report("writing", 0.5)
    writing 0.6
    """

    def __init__(self, watcher: Watcher | None, *, before: float = 0.0, part: float = 1.0) -> None:
        self.watcher, self.before, self.size = watcher, before, part
        self.start, self.rows = time.monotonic(), 0

    def part(self, before: float, size: float) -> "Reporter":
        """Return the reporter of a part: ``size`` of this work, of which ``before`` is done."""
        own = Reporter(self.watcher, before=self.before + self.size * before, part=self.size * size)
        own.start, own.rows = self.start, self.rows
        return own

    def seconds(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self.start

    def report(self, what: str, share: float, *, rows: int = 0, **figures: float) -> None:
        """Tell that ``share`` of this part is done, with ``rows`` more rows."""
        self.rows += rows
        if self.watcher is not None:
            done = self.before + self.size * min(max(share, 0.0), 1.0)
            self.watcher(Progress(what, done, self.seconds(), self.rows, figures))


def names_of(columns: Sequence[str] | str) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)

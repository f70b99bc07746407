"""What every study is: a pure function of a configuration and a generator, and how it is shown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from pramble.plots.images import Picture

Task = TypeVar("Task")
Answer = TypeVar("Answer")


# Runs a function on tasks, and returns the answers in their order.
Spread = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def in_turn(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
    return [function(task) for task in tasks]


@dataclass(frozen=True)
class Column:
    heading: str
    form: str = ""
    text: bool = False

    def show(self, value: Any) -> str:
        if value is None:
            return "–"
        if isinstance(value, str):
            return value
        if not self.form:
            return str(value).replace("-", "−")
        if np.isinf(value):
            return "∞"
        return format(value, self.form).replace("-", "−")


def headings(line: str) -> tuple[Column, ...]:
    """Return columns from ``heading:form`` between bars; with the form ``text`` they hold words.

    Examples
    --------
    >>> headings("α:g | design:text | S")[1]
    Column(heading='design', form='', text=True)
    """
    pairs = [part.strip().partition(":")[::2] for part in line.split("|")]
    return tuple(
        Column(name, "" if form == "text" else form, form == "text") for name, form in pairs
    )


def fields(values: Iterable[Any], names: str) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of a table: some attributes of each value, by their names."""
    return tuple(map(attrgetter(*names.split()), values))


@dataclass(frozen=True)
class Table:
    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    # Whether the page shows it; every table is written as a file.
    shown: bool = True

    def cells(self) -> list[list[str]]:
        return [
            [column.show(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]


@dataclass(frozen=True)
class Study:
    """One table or figure of the paper, or one that it lacks.

    ``run(config, rng, each=in_turn)`` computes and draws nothing; ``tables`` and ``pictures`` show
    what it returned. A study that is not ``heavy`` is done sooner than a process starts.
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[..., Any]
    tables: Callable[[Any], tuple[Table, ...]]
    pictures: Callable[[Any], tuple[Picture, ...]]
    heavy: bool = True


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the generator of one study: the same whichever other studies run beside it."""
    return np.random.default_rng([seed, *name.encode()])

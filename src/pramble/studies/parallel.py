"""Tasks of a study over several processes, with word of every one that is done."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pramble.studies.study import Answer, Task


def unwatched(name: str, done: int, total: int) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Watched:
    """Runs tasks in this process and says how far it is."""

    name: str
    watch: Callable[[str, int, int], None] = unwatched

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """Return the answers in the order of the tasks."""
        answers = []
        for done, task in enumerate(tasks):
            self.watch(self.name, done, len(tasks))
            answers.append(function(task))
        self.watch(self.name, len(tasks), len(tasks))
        return answers


@dataclass(frozen=True)
class Pooled:
    """Runs tasks on a pool of processes and says how far it is.

    Each task carries its own generator, so the answers do not depend on the number of processes.
    """

    pool: ProcessPoolExecutor
    name: str
    watch: Callable[[str, int, int], None] = unwatched

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """Return the answers in the order of the tasks; after a failure the rest is called off."""
        futures = [self.pool.submit(function, task) for task in tasks]
        self.watch(self.name, 0, len(tasks))
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                self.watch(self.name, done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]


def new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes: none inherits a generator or a thread."""
    return ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"))

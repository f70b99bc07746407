"""Tasks of a study, in this process or over several, with word of every one that is done."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context

from pramble.studies.study import Answer, Task
from pramble.values import Clock


@dataclass(frozen=True)
class Watched:
    """Runs tasks and tells how far it is: in this process, or on a pool where there is one.

    Each task carries its own generator, so the answers do not depend on the number of processes.
    """

    name: str
    clock: Clock = field(default_factory=lambda: Clock(None))
    pool: ProcessPoolExecutor | None = None

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """Return the answers in the order of the tasks; after a failure the rest is called off."""
        self.tell(0, len(tasks))
        if self.pool is None:
            answers = []
            for done, task in enumerate(tasks, start=1):
                answers.append(function(task))
                self.tell(done, len(tasks))
            return answers
        futures = [self.pool.submit(function, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                self.tell(done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]

    def tell(self, done: int, tasks: int) -> None:
        """Tell how many tasks are done."""
        self.clock.tell(self.name, done / max(tasks, 1), done=done, tasks=tasks)


def new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes: none inherits a generator or a thread."""
    return ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"))

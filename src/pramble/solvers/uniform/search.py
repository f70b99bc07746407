"""Branch and bound over the assignment of keep probabilities to categories."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from pramble.solvers.uniform.bound import Choice, Relaxation, Relaxed
from pramble.solvers.uniform.model import BOTTOM, TOP, Anchored, Kind
from pramble.solvers.uniform.node import Mask, Node, whole
from pramble.values import Floats


@dataclass(frozen=True, eq=False)
class Found:
    """An assignment and its information."""

    value: float
    model: Anchored
    choice: Choice


@dataclass
class Search:
    """The best assignments so far, the nodes still open, and what was proven about the rest."""

    tolerance: float
    value: float = -1.0
    found: dict[Kind, Found] = field(default_factory=dict)
    settled: float = 0.0
    nodes: int = 0
    heap: list[tuple[float, int, Relaxation, Relaxed]] = field(default_factory=list)
    order: Iterator[int] = field(default_factory=count)

    @property
    def bound(self) -> float:
        """A proven bound on every assignment."""
        waiting = -self.heap[0][0] if self.heap else 0.0
        return max(self.value, self.settled, waiting)

    @property
    def cutoff(self) -> float:
        """Nodes at or below this need no more work."""
        return self.value * (1 + self.tolerance)

    def offer(self, model: Anchored, choice: Choice) -> None:
        """Take an assignment if it is a vertex and better than the best so far."""
        if not complete(model, choice):
            return
        found = Found(model.value(choice), model, choice)
        known = self.found.setdefault(model.kind, found)
        if found.value > known.value:
            self.found[model.kind] = found
        self.value = max(self.value, found.value)

    def add(self, node: Node, multiplier: float) -> None:
        """Bound a node; keep it only if it may hold something better."""
        tight = node.tighten()
        if tight is not None and tight.decided.all():
            tight = tight.tighten()
        if tight is None:
            return
        self.nodes += 1
        relaxation = Relaxation(tight)
        relaxed = relaxation.least(self.cutoff, multiplier)
        if relaxed.bound <= self.cutoff:
            self.settled = max(self.settled, relaxed.bound)
        else:
            heapq.heappush(self.heap, (-relaxed.bound, next(self.order), relaxation, relaxed))

    def step(self) -> None:
        """Split the most promising node."""
        _, _, relaxation, relaxed = heapq.heappop(self.heap)
        choice, slack = relaxation.assignment(relaxed)
        node = relaxation.node
        self.offer(node.model, choice)
        surplus = relaxed.bound - self.cutoff
        if surplus <= 0 or node.decided.all():
            self.settled = max(self.settled, relaxed.bound)
            return
        for child in split(node, slack <= surplus * node.model.size):
            self.add(child, relaxed.multiplier)


def roots(prior: Floats, kinds: Iterable[Kind]) -> Iterator[Node]:
    """Yield the nodes that together hold every assignment of every kind of vertex."""
    star = int(prior.argmax())
    rest = np.delete(prior, star)
    for kind in kinds:
        for level in kind.choices():
            yield whole(Anchored(kind, level, rest, float(rest.sum())))


def split(node: Node, undecided: Mask) -> Iterable[Node]:
    """Return nodes that together hold what the node holds.

    Where the relaxation hesitates over a category that moves the coupling by a good part of the
    interval, that category is fixed at each of its levels; else the interval is cut, and always
    at an end of what is attainable, where that alone fixes the likely categories.
    """
    shifts = node.model.shifts
    reach = np.where(undecided, node.model.rest, 0.0) * (shifts[BOTTOM] - shifts[TOP])
    x = int(reach.argmax())
    narrow = node.width <= 4 * node.slip
    if reach[x] > node.width / 4 and not node.at_end:
        return node.cases(x)
    return node.cases(int(node.decided.argmin())) if narrow else node.parts()


def complete(model: Anchored, choice: Choice) -> bool:
    """Whether levels that must be taken once are taken once."""
    tops, bottoms = int((choice == TOP).sum()), int((choice == BOTTOM).sum())
    return tops == model.top_left and bottoms == model.bottom_left

r"""An upper bound on the information of all assignments of a node at once.

The convex φ lies above its tangents, so in the notation of :mod:`~pramble.solvers.uniform.nodes`
each category contributes at most a function linear in γ, :math:`A_{xv}(\gamma)` when it is at level
v. For every real λ and every assignment with coupling γ

.. math:: S\,I \le L(\gamma) =
   \max_{\text{assignments}} \sum_x \{ A_{xv}(\gamma) + \lambda p_x (t_v - t_*) \} - \lambda\gamma,

a maximum of linear functions of γ, hence convex: on an interval it is largest at one of the ends.
The maximum itself is taken category by category; a level that must be taken exactly once adds its
best gain. λ is chosen to make the bound small; any λ gives a valid bound.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.dense import entropy_excess
from pramble.solvers.uniform.nodes import (
    BOTTOM,
    HIGH,
    LOW,
    TOP,
    Anchored,
    Kind,
    Mask,
    Node,
    excess_and_slope,
    full_node,
    singles,
)
from pramble.values import Floats

# Margin for float errors, relative to the sum of absolute terms. A term errs by less than 1e-12
# of itself (φ near the edge of its series loses four digits), a pairwise sum by less than 1e-14.
SAFETY = 1e-11

# Margin for the slope log(1+w) of a tangent, relative to 1 + 1/(1+w).
EPS = 1e-15

STEPS = 24

Choice = NDArray[np.int64]


@dataclass(frozen=True)
class Relaxed:
    """The bound at one multiplier λ, with its derivative in λ and the end where it stands."""

    multiplier: float
    bound: float
    slope: float
    end: int


class Relaxation:
    """The tangents of one node: its bound as a function of λ."""

    def __init__(self, node: Node) -> None:
        model, p = node.model, node.model.rest
        self.node = node
        self.ends = np.array([node.lower, node.upper])
        self.free = 2 if model.kind.free else 1
        self.columns = np.arange(len(p))
        levels = [HIGH, LOW][: self.free] + singles(model)
        t = model.kind.t[levels][:, None]
        middle = (node.lower + node.upper) / 2
        least = model.mass * model.shifts[TOP] + p * (t - model.kind.t[TOP])
        point = np.maximum(middle, least)
        w = (point - model.size * p * t) / model.off_star
        value = p * model.divergences[levels][:, None] - model.off_star * entropy_excess(w)
        value = np.where(node.may[levels], value, -np.inf)
        steps = self.ends[:, None, None] - point
        self.lines: Floats = value - np.log1p(w) * steps
        self.tilt = EPS * float((np.abs(steps) * (1 + 1 / (1 + w))).max(axis=(0, 1)).sum())
        self.moves: Floats = model.moves[levels]
        self.levels = np.repeat(np.array(levels)[:, None], len(p), axis=1)
        self._settle_singles(levels)
        self.star, self.star_size = self._star(middle)
        self.reach = float(np.abs(self.moves).max(axis=0).sum()) + float(np.abs(self.ends).max())

    def _settle_singles(self, levels: list[int]) -> None:
        """Where it is decided who takes a level once, that line becomes the category's only one."""
        keep = list(range(self.free))
        for row in range(self.free, len(levels)):
            sure = np.flatnonzero(self.node.may[levels[row]] & self.node.decided)
            if sure.size:
                for array in (self.levels, self.moves):
                    array[0, sure] = array[row, sure]
                self.lines[:, 0, sure] = self.lines[:, row, sure]
            else:
                keep.append(row)
        if len(keep) < len(levels):
            self.lines, self.moves = self.lines[:, keep], self.moves[keep]
            self.levels = self.levels[keep]

    def _star(self, middle: float) -> tuple[Floats, float]:
        """Return what the column of the likeliest category adds at both ends, and its size."""
        model = self.node.model
        value, slope = excess_and_slope(model.star_column(middle))
        added = -model.keep_star * value - slope * (self.ends - middle)
        return added, model.keep_star * value + abs(slope) * self.node.width

    def at(self, multiplier: float) -> Relaxed:
        gains = self.lines + multiplier * self.moves
        best = gains[:, : self.free].max(axis=1)
        totals = best.sum(axis=1) + self.star - multiplier * self.ends
        for row in range(self.free, gains.shape[1]):
            # one category may be counted in two rows, which only raises the bound
            totals += (gains[:, row] - best).max(axis=1)
        end = int(totals.argmax())
        size = float(np.abs(best[end]).sum()) + self.star_size + abs(multiplier) * self.reach
        rows = self.rows(gains[end])
        slope = float(self.moves[rows, self.columns].sum()) - self.ends[end]
        S = self.node.model.size
        bound = (float(totals[end]) + SAFETY * size + self.tilt) / S
        return Relaxed(multiplier, bound, slope / S, end)

    def rows(self, gains: Floats) -> Choice:
        rows: Choice = gains[: self.free].argmax(axis=0)
        best = gains[: self.free].max(axis=0)
        for row in range(self.free, len(gains)):
            rows[int((gains[row] - best).argmax())] = row
        return rows

    def least(self, cutoff: float, multiplier: float) -> Relaxed:
        """Return the least bound found over λ, or the first at or below ``cutoff``."""
        # The bound is convex in λ: tangents on both sides of the minimum meet at the next λ.
        current = best = self.at(multiplier)
        below = above = None
        stride = 1.0 + abs(multiplier)
        for _ in range(STEPS):
            if best.bound <= cutoff or current.slope == 0:
                break
            if current.slope < 0:
                below = current
            else:
                above = current
            if below is None or above is None:
                multiplier += stride if above is None else -stride
                stride *= 4
            else:
                multiplier, promise = meeting(below, above)
                if promise >= best.bound - 1e-3 * (best.bound - cutoff):
                    break
            current = self.at(multiplier)
            best = min(best, current, key=lambda one: one.bound)
        return best

    def assignment(self, relaxed: Relaxed) -> tuple[Choice, Floats]:
        """Return the relaxation's level of every category, and what its other level would cost."""
        gains = self.lines[relaxed.end] + relaxed.multiplier * self.moves
        rows = self.rows(gains)
        choice = self.levels[rows, self.columns]
        slack = np.zeros(len(rows))
        if self.free == 2:
            slack = np.where(self.node.may[HIGH] & self.node.may[LOW], np.ptp(gains[:2], axis=0), 0)
        return choice, np.where(self.node.decided, np.inf, slack)


def meeting(below: Relaxed, above: Relaxed) -> tuple[float, float]:
    """Return where two tangents of a convex function meet, and their value there."""
    x, y = below.multiplier, above.multiplier
    rise = above.bound - below.bound + below.slope * x - above.slope * y
    meet = rise / (below.slope - above.slope)
    if not x < meet < y:
        meet = (x + y) / 2
    return meet, below.bound + below.slope * (meet - x)


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
    proven: float = 0.0
    nodes: int = 0
    heap: list[tuple[float, int, Relaxation, Relaxed]] = field(default_factory=list)
    order: Iterator[int] = field(default_factory=count)

    @property
    def bound(self) -> float:
        waiting = -self.heap[0][0] if self.heap else 0.0
        return max(self.value, self.proven, waiting)

    @property
    def cutoff(self) -> float:
        """Nodes at or below this need no more work."""
        return self.value * (1 + self.tolerance)

    def offer(self, model: Anchored, choice: Choice) -> None:
        """Take an assignment if it is a vertex and better than the best so far."""
        if not is_vertex_choice(model, choice):
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
            self.proven = max(self.proven, relaxed.bound)
        else:
            heapq.heappush(self.heap, (-relaxed.bound, next(self.order), relaxation, relaxed))

    def step(self) -> None:
        _, _, relaxation, relaxed = heapq.heappop(self.heap)
        choice, slack = relaxation.assignment(relaxed)
        node = relaxation.node
        self.offer(node.model, choice)
        surplus = relaxed.bound - self.cutoff
        if surplus <= 0 or node.decided.all():
            self.proven = max(self.proven, relaxed.bound)
            return
        for child in split(node, slack <= surplus * node.model.size):
            self.add(child, relaxed.multiplier)


def roots(prior: Floats, kinds: Iterable[Kind]) -> Iterator[Node]:
    """Yield the nodes that together hold every assignment of every kind of vertex."""
    star = int(prior.argmax())
    rest = np.delete(prior, star)
    for kind in kinds:
        for level in kind.choices():
            yield full_node(Anchored(kind, level, rest, float(rest.sum())))


def split(node: Node, undecided: Mask) -> Iterable[Node]:
    """Return nodes that together hold what the node holds."""
    # Where the relaxation hesitates over a category that moves the coupling by a good part of the
    # interval, that category is fixed at each of its levels; else the interval is cut, and always
    # at an end of what is attainable, where that alone fixes the likely categories.
    shifts = node.model.shifts
    reach = np.where(undecided, node.model.rest, 0.0) * (shifts[BOTTOM] - shifts[TOP])
    x = int(reach.argmax())
    narrow = node.width <= 4 * node.slip
    if reach[x] > node.width / 4 and not node.at_end:
        return node.cases(x)
    return node.cases(int(node.decided.argmin())) if narrow else node.parts()


def is_vertex_choice(model: Anchored, choice: Choice) -> bool:
    """Whether levels that must be taken once are taken once."""
    tops, bottoms = int((choice == TOP).sum()), int((choice == BOTTOM).sum())
    return tops == model.top_left and bottoms == model.bottom_left

"""Sets of assignments: an interval of couplings, and the levels each category may take."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.uniform.model import BOTTOM, HIGH, LOW, TOP, Anchored
from pramble.values import Floats

SLIP = 1e-13
"""Margin for float errors in couplings, relative to the largest conceivable."""

END_SHARE = 0.1
"""Where to cut an interval at an end of what is attainable: measured to need the fewest nodes."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Node:
    """Assignments with the coupling γ in [lower, upper] and some levels ruled out."""

    model: Anchored
    lower: float
    upper: float
    may: Mask
    """Which level (row) each category of the rest (column) may take."""
    at_end: bool = False
    """Whether the interval reaches an end of what is attainable."""

    @property
    def width(self) -> float:
        """The length of the interval of couplings."""
        return self.upper - self.lower

    @property
    def slip(self) -> float:
        """The margin for float errors in couplings."""
        return SLIP * self.model.mass * float(np.abs(self.model.shifts).max())

    @cached_property
    def decided(self) -> Mask:
        """Which categories have one level left."""
        return np.asarray(self.may.sum(axis=0) == 1)

    def tighten(self) -> "Node | None":
        """Return the node without what its interval and levels exclude; None if nothing is left."""
        may = once_each(self.model, self.may)
        if may is None:
            return None
        least, most = attainable(self.model, may)
        slip = self.slip
        low, high = float(least.min()) - slip, float(most.max()) + slip
        lower, upper = max(self.lower, low), min(self.upper, high)
        if lower > upper:
            return None
        may = (least <= upper + slip) & (most >= lower - slip)
        if not may.any(axis=0).all():
            return None
        at_end = lower <= low or upper >= high
        return replace(self, lower=lower, upper=upper, may=may, at_end=at_end)

    def parts(self) -> "tuple[Node, Node]":
        """Return the node cut in two.

        At an end of what is attainable the bound falls off quickly, and a short piece there fixes
        most levels; elsewhere the interval is halved.
        """
        cut = self.lower + (END_SHARE if self.at_end else 0.5) * self.width
        return replace(self, upper=cut), replace(self, lower=cut)

    def cases(self, x: int) -> "list[Node]":
        """Return the node once for every level that category x may take."""
        nodes = []
        for level in np.flatnonzero(self.may[:, x]):
            may = self.may.copy()
            may[:, x] = False
            may[level, x] = True
            nodes.append(replace(self, may=may))
        return nodes


def whole(model: Anchored) -> Node:
    """Return the node of all assignments."""
    allowed = np.array([model.top_left, True, model.kind.free, model.bottom_left])
    return Node(model, -np.inf, np.inf, np.repeat(allowed[:, None], len(model.rest), axis=1))


def singles(model: Anchored) -> list[int]:
    """Return the levels that exactly one category of the rest takes."""
    return [TOP] * model.top_left + [BOTTOM] * model.bottom_left


def once_each(model: Anchored, may: Mask) -> Mask | None:
    """Rule out what the levels that are taken exactly once exclude."""
    for level in singles(model):
        takers = np.flatnonzero(may[level])
        if not takers.size:
            return None
        sure = takers[may[:, takers].sum(axis=0) == 1] if takers.size > 1 else takers
        if sure.size > 1:
            return None
        if sure.size:
            may = may.copy()
            may[level] = False
            may[:, sure] = False
            may[level, sure] = True
    return may


def attainable(model: Anchored, may: Mask) -> tuple[Floats, Floats]:
    """Return bounds on the coupling when category x (column) is at level v (row).

    Plus and minus infinity where x may not be at v.
    """
    moves = model.moves
    least, most = np.where(may, moves, np.inf), np.where(may, moves, -np.inf)
    low, high = least[HIGH : LOW + 1].min(axis=0), most[HIGH : LOW + 1].max(axis=0)
    if single := singles(model):
        stuck = ~may[HIGH : LOW + 1].any(axis=0)
        low[stuck], high[stuck] = least.min(axis=0)[stuck], most.max(axis=0)[stuck]
    least += low.sum() - low
    most += high.sum() - high
    for level in single:
        if not (may[level] & stuck).any():
            others = np.arange(4) != level
            least[others] += (moves[level] - low)[may[level]].min()
            most[others] += (moves[level] - high)[may[level]].max()
    return least, most

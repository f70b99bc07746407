r"""Mutual information of uniform rows, written so that every category enters on its own.

With off-diagonal probability :math:`(1+t_x)/S` and keep probability :math:`(1-nt_x)/S`,
:math:`n=S-1`, a row is one number :math:`t_x` and the flat row is :math:`t = 0`. Let ``star`` be
the likeliest category, at :math:`t_*`. Measured against the row of ``star`` (the compensation
identity) the information is

.. math:: S\,I = \sum_{x \ne *} \{ p_x D(t_x) - (1+t_*)\,\varphi(s_x) \} - (1-nt_*)\,\varphi(s_*),
   \qquad s_x = \frac{\gamma - S p_x t_x}{1+t_*}, \quad
   s_* = \frac{\gamma + (1-p_*)St_*}{1-nt_*},

with :math:`\varphi(s) = (1+s)\log(1+s)-s`, D(t) / S the divergence of a row from that of ``star``,
and a single number that couples the categories, :math:`\gamma = \sum_{x\ne *} p_x (t_x-t_*)`. No
term cancels when one category has nearly all the mass, nor when α is small.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.dense import SMALL, entropy_excess
from pramble.solvers.uniform.polytope import Corner
from pramble.values import Floats

TOP, HIGH, LOW, BOTTOM = range(4)


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of vertex: four levels in the order top, high, low, bottom, t ascending.

    One category is at top and one at bottom where these differ from their neighbour; each other
    category is at high or at low. ``off`` and ``keep`` hold :math:`1+t` and :math:`1-nt`, rounded
    from their exact values, because t loses digits when α is large.
    """

    corner: Corner
    t: Floats
    off: Floats
    keep: Floats
    single_top: bool
    single_bottom: bool
    # Whether categories can choose between two levels.
    free: bool

    def choices(self) -> list[int]:
        options = [HIGH, LOW] if self.free else [HIGH]
        return [TOP] * self.single_top + options + [BOTTOM] * self.single_bottom


def kind_of(corner: Corner, size: int) -> Kind:
    """Return the kind of a corner; its floats are correctly rounded."""
    n = size - 1
    return Kind(
        corner=corner,
        t=np.array([float((1 - size * q) / n) for q in corner]),
        off=np.array([float(size * (1 - q) / n) for q in corner]),
        keep=np.array([float(size * q) for q in corner]),
        single_top=corner.top != corner.high,
        single_bottom=corner.bottom != corner.low,
        free=corner.high != corner.low,
    )


@dataclass(frozen=True, eq=False)
class Anchored:
    """A kind of vertex with the likeliest category fixed at one of its levels.

    ``rest`` holds the probabilities of the other categories.
    """

    kind: Kind
    star: int
    rest: Floats
    mass: float

    @property
    def size(self) -> int:
        return len(self.rest) + 1

    @property
    def t_star(self) -> float:
        return float(self.kind.t[self.star])

    @property
    def off_star(self) -> float:
        """S times the off-diagonal probability of the likeliest category."""
        return float(self.kind.off[self.star])

    @property
    def keep_star(self) -> float:
        """S times the keep probability of the likeliest category."""
        return float(self.kind.keep[self.star])

    @property
    def top_left(self) -> bool:
        """Whether another category must still be at the top level."""
        return self.kind.single_top and self.star != TOP

    @property
    def bottom_left(self) -> bool:
        """Whether another category must still be at the bottom level."""
        return self.kind.single_bottom and self.star != BOTTOM

    @cached_property
    def shifts(self) -> Floats:
        """The levels relative to that of the likeliest category."""
        return self.kind.t - self.t_star

    @cached_property
    def moves(self) -> Floats:
        """What each level (row) of each category (column) adds to the coupling."""
        return self.rest * self.shifts[:, None]

    @cached_property
    def divergences(self) -> Floats:
        """D(t) at the four levels."""
        n, t = self.size - 1, self.kind.t
        own = entropy_excess((-n * t - self.t_star) / self.off_star)
        at_star = entropy_excess((t + n * self.t_star) / self.keep_star)
        other = entropy_excess(self.shifts / self.off_star)
        return self.off_star * (own + (n - 1) * other) + self.keep_star * at_star

    def star_column(self, gamma: float) -> float:
        return (gamma + self.mass * self.size * self.t_star) / self.keep_star

    def value(self, choice: NDArray[np.int64]) -> float:
        """Return the information (nats) when the rest of the categories are at given levels."""
        gamma = float((self.rest * self.shifts[choice]).sum())
        rows = float((self.rest * self.divergences[choice]).sum())
        t = self.kind.t[choice]
        released = entropy_excess((gamma - self.size * self.rest * t) / self.off_star)
        at_star, _ = excess_and_slope(self.star_column(gamma))
        total = rows - self.off_star * float(released.sum()) - self.keep_star * at_star
        return total / self.size


def excess_and_slope(s: float) -> tuple[float, float]:
    r"""Return :math:`\varphi(s)` and its derivative :math:`\log(1+s)`."""
    slope = math.log1p(s)
    if abs(s) < SMALL:
        return float(entropy_excess(np.array(s))), slope
    return (1 + s) * slope - s, slope


# Margin for float errors in couplings, relative to the largest conceivable.
SLIP = 1e-13

# Where to cut an interval at an end of what is attainable: measured to need the fewest nodes.
END_SHARE = 0.1

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Node:
    """Assignments with the coupling γ in [lower, upper] and some levels ruled out."""

    model: Anchored
    lower: float
    upper: float
    # Which level (row) each category of the rest (column) may take.
    may: Mask
    # Whether the interval reaches an end of what is attainable.
    at_end: bool = False

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def slip(self) -> float:
        return SLIP * self.model.mass * float(np.abs(self.model.shifts).max())

    @cached_property
    def decided(self) -> Mask:
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
        # At an end of what is attainable the bound falls off quickly, and a short piece there fixes
        # most levels; elsewhere the interval is halved.
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


def full_node(model: Anchored) -> Node:
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
    """Return bounds on the coupling when category x (column) is at level v (row)."""
    # Plus and minus infinity where x may not be at v.
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

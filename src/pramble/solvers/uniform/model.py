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
from dataclasses import dataclass
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
    free: bool
    """Whether categories can choose between two levels."""

    def choices(self) -> list[int]:
        """Return the levels that a category can be at."""
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
        """The number of categories, S."""
        return len(self.rest) + 1

    @property
    def t_star(self) -> float:
        """The level of the likeliest category."""
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
        """Return s of the likeliest category's own column."""
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

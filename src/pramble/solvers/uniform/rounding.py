r"""From exact keep probabilities to integer weights on the private side.

Categories at one level share one off weight, so rounding is a choice of at most four integers. The
two levels that many categories take are tried at the integers around their exact weight; a level
that one category takes is then put as near to its exact weight as privacy against the others
allows. Of the choices that satisfy α, compared in integers, the most informative is kept.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.general import within
from pramble.mechanisms.ratios import exp_below, ratio_at_extremes
from pramble.solvers.uniform.model import BOTTOM, HIGH, LOW, TOP
from pramble.solvers.uniform.polytope import Corner

Weights = dict[int, int]
"""Off weight by level."""


@dataclass(frozen=True)
class Rounding:
    """Levels of a corner, how many categories take each, and what the weights must satisfy."""

    corner: Corner
    counts: tuple[int, int, int, int]
    limit: Fraction
    ceiling: int

    @property
    def size(self) -> int:
        """The number of categories, S."""
        return sum(self.counts)

    def exact(self, level: int) -> Fraction:
        """Return the off weight before rounding."""
        weight: Fraction = (1 - self.corner[level]) / (self.size - 1) * TOTAL
        return weight

    def around(self, level: int, reach: int) -> list[int]:
        """Return the integers around the exact weight."""
        floor = math.floor(self.exact(level))
        return [w for w in range(floor - reach, floor + reach + 2) if 0 <= w <= self.ceiling]

    def choices(self, reach: int) -> Iterator[Weights]:
        """Yield weights that satisfy the limit."""
        shared = [level for level in (HIGH, LOW) if self.counts[level]]
        alone = [level for level in (TOP, BOTTOM) if self.counts[level]]
        for weights in product(*(self.around(level, reach) for level in shared)):
            starts: list[Weights] = [dict(zip(shared, weights, strict=True))]
            for level in alone:
                starts = [more for start in starts for more in self.extend(start, level)]
            yield from filter(self.private, starts)

    def extend(self, weights: Weights, level: int) -> Iterator[Weights]:
        """Yield the weights with those that one more category may have, nearest to exact."""
        exact = self.exact(level)
        low, high = self.room(weights)
        if low <= high:
            for w in {min(max(w, low), high) for w in (math.floor(exact), math.ceil(exact))}:
                yield {**weights, level: w}

    def room(self, weights: Weights) -> tuple[int, int]:
        """Return the least and the largest off weight that is private against these rows."""
        n, a = self.size - 1, self.limit
        if not weights:
            return 0, self.ceiling
        least, most = min(weights.values()), max(weights.values())
        keep_most, keep_least = TOTAL - n * least, TOTAL - n * most
        low = max((TOTAL - a * least) / n, keep_most / a, Fraction(0))
        high = min((TOTAL - most / a) / n, a * keep_least)
        if self.size > 2:
            low, high = max(low, most / a), min(high, a * least)
        return math.ceil(low), min(math.floor(high), self.ceiling)

    def private(self, weights: Weights) -> bool:
        """Whether the largest ratio is within the limit, in integers."""
        rows = sorted(w for level, w in weights.items() for _ in range(min(self.counts[level], 2)))
        off = dict(enumerate(rows))
        keep = {i: TOTAL - (self.size - 1) * w for i, w in off.items()}
        last = len(rows) - 1
        ratio = ratio_at_extremes([0, 1], [last, last - 1], off=off, keep=keep, size=self.size)
        return within(ratio, self.limit)


def round_assignment(
    corner: Corner, levels: NDArray[np.int64], *, alpha: float, keep_at_least: Fraction | None
) -> Iterator[NDArray[np.int64]]:
    """Yield vectors of off weights that satisfy α, close to the exact assignment."""
    counts = np.bincount(levels, minlength=4).tolist()
    n = len(levels) - 1
    most = TOTAL if keep_at_least is None else math.floor((1 - keep_at_least) * TOTAL)
    rounding = Rounding(corner, tuple(counts), exp_below(alpha), most // n)
    for reach in (0, 1, 3):
        choices = list(rounding.choices(reach))
        if choices:
            for weights in choices:
                table = np.array([weights.get(level, 0) for level in range(4)], dtype=np.int64)
                yield table[levels]
            return

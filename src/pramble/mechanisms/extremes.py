"""The largest ratio of two entries in one column, found exactly."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

IntegerMatrix = NDArray[Any]


class Ratio(NamedTuple):
    """Weights ``numerator`` at (x, z) and ``denominator`` at (x_prime, z), as indices."""

    numerator: int
    denominator: int
    x: int
    x_prime: int
    z: int

    def exceeds(self, other: "Ratio") -> bool:
        """Whether this ratio is strictly larger; anything over zero is infinite."""
        return self.numerator * other.denominator > other.numerator * self.denominator


def largest_ratio(weights: IntegerMatrix) -> Ratio:
    """Return the largest ratio of two entries of one column of an integer matrix.

    Floats only choose which columns to look at: those whose float ratio is within one part in
    10^12 of the largest. The answer is then decided among them in integers. Columns of zeros are
    passed over.
    """
    top, bottom = weights.argmax(axis=0), weights.argmin(axis=0)
    columns = np.arange(weights.shape[1])
    high = weights[top, columns]
    low = weights[bottom, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        rough = high.astype(float) / low.astype(float)
    rough[high == 0] = 0.0
    worthy = np.flatnonzero(rough >= rough.max() * (1 - 1e-12))
    return largest(
        Ratio(int(high[z]), int(low[z]), int(top[z]), int(bottom[z]), int(z)) for z in worthy
    )


def largest_uniform_ratio(off: NDArray[np.int64], total: int) -> Ratio:
    """Return the largest ratio for uniform rows, in O(S).

    Column z holds ``keep_z`` once and ``off_x`` for every other x, with ``keep = total - (S-1)
    off``. So the two smallest and the two largest ``off`` decide everything.
    """
    others = len(off) - 1
    lows, highs = two_smallest(off), two_smallest(-off)
    values = {i: int(off[i]) for i in {*lows, *highs}}
    keep = {i: total - others * value for i, value in values.items()}
    return ratio_at_extremes(lows, highs, off=values, keep=keep, size=others + 1)


def ratio_at_extremes(
    lows: list[int], highs: list[int], *, off: Mapping[int, int], keep: Mapping[int, int], size: int
) -> Ratio:
    """Return the largest of five candidate ratios, given the rows with the least and most ``off``.

    Least ``off`` is most ``keep``: the candidates are keep over off in the columns of the two lows,
    off over keep in the columns of the two highs, and off over off in any third column.
    """
    first_low, second_low = lows
    first_high, second_high = highs
    candidates = [
        Ratio(keep[first_low], off[second_low], first_low, second_low, first_low),
        Ratio(keep[second_low], off[first_low], second_low, first_low, second_low),
        Ratio(off[second_high], keep[first_high], second_high, first_high, first_high),
        Ratio(off[first_high], keep[second_high], first_high, second_high, second_high),
    ]
    if size >= 3 and first_high != first_low:
        third = next(z for z in range(3) if z not in (first_high, first_low))
        candidates.append(Ratio(off[first_high], off[first_low], first_high, first_low, third))
    return largest(ratio for ratio in candidates if ratio.numerator > 0)


def two_smallest(values: NDArray[Any]) -> list[int]:
    """Return the indices of the smallest and the second smallest value."""
    first, second = np.argpartition(values, 1)[:2]
    return [int(first), int(second)]


def largest(ratios: Iterable[Ratio]) -> Ratio:
    """Return the largest of some ratios, the first among equals."""
    best: Ratio | None = None
    for ratio in ratios:
        if best is None or ratio.exceeds(best):
            best = ratio
    assert best is not None, "a row-stochastic matrix has a non-zero entry"
    return best

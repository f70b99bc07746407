"""The steepest ratio of two entries of one column per unit of distance, found exactly."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.distance import Distance
from pramble.mechanisms.exponential import exp_below, smallest_alpha
from pramble.mechanisms.extremes import Ratio
from pramble.values import Floats, Integers

NEAR = 1 - 1e-12
"""How near to the steepest, in floats, a ratio must be to be looked at in integers."""

MOST_AT_ONCE = 4_000_000
"""Entries of one chunk of pairs by columns."""


class Steep(NamedTuple):
    """A ratio of two weights of one column, how far apart their rows are, and α per unit."""

    ratio: Ratio
    length: Fraction
    alpha: float


def steepest(weights: NDArray[Any], distance: Distance) -> Steep:
    r"""Return the ratio that decides the smallest α with :math:`w_{xz}\le e^{\alpha l}w_{x'z}`.

    The smallest float α that serves every edge is the largest of those that serve each. Floats only
    choose which ratios to look at: those whose slope is within one part in 10^12 of the largest;
    of several at one length the largest ratio counts. Integers decide among them.
    """
    best: Steep | None = None
    for slopes, pairs, lengths in chunks(weights, distance):
        top = slopes.max()
        if best is not None and top < best.alpha * NEAR:
            continue
        for length in np.unique(lengths[(slopes >= top * NEAR).any(axis=1)]):
            ratio = largest_at(weights, pairs[lengths == length], slopes[lengths == length], top)
            exact = Fraction(float(length))
            found = Steep(ratio, exact, smallest_alpha(ratio.numerator, ratio.denominator, exact))
            if best is None or found.alpha > best.alpha:
                best = found
    assert best is not None, "a distance has edges"
    return best


def chunks(weights: NDArray[Any], distance: Distance) -> Iterator[tuple[Floats, Integers, Floats]]:
    """Yield slopes of both directions, edge by column, with the edges and their lengths."""
    step = max(1, MOST_AT_ONCE // weights.shape[1])
    for start in range(0, len(distance.pairs), step):
        pairs, lengths = (
            distance.pairs[start : start + step],
            distance.lengths[start : start + step],
        )
        one, other = weights[pairs[:, 0]], weights[pairs[:, 1]]
        low = np.minimum(one, other)
        gap = np.abs(one - other).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.log1p(gap / low.astype(np.float64)) / lengths[:, None]
        yield np.where(gap == 0, 0.0, slopes), pairs, lengths


def largest_at(weights: NDArray[Any], pairs: Integers, slopes: Floats, top: float) -> Ratio:
    """Return the largest ratio over edges of one length, among those with a slope near the top."""
    best: Ratio | None = None
    for k, z in np.argwhere(slopes >= top * NEAR).tolist():
        x, y = pairs[k].tolist()
        if weights[x, z] < weights[y, z]:
            x, y = y, x
        ratio = Ratio(int(weights[x, z]), int(weights[y, z]), x, y, z)
        if best is None or ratio.exceeds(best):
            best = ratio
    assert best is not None, "the top slope is one of them"
    return best


def keeps(weights: NDArray[Any], distance: Distance, alpha: float) -> bool:
    r"""Decide in integers whether weights keep a rational just below :math:`e^{\alpha l}`."""
    limits = {
        length: exp_below(Fraction(alpha) * Fraction(length))
        for length in np.unique(distance.lengths).tolist()
    }
    for slopes, pairs, lengths in chunks(weights, distance):
        if slopes.max() > alpha * (1 + 1e-9):
            return False
        near = np.argwhere(slopes >= alpha * NEAR)
        one, other = (weights[pairs[near[:, 0], side], near[:, 1]] for side in (0, 1))
        high, low = np.maximum(one, other).tolist(), np.minimum(one, other).tolist()
        for top, bottom, length in zip(high, low, lengths[near[:, 0]].tolist(), strict=True):
            limit = limits[length]
            if top * limit.denominator > limit.numerator * bottom:
                return False
    return True


def slope_of(A: Floats, distance: Distance) -> float:
    """Return the α per unit of distance of a float matrix, as floats see it."""
    first, second = distance.pairs.T
    used = A[:, A.max(axis=0) > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(used)
        slopes = np.abs(logs[first] - logs[second]) / distance.lengths[:, None]
    return float(np.where(np.isnan(slopes), 0.0, slopes).max())


def alpha_between(weights: NDArray[Any]) -> Floats:
    r"""Return :math:`\max_z |\log w_{xz}/w_{x'z}|` for every two rows, rounded up a little."""
    used = weights[:, weights.max(axis=0) > 0].astype(np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(used)
    found = np.zeros((len(used), len(used)))
    for x, row in enumerate(logs):
        with np.errstate(invalid="ignore"):
            gaps = np.abs(logs - row)
        found[x] = np.where(np.isnan(gaps), 0.0, gaps).max(axis=1)
    return np.asarray(found * (1 + 1e-14) + np.where(found > 0, 1e-13, 0.0))

"""The smallest ε whose δ is low enough, and the largest whose δ is too high."""

import math
from collections.abc import Callable

from pramble.privacy.shuffled.crowd import Crowd
from pramble.privacy.shuffled.excess import excess_above
from pramble.privacy.shuffled.generic import Corners, corner_law
from pramble.privacy.shuffled.pairs import (
    Pair,
    factor_below,
    first_pair,
    pair_above,
    worst_pair,
)

Curve = Callable[[float], float]
TOLERANCE = 1e-4
MARGIN = 1e-6
TIED = 1e-9
"""By which share of δ pairs differ that are alike but for rounding."""
MOST_ROUNDS = 8


def smallest_epsilon(enough: Callable[[float], bool], *, low: float, high: float) -> float:
    """Return an ε between low and high that is enough, near the least; infinite if high is not.

    Examples
    --------
    >>> 0.5 <= smallest_epsilon(lambda epsilon: epsilon >= 0.5, low=0.0, high=8.0) < 0.5001
    True
    """
    if enough(low):
        return low
    if not enough(high):
        return math.inf
    while high - low > TOLERANCE * high and high > TOLERANCE**3:
        middle = math.sqrt(low * high) if low > high / 1e3 else high / 30
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def blanket_delta(crowd: Crowd, epsilon: float, *, rows: int) -> float:
    """Return a δ that the blanket proves for every pair of records."""
    known, best = first_pair(crowd), math.inf
    for _ in range(MOST_ROUNDS):
        found, pair = worst_pair(crowd, epsilon, rows=rows, known=known)
        is_tied = found >= best * (1 - TIED) and math.isfinite(best)
        best = min(best, found)
        if pair == known or is_tied:
            break
        known = pair
    return best


def blanket_epsilon(crowd: Crowd, allowed: Curve, *, rows: int, most: float) -> float:
    """Return an ε at which the blanket proves the allowed δ for every pair of records.

    The search is over one pair; then all are checked, and the worst takes its place.
    """
    known, low = first_pair(crowd), 0.0
    for _ in range(MOST_ROUNDS):

        def enough(epsilon: float, pair: Pair = known) -> bool:
            found = pair_above(crowd, pair, epsilon, rows=rows)
            return found <= allowed(epsilon) * (1 - MARGIN)

        low = smallest_epsilon(enough, low=low, high=most)
        if math.isinf(low):
            return low
        found, known = worst_pair(crowd, low, rows=rows, known=known)
        if found <= allowed(low):
            return low
    return smallest_epsilon(
        lambda epsilon: blanket_delta(crowd, epsilon, rows=rows) <= allowed(epsilon),
        low=0.0,
        high=most,
    )


def corner_delta(branches: tuple[Corners, ...], epsilon: float, *, rows: int) -> float:
    """Return a δ for every matrix with these ratios and blankets."""
    return excess_above(corner_law(branches, factor_below(epsilon)), rows)

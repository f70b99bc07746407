"""Rounding to integer weights on the private side.

The rule is stated and proven in ``Mechanism.from_matrix``.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pramble.errors import PrivacyError
from pramble.mechanisms.extremes import Ratio, largest_ratio
from pramble.values import Floats, Integers

FINEST = 52


def round_rows(A: Floats, total: int) -> Integers:
    """Return integer rows that sum to ``total``, rounded by largest remainders."""
    scaled = A * total
    weights = np.floor(scaled).astype(np.int64)
    missing = total - weights.sum(axis=1)
    remainder = np.where(scaled > 0, scaled - weights, -1.0)
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    raised = (rank < missing[:, None]) & (scaled > 0)
    weights += raised
    largest_entry = weights.argmax(axis=1)
    weights[np.arange(len(A)), largest_entry] += total - weights.sum(axis=1)
    return weights


def round_matrix(A: Floats, total: int, *, limit: Fraction | None) -> Integers:
    """Round a row-stochastic matrix so that no ratio within a column exceeds ``limit``."""
    mean = A.mean(axis=0)

    def mixed(delta: float) -> Integers:
        return round_rows((1 - delta) * A + delta * mean, total)

    return least_mixing(mixed, largest_ratio, limit)


def least_mixing(
    rounded: Callable[[float], Integers],
    ratio_of: Callable[[Integers], Ratio],
    limit: Fraction | None,
) -> Integers:
    """Return ``rounded(δ)`` for the smallest δ in 0, 2^-52, …, 1 found within ``limit``."""
    weights = rounded(0.0)
    if limit is None or within(ratio_of(weights), limit):
        return weights
    low, high = -1, FINEST
    best = rounded(1.0)
    if not within(ratio_of(best), limit):
        raise PrivacyError(
            "alpha is too small for weights over 2**53: even the flattest matrix of this kind "
            f"has a ratio of {float(Fraction(*ratio_of(best)[:2])):.17g}. Use a larger alpha."
        )
    while high - low > 1:
        middle = (low + high) // 2
        weights = rounded(2.0 ** (middle - FINEST))
        if within(ratio_of(weights), limit):
            high, best = middle, weights
        else:
            low = middle
    return best


def within(ratio: Ratio, limit: Fraction) -> bool:
    """Whether a ratio of weights is at most the limit, in integers."""
    return ratio.numerator * limit.denominator <= limit.numerator * ratio.denominator

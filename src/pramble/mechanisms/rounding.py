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

Private = Callable[[Integers], bool]
"""Decides in integers whether weights keep what is promised."""


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


def round_matrix(A: Floats, total: int, *, private: Private | None) -> Integers:
    """Round a row-stochastic matrix so that it is private, by mixing it with its mean row."""
    mean = A.mean(axis=0)

    def mixed(delta: float) -> Integers:
        return round_rows((1 - delta) * A + delta * mean, total)

    return least_mixing(mixed, private)


def least_mixing(rounded: Callable[[float], Integers], private: Private | None) -> Integers:
    """Return ``rounded(δ)`` for the smallest δ in 0, 2^-52, …, 1 that is found private."""
    weights = rounded(0.0)
    if private is None or private(weights):
        return weights
    low, high = -1, FINEST
    best = rounded(1.0)
    if not private(best):
        raise PrivacyError(
            "alpha is too small for weights over 2**53: even the flattest matrix of this kind "
            "exceeds it. Use a larger alpha."
        )
    while high - low > 1:
        middle = (low + high) // 2
        weights = rounded(2.0 ** (middle - FINEST))
        if private(weights):
            high, best = middle, weights
        else:
            low = middle
    return best


def ratios_within(limit: Fraction) -> Private:
    """Return whether no ratio of two weights of one column exceeds a limit."""
    return lambda weights: within(largest_ratio(weights), limit)


def within(ratio: Ratio, limit: Fraction) -> bool:
    """Whether a ratio of weights is at most the limit, in integers."""
    return ratio.numerator * limit.denominator <= limit.numerator * ratio.denominator

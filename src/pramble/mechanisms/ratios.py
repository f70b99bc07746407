r"""The largest ratios of two entries of one column, compared with :math:`e^\alpha` exactly.

A float :math:`\alpha` is a rational number. For rational :math:`\alpha \ne 0` the number
:math:`e^\alpha` is transcendental (Lindemann), so it never equals a ratio of integers, and bounds
of growing precision decide every comparison after finitely many steps. The bounds come from
:mod:`decimal`, whose ``exp`` and ``ln`` are correctly rounded: the true value lies strictly between
the neighbours of the result.

Floats only choose which columns to look at: those whose ratio is within one part in 10^12 of the
largest. Integers decide among them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidInput
from pramble.mechanisms.distance import Distance
from pramble.values import Floats, Integers

# Of e^α: a float has 17, and comparisons hardly ever need more than 40.
FIRST_DIGITS = 40


def check_alpha(alpha: float) -> float:
    try:
        value = float(alpha)
    except (TypeError, ValueError):
        raise InvalidInput(f"alpha must be a positive number; found {alpha!r}.") from None
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"alpha must be positive and finite; found {alpha!r}.")
    return value


def exp_bounds(alpha: float | Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    r"""Yield rationals :math:`l < e^\alpha < u` ever closer together, without end."""
    exponent, digits = exact_decimal(Fraction(alpha)), FIRST_DIGITS
    while True:
        context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
        value = context.exp(exponent)
        yield Fraction(context.next_minus(value)), Fraction(context.next_plus(value))
        digits *= 2


def exact_decimal(number: Fraction) -> Decimal:
    """Return a rational whose denominator is a power of two, as all floats and their products."""
    places = number.denominator.bit_length() - 1
    if number.denominator != 1 << places:
        raise InvalidInput(f"An exponent must be a float, or a product of floats; found {number}.")
    return Decimal(f"{number.numerator * 5**places}E-{places}")


def exp_below(alpha: float | Fraction) -> Fraction:
    r"""Return a rational just below :math:`e^\alpha`, to 40 digits."""
    return next(exp_bounds(alpha))[0]


def ratio_within(numerator: int, denominator: int, alpha: float | Fraction) -> bool:
    r"""Decide numerator ≤ :math:`e^\alpha` · denominator exactly, for :math:`\alpha \ge 0`."""
    if numerator <= denominator:
        return True
    if alpha == 0 or denominator == 0:
        return False
    # Far from the boundary floats decide, and e^α need not be found.
    if alpha > math.log(numerator) - math.log(denominator) + 1:
        return True
    for low, high in exp_bounds(alpha):
        if numerator <= low * denominator:
            return True
        if numerator >= high * denominator:
            return False
    raise AssertionError("the bounds never end")


def smallest_alpha(numerator: int, denominator: int, length: Fraction = Fraction(1)) -> float:
    r"""Return the smallest float α ≥ 0 with numerator ≤ :math:`e^{\alpha l}` · denominator."""
    if numerator <= denominator:
        return 0.0
    if denominator == 0:
        return math.inf
    context = Context(prec=FIRST_DIGITS)
    whole = context.ln(context.divide(Decimal(numerator), Decimal(denominator)))
    alpha = float(context.divide(whole, exact_decimal(length)))

    def enough(level: float) -> bool:
        return ratio_within(numerator, denominator, Fraction(level) * length)

    # Correct rounding makes both loops short: a step or none.
    while not enough(alpha):
        alpha = math.nextafter(alpha, math.inf)
    while enough(math.nextafter(alpha, 0.0)):
        alpha = math.nextafter(alpha, 0.0)
    return alpha


def ceiling_of_share(total: int, others: int, alpha: float) -> int:
    r"""Return the ceiling of total / (others + :math:`e^\alpha`) exactly; it is at least 1."""
    if alpha > math.log(total) + 1:
        return 1
    for low, high in exp_bounds(alpha):
        most, least = math.ceil(total / (others + low)), math.ceil(total / (others + high))
        if most == least:
            return most
    raise AssertionError("the bounds never end")


IntegerMatrix = NDArray[Any]


class Ratio(NamedTuple):
    """Weights ``numerator`` at (x, z) and ``denominator`` at (x_prime, z), as indices."""

    numerator: int
    denominator: int
    x: int
    x_prime: int
    z: int


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
    first, second = np.argpartition(values, 1)[:2]
    return [int(first), int(second)]


def largest(ratios: Iterable[Ratio]) -> Ratio:
    return max(ratios, key=lambda ratio: ratio_of(ratio.numerator, ratio.denominator))


def ratio_of(numerator: int, denominator: int) -> Fraction | float:
    """Return a ratio of weights exactly; anything over zero is infinite."""
    return Fraction(numerator, denominator) if denominator else math.inf


# How near to the steepest, in floats, a ratio must be to be looked at in integers.
NEAR = 1 - 1e-12

# Entries of one chunk of pairs by columns.
MOST_AT_ONCE = 4_000_000


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
            own = np.argwhere((slopes >= top * NEAR) & (lengths == length)[:, None]).tolist()
            ends = [(*sorted(pairs[k].tolist(), key=lambda x: -weights[x, z]), z) for k, z in own]
            ratio = largest(
                Ratio(int(weights[x, z]), int(weights[y, z]), x, y, z) for x, y, z in ends
            )
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

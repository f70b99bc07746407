r"""Gaussian differential privacy: δ of ε and ε of δ, proven, and floats on the safe side.

Add Gaussian noise to a vector that one person moves by at most :math:`\mu`
standard deviations. The release is then μ-Gaussian differentially private, which is (ε, δ) for

.. math:: \delta(\varepsilon) = \Phi\left(-\frac\varepsilon\mu + \frac\mu2\right)
          - e^\varepsilon\,\Phi\left(-\frac\varepsilon\mu - \frac\mu2\right)

(Balle and Wang 2018; Dong, Roth and Su 2022). Several such releases of the same people are
:math:`\sqrt{\sum\mu_i^2}`-Gaussian. The square of μ is a rational number here, the two terms are
evaluated as balls that contain them, and every answer is rounded to the safe side.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_TOTAL


def float_below(number: Fraction) -> float:
    """Return the largest float that is not above a rational.

    >>> Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def stated_number(
    given: Any, name: str, *, most: float = math.inf, is_positive: bool = False
) -> float:
    """Return a stated ε or δ, zero or more and below ``most``."""
    try:
        found = math.nan if isinstance(given, str | bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < most or (is_positive and not found):
        least = "above 0" if is_positive else "0 or more"
        below = "finite" if math.isinf(most) else f"below {most:g}"
        raise InvalidInput(f"{name} must be a number {least}, and {below}; found {given!r}.")
    return found


# Of the balls: δ is a difference of two numbers that agree in up to some 60 bits.
BITS = 192

# Below it searches end: nothing is left to be protected.
SMALLEST = 1e-290


def delta_above(epsilon: float, mu_squared: Fraction) -> float:
    """Return δ at ε as a float, rounded up."""
    if mu_squared == 0:
        return 0.0
    top = float(delta_ball(epsilon, mu_squared).upper())
    found = math.nextafter(math.nextafter(top, math.inf), math.inf)  # float() may round down
    return 1.0 if math.isnan(found) else min(max(found, 0.0), 1.0)


def epsilon_above(delta: float, mu_squared: Fraction) -> float:
    """Return a float ε at which δ is proven: the smallest, but for the last digits."""
    if mu_squared == 0 or delta >= delta_above(0.0, mu_squared):
        return 0.0
    if not delta > 0:
        return math.inf
    return smallest_float(lambda epsilon: delta_above(epsilon, mu_squared) <= delta)


def largest_mu_squared(epsilon: float, delta: float) -> Fraction:
    """Return a μ² that keeps (ε, δ): the largest, but for the last digits of a float."""
    if not (0 < epsilon <= LARGEST_TOTAL and 0 < delta < 1):
        raise InvalidInput(
            "A central guarantee by Gaussian noise needs epsilon > 0, at most 10**6, and delta > 0 "
            f"below 1; found {epsilon!r} and {delta!r}."
        )

    def is_too_much(mu_squared: float) -> bool:
        return delta_above(epsilon, Fraction(mu_squared)) > delta

    if is_too_much(SMALLEST):
        raise InvalidInput(
            f"epsilon = {epsilon!r} and delta = {delta!r} are too small for any release."
        )
    return Fraction(math.nextafter(smallest_float(is_too_much), 0.0))


@lru_cache(maxsize=1000)
def mu_squared_of(epsilon: float) -> Fraction:
    r"""Return a μ² for which every release with this ε, and no δ, is μ-Gaussian: rounded up.

    The trade-off of errors under ε has its corner where both are :math:`1/(1 + e^\varepsilon)`; the
    curve of :math:`\mu = -2\,\Phi^{-1}(1/(1 + e^\varepsilon))` goes through it and is convex.
    """
    if not epsilon:
        return Fraction(0)

    def is_enough(mu: float) -> bool:
        from flint import arb, ctx

        before, ctx.prec = ctx.prec, BITS
        try:
            half = (arb(mu) / (2 * arb(2).sqrt())).erfc() / 2
            return bool(half * (1 + arb(epsilon).exp()) <= 1)
        finally:
            ctx.prec = before

    return Fraction(smallest_float(is_enough)) ** 2


def delta_ball(epsilon: float, mu_squared: Fraction) -> Any:
    from flint import arb, ctx, fmpq

    before, ctx.prec = ctx.prec, BITS
    try:
        mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
        level, root = arb(epsilon), arb(2).sqrt()
        less, more = (level / mu - mu / 2) / root, (level / mu + mu / 2) / root
        return (less.erfc() - level.exp() * more.erfc()) / 2
    finally:
        ctx.prec = before


def smallest_float(holds: Callable[[float], bool]) -> float:
    """Return nearly the smallest positive float from which on something holds; one that does."""
    high = 1.0
    while not holds(high):
        high *= 2
        if math.isinf(high):
            return high
    # Halves until it fails, then bisection down to neighbouring floats.
    low = high / 2
    while low > SMALLEST and holds(low):
        low, high = low / 2, low
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return high
        low, high = (low, middle) if holds(middle) else (middle, high)

r"""Comparisons with :math:`e^\alpha`, decided exactly.

A float :math:`\alpha` is a rational number. For rational :math:`\alpha \ne 0` the number
:math:`e^\alpha` is transcendental (Lindemann), so it never equals a ratio of integers, and bounds
of growing precision decide every comparison after finitely many steps. The bounds come from
:mod:`decimal`, whose ``exp`` and ``ln`` are correctly rounded: the true value lies strictly between
the neighbours of the result.
"""

import math
from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from pramble.errors import InvalidInput

FIRST_DIGITS = 40


def check_alpha(alpha: float) -> float:
    r"""Return ``alpha`` as a float; refuse what is not finite and positive."""
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
    """Return a rational whose denominator is a power of two, as all floats and their products.

    >>> exact_decimal(Fraction(3, 8))
    Decimal('0.375')
    """
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

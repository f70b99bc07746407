"""Numbers as people read them."""

import math


def alpha_text(alpha: float) -> str:
    """Return α with at most four significant digits: 0.98, 3, 36.7 or ∞."""
    return "∞" if math.isinf(alpha) else f"{alpha:.4g}"


def ratio_text(alpha: float) -> str:
    """Return :math:`e^α` as a plain number, or by its power of ten.

    >>> ratio_text(1.0), ratio_text(274.1), ratio_text(2000.0)
    ('2.72', '10¹¹⁹', '10⁸⁶⁸')
    """
    if alpha > 20:
        return "∞" if math.isinf(alpha) else power_of_ten(int(alpha / math.log(10)))
    return f"{math.exp(alpha):,.2f}"


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as it is written."""
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def tiny(number: float) -> str:
    """Return a small number by its power of ten.

    >>> tiny(1e-6), tiny(2.5e-9), tiny(0.0), tiny(0.01)
    ('10⁻⁶', '2.5 × 10⁻⁹', '0', '0.01')
    """
    if not 0 < number < 1e-3:
        return f"{number:.3g}"
    digits, exponent = f"{number:.3g}".split("e") if "e" in f"{number:.3g}" else ("", "")
    if not exponent:
        return f"{number:.3g}"
    power = power_of_ten(int(exponent))
    return power if digits == "1" else f"{digits} × {power}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return "—" if math.isnan(share) else f"{share:.{digits}%}"


def points(share: float) -> str:
    """Return a share in percentage points, with two significant digits and no exponent.

    >>> points(0.0123), points(2.84)
    ('1.2', '284')
    """
    return f"{100 * share:.2g}" if share < 0.995 else f"{100 * share:,.0f}"


def count(number: float) -> str:
    """Return a whole number with separators."""
    return f"{number:,.0f}"


def few_digits(value: float) -> str:
    """Return a positive quantity with three significant digits, without exponents where it can."""
    if math.isinf(value):
        return "∞"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def size(number: int) -> str:
    """Return a number of bytes in a readable unit."""
    value = float(number)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"

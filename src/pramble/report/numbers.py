"""Numbers as people read them."""

import math


def alpha_text(alpha: float) -> str:
    """Return α with at most four significant digits: 0.98, 3, 36.7 or ∞."""
    return "∞" if math.isinf(alpha) else f"{alpha:.4g}"


def ratio_text(alpha: float) -> str:
    """Return :math:`e^α` as a plain number."""
    if alpha > 20:
        return "∞" if math.isinf(alpha) else f"{math.exp(min(alpha, 700)):.1e}"
    return f"{math.exp(alpha):,.2f}"


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

"""Numbers as people read them."""

import math
from decimal import ROUND_CEILING, Context


def alpha_text(alpha: float) -> str:
    """Return α or ε, a bound, with at most four significant digits: rounded up.

    >>> alpha_text(0.98), alpha_text(27.6741), alpha_text(float("inf")), alpha_text(0.9791839)
    ('0.98', '27.68', '∞', '0.9792')
    """
    if math.isinf(alpha):
        return "∞"
    # A float that was itself rounded up is not rounded up once more: 1.0000000000000002 is 1.
    upwards = Context(prec=4, rounding=ROUND_CEILING)
    return f"{float(upwards.create_decimal_from_float(alpha * (1 - 1e-9))):.4g}"


def ratio_text(alpha: float) -> str:
    """Return :math:`e^α` as a plain number, or by its power of ten.

    >>> ratio_text(1.0), ratio_text(274.1), ratio_text(2000.0)
    ('2.72', '10¹¹⁹', '10⁸⁶⁸')
    >>> ratio_text(3.0), ratio_text(6.0)
    ('20', '403')
    """
    if alpha > 20:
        return "∞" if math.isinf(alpha) else power_of_ten(int(alpha / math.log(10)))
    ratio = math.exp(alpha)
    return f"{ratio:.2f}" if ratio < 10 else f"{float(f'{ratio:.3g}'):,.0f}"


def power_of_ten(exponent: int) -> str:
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
    """Return a share as a percentage.

    >>> percent(0.8437), percent(0.05, 0)
    ('84.4 %', '5 %')
    """
    return "—" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def share_text(share: float) -> str:
    """Return a share that was reached: never more than it is, and 100 % only if it is that.

    >>> share_text(0.9997), share_text(1 - 1e-9), share_text(0.00003), share_text(float("nan"))
    ('99.9 %', '100 %', 'less than 0.1 %', '—')
    """
    if math.isnan(share):
        return "—"
    if share >= 1 - 1e-6:
        return "100 %"
    down = math.floor(1000 * share) / 10
    return f"{down:.1f} %" if down else "less than 0.1 %"


def expected(number: float) -> str:
    """Return how many are expected; hardly any below a thousandth.

    >>> expected(12.3), expected(6.6e-07), expected(0.0)
    ('12.3', 'about 0', '0')
    """
    return "about 0" if 0 < number < 1e-3 else few_digits(number)


def sure(share: float) -> str:
    """Return how sure somebody can be at most: rounded up to what tells it from certainty.

    >>> sure(0.73106), sure(0.997527), sure(0.9999999), sure(1.0)
    ('74 %', '99.8 %', '99.99999 %', '100 %')
    """
    for digits in range(12):
        shown = math.ceil(share * 100 * 10**digits - 1e-9) / 10**digits
        # rounding may take away at most a fifth of the doubt that is left
        if shown < 100 and 100 - shown >= 0.8 * (100 - 100 * share):
            return f"{shown:.{digits}f} %"
    return "100 %"


def points(share: float) -> str:
    """Return a share in percentage points, with two significant digits and no exponent.

    >>> points(0.0123), points(2.84)
    ('1.2', '284')
    """
    return f"{100 * share:.2g}" if share < 0.995 else f"{100 * share:,.0f}"


def count(number: float) -> str:
    """Return a whole number with separators."""
    return f"{number:,.0f}"


def rounded(number: float) -> str:
    """Return a number of people with one or two significant digits.

    >>> rounded(7.3), rounded(483.2), rounded(12_345.6), rounded(float("inf"))
    ('7', '480', '12,000', '∞')
    """
    if math.isinf(number):
        return "∞"
    return f"{float(f'{number:.2g}'):,.0f}"


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

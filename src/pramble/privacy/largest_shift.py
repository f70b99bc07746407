r"""The largest shift of one record in protected tables, proven.

All patterns of differing columns are tried where there are at most :math:`2^{22}`
(:mod:`pramble.privacy.patterns`). Of more, sparse tables are maximised column by column
(:mod:`pramble.privacy.elimination`). Beyond that f of pairs is a quadratic form; since :math:`s_j^2
= s_j` its matrix may be shifted until f is concave, and the maximum over the box :math:`[0,1]^d` is
bounded by a tangent plane. For triples the cubic terms are first replaced by quadratic ones that
lie above them at every pattern.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import Columns
from pramble.privacy.elimination import eliminated, elimination_order
from pramble.privacy.patterns import MOST_PATTERNS, Exchangeable, flipped, grouped
from pramble.privacy.quadratic import quadratic_above
from pramble.values import Floats, value

MOST_TIED = 64
"""Patterns whose shifts are the same up to rounding that are told apart in rationals."""

UNIT = 2.0**-52
MIXES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0)
"""How much of either quadratic bound is taken for a product of three; the best mix counts."""


@value(eq=False)
class LargestShift:
    """The largest squared shift of one record, in units of the noise: at most this.

    Attributes
    ----------
    bound : Fraction
    columns : tuple of str
        Two records that differ in these are told apart best, as far as is known.
    attained : bool
        Whether the bound is exactly their shift.
    """

    bound: Fraction
    columns: Columns
    attained: bool


def largest_shift(parts: Exchangeable, precision: Sequence[float]) -> LargestShift:
    """Return the largest shift over all pairs of records, proven.

    >>> from pramble.privacy.patterns import exchangeable
    >>> parts = exchangeable({"a": 2, "b": 3}, {("a",): 0.5, ("b",): 0.5, ("a", "b"): 1.0})
    >>> largest_shift(parts, [0.5, 0.5, 1.0])
    LargestShift(bound=Fraction(7, 3), columns=('a',), attained=True)
    """
    if parts.patterns <= MOST_PATTERNS:
        return largest_of_all(parts, precision)
    alone, values = one_by_one(parts, precision)
    order = elimination_order(alone)
    if order is not None:
        top, pattern = eliminated(alone, values, order)
        bound = Fraction(top) + Fraction(rounding(alone, values))
        return LargestShift(bound, alone.columns_of(pattern), attained=False)
    refuse_uncertifiable(alone)
    worst = flipped(alone, np.array(values))
    return LargestShift(concave_bound(alone, values), alone.columns_of(worst), attained=False)


def refuse_uncertifiable(parts: Exchangeable) -> None:
    """Refuse tables whose largest shift cannot be proven."""
    if parts.patterns <= MOST_PATTERNS or int(parts.kinds.sum(axis=1).max()) <= 3:
        return
    if elimination_order(one_by_one(parts, [0.0] * len(parts.kinds))[0]) is None:
        raise PrivacyError(
            "The guarantee of tables of four or more columns can be proven for about twenty "
            "columns, or for more if many have as many categories; found "
            f"{sum(map(len, parts.classes))}. Want tables of at most three columns, or fewer "
            "columns."
        )


def one_by_one(parts: Exchangeable, precision: Sequence[float]) -> tuple[Exchangeable, list[float]]:
    """Return the parts and their precisions with each column in a class of its own."""
    weight = {
        part: own for members, own in zip(parts.members, precision, strict=True) for part in members
    }
    sizes = {
        name: size for names, size in zip(parts.classes, parts.sizes, strict=True) for name in names
    }
    return grouped([(name,) for name in sizes], sizes, weight), list(weight.values())


def largest_of_all(parts: Exchangeable, precision: Sequence[float]) -> LargestShift:
    """Return the largest shift by trying every pattern; near ties are settled in rationals."""
    shifts = parts.shifts(np.array(precision))
    slack = rounding(parts, precision)
    top = float(shifts.max())
    near = np.argwhere(shifts >= top - 2 * slack)
    exactly = [Fraction(own) for own in precision]
    tried = [tuple(map(int, pattern)) for pattern in near[:MOST_TIED]]
    known = [parts.exact(exactly, pattern) for pattern in tried]
    best = max(known)
    columns = parts.columns_of(tried[known.index(best)])
    if len(near) > MOST_TIED:
        return LargestShift(Fraction(top) + Fraction(slack), columns, attained=False)
    return LargestShift(best, columns, attained=True)


def rounding(parts: Exchangeable, precision: Sequence[float]) -> float:
    """Return a bound on the rounding of a shift: of a sum over kinds of products over classes."""
    members = np.array([len(own) for own in parts.members], dtype=np.float64)
    size = 4 * float(members @ np.array(precision))
    return 4 * (len(parts.kinds) + 4 * len(parts.classes) + 16) * UNIT * size


def concave_bound(parts: Exchangeable, precision: Sequence[float]) -> Fraction:
    """Return a bound on f from above, for parts of at most three columns; the best mix is proven.

    Which mix is the best is decided in floats.
    """
    form = quadratic_above(parts, precision)
    mixes = MIXES if form.has_triples else MIXES[:1]
    found = [tangent(*form.floats(mix)) for mix in mixes]
    best = min(range(len(mixes)), key=lambda i: found[i].value)
    return form.tangent_bound(mixes[best], found[best].shift, found[best].point)


@value(eq=False)
class Tangent:
    """Where a quadratic form, made concave by a shift of its diagonal, has its maximum.

    Attributes
    ----------
    shift, value : float
    point : list of float
    """

    shift: float
    value: float
    point: list[float]


def tangent(constant: float, slope: Floats, matrix: Floats) -> Tangent:
    """Return the maximum over the box of a form, with a shift that is proven to be enough."""
    low = shifted(matrix / 2)
    point = box_maximum(slope + low, matrix / 2, low)
    s = np.array(point)
    value = constant + float((slope + low) @ s - s @ (matrix / 2) @ s - low * s @ s)
    return Tangent(low, value, point)


def shifted(matrix: Floats) -> float:
    r"""Return a number y ≥ 0 such that the matrix plus y times the identity is proven positive.

    A factorisation by Cholesky that ends in floats, of a matrix less
    :math:`c = 2(d+3)\,2^{-53}\,\mathrm{tr}`, proves that the matrix itself is positive definite
    (Rump 2006).
    """
    d = len(matrix)
    low = max(-float(np.linalg.eigvalsh(matrix)[0]), 0.0)
    size = float(np.abs(matrix).max(initial=0.0)) or 1.0
    for more in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 10.0):
        y = low + more * size * d
        margin = 4 * (d + 3) * UNIT * d * (y + size)  # entries of the matrix were rounded, too
        try:
            np.linalg.cholesky(matrix + (y - margin) * np.eye(d))
        except np.linalg.LinAlgError:
            continue
        return y
    raise PrivacyError("The largest shift of these tables cannot be bounded; want fewer tables.")


def box_maximum(slope: Floats, matrix: Floats, shift: float) -> list[float]:
    """Return nearly the point of the box [0, 1]^d at which the concave quadratic is largest."""
    from scipy.optimize import minimize

    unit = float(np.abs(slope).max()) or 1.0  # tolerances of the search are absolute below one
    slope, matrix, shift = slope / unit, matrix / unit, shift / unit

    def negative(s: Floats) -> tuple[float, Floats]:
        curved = matrix @ s + shift * s
        return float(s @ curved - slope @ s), 2 * curved - slope

    found = minimize(
        negative, np.full(len(slope), 0.75), jac=True, method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(slope), options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    return [float(own) for own in np.clip(found.x, 0.0, 1.0)]

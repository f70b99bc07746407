r"""The largest shift of one record in protected tables, proven.

All patterns of differing columns are tried where there are at most :math:`2^{22}`
(:mod:`pramble.privacy.patterns`). Beyond that f of pairs is a quadratic form; since :math:`s_j^2 =
s_j` its matrix may be shifted until f is concave, and the maximum over the box :math:`[0,1]^d` is
bounded by a tangent plane. For triples the cubic terms are first replaced by quadratic ones that
lie above them at every pattern.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import Columns
from pramble.privacy.patterns import MOST_PATTERNS, Exchangeable, flipped, grouped
from pramble.values import Floats, value

MOST_TIED = 64
"""Patterns whose shifts are the same up to rounding that are told apart in rationals."""

UNIT = 2.0**-52
MIXES = (0.0, 0.05, 0.1, 0.2, 0.4)
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
    if int(parts.kinds.sum(axis=1).max()) > 3:
        raise PrivacyError(
            "Tables of more than three columns out of so many cannot be certified: want smaller "
            "tables, or take at most 22 columns."
        )
    one_by_one = grouped(
        [(name,) for names in parts.classes for name in names],
        {n: size for names, size in zip(parts.classes, parts.sizes, strict=True) for n in names},
        {part: 0.0 for members in parts.members for part in members},
    )
    weight = {
        part: own for members, own in zip(parts.members, precision, strict=True) for part in members
    }
    values = [weight[members[0]] for members in one_by_one.members]
    worst = flipped(one_by_one, np.array(values))
    bound = min(concave_bound(one_by_one, values, mix) for mix in mixes_for(one_by_one))
    return LargestShift(bound, one_by_one.columns_of(worst), attained=False)


def largest_of_all(parts: Exchangeable, precision: Sequence[float]) -> LargestShift:
    """Return the largest shift by trying every pattern; near ties are settled in rationals."""
    shifts = parts.shifts(np.array(precision))
    size = parts_size(parts, precision)
    slack = 16 * (len(parts.classes) + 4) * UNIT * size
    top = float(shifts.max())
    near = np.argwhere(shifts >= top - 2 * slack)
    exactly = [Fraction(own) for own in precision]
    tried = [tuple(map(int, pattern)) for pattern in near[:MOST_TIED]]
    known = [parts.exact(exactly, pattern) for pattern in tried]
    best = max(known)
    if len(near) > MOST_TIED:
        return LargestShift(Fraction(top + slack), parts.columns_of(tried[0]), attained=False)
    return LargestShift(best, parts.columns_of(tried[known.index(best)]), attained=True)


def parts_size(parts: Exchangeable, precision: Sequence[float]) -> float:
    """Return a bound on the size of all that is added up for one pattern."""
    members = np.array([len(own) for own in parts.members], dtype=np.float64)
    return 4 * float(members @ np.array(precision))


def mixes_for(parts: Exchangeable) -> tuple[float, ...]:
    """Return the mixes to try: one is enough where there are no triples."""
    return MIXES if int(parts.kinds.sum(axis=1).max()) == 3 else MIXES[:1]


def concave_bound(parts: Exchangeable, precision: Sequence[float], mix: float) -> Fraction:
    """Return a bound on f from above, for parts of at most three columns.

    A product of three is at most the mean of its pairs, and at most the sum of its pairs less that
    of its factors plus one.
    """
    constant, linear, pairs = quadratic(parts, precision, Fraction(mix))
    d = len(parts.classes)
    matrix = np.array([[float(pairs.get((min(i, j), max(i, j)), 0)) for j in range(d)]
                       for i in range(d)])  # fmt: skip
    np.fill_diagonal(matrix, 0.0)
    low = shifted(matrix / 2)
    slope = np.array([float(own) for own in linear])
    point = [Fraction(own) for own in box_maximum(slope + low, matrix / 2, low)]
    return constant + tangent_bound(linear, pairs, Fraction(low), point)


def quadratic(
    parts: Exchangeable, precision: Sequence[float], mix: Fraction
) -> tuple[Fraction, list[Fraction], dict[tuple[int, int], Fraction]]:
    """Return (c, a, U) with f(s) ≤ c + Σ a_j s_j − Σ_{j<k} U_jk s_j s_k at every pattern."""
    same = [Fraction(size - 1, size) for size in parts.sizes]
    constant, linear = Fraction(0), [Fraction(0)] * len(same)
    pairs: dict[tuple[int, int], Fraction] = {}

    def add(i: int, j: int, amount: Fraction) -> None:
        pairs[i, j] = pairs.get((i, j), Fraction(0)) + amount

    for kind, own in zip(parts.kinds, precision, strict=True):
        places, weight = np.flatnonzero(kind).tolist(), 2 * Fraction(own)
        for i in places:
            linear[i] += weight * math.prod((same[j] for j in places if j != i), start=Fraction(1))
        for a, i in enumerate(places):
            for j in places[a + 1 :]:
                rest = (same[k] for k in places if k not in (i, j))
                add(i, j, weight * math.prod(rest, start=Fraction(1)))
        if len(places) == 3:
            constant += weight * (1 - mix)
            for a, i in enumerate(places):
                linear[i] -= weight * (1 - mix)
                for j in places[a + 1 :]:
                    add(i, j, -weight * (mix / 3 + (1 - mix)))
    return constant, linear, pairs


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

    def negative(s: Floats) -> tuple[float, Floats]:
        curved = matrix @ s + shift * s
        return float(s @ curved - slope @ s), 2 * curved - slope

    found = minimize(
        negative, np.full(len(slope), 0.75), jac=True, method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(slope), options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    return [float(own) for own in np.clip(found.x, 0.0, 1.0)]


def tangent_bound(
    linear: Sequence[Fraction],
    pairs: Mapping[tuple[int, int], Fraction],
    shift: Fraction,
    point: Sequence[Fraction],
) -> Fraction:
    r"""Return the maximum over the box of the tangent plane at a point, in rationals.

    Of :math:`q(s) = \sum_j (a_j + y) s_j - y \sum_j s_j^2 - \sum_{j<k} U_{jk} s_j s_k`, which is
    concave and equals f wherever every :math:`s_j` is 0 or 1.
    """
    slope = [own + shift - 2 * shift * s for own, s in zip(linear, point, strict=True)]
    value = sum(
        ((own + shift) * s - shift * s * s for own, s in zip(linear, point, strict=True)),
        Fraction(0),
    )
    for (i, j), weight in pairs.items():
        value -= weight * point[i] * point[j]
        slope[i] -= weight * point[j]
        slope[j] -= weight * point[i]
    return value + sum(
        (max(own * (1 - s), -own * s) for own, s in zip(slope, point, strict=True)), Fraction(0)
    )

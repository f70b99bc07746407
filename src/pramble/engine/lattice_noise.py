r"""Gaussian noise rounded to a lattice, drawn exactly.

The real Gaussian :math:`X \sim N(0, \sigma^2)` with :math:`\sigma^2 = 1/u`, rounded to the lattice
:math:`\frac1N \mathbb Z`, is :math:`k/N` where the whole number k has the mass

.. math:: P(k) = \Phi\left(\frac{k + 1/2}{s}\right) - \Phi\left(\frac{k - 1/2}{s}\right),
          \qquad s = N\sigma .

Every cell has an endless stream of secret bits. The first says the sign; the others are the binary
digits of a tail probability :math:`p < 1/2`, and :math:`|k|` is the whole number with
:math:`Q((|k| + 1/2)/s) < p \le Q((|k| - 1/2)/s)`, with Q the upper tail of the standard normal.
So the digits alone decide: 63 of them place p within :math:`[w, w + 1)/2^{64}`, floats guess k, and
k is taken where Q, whose error is proven, says that the whole interval lies within k's cell. The
others, one of some :math:`10^{13}/s` draws, are settled by ball arithmetic with further digits.
No unproven float decides anything.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.engine.keystream import KeyStream
from pramble.values import Floats, Integers

# p lies between two neighbouring multiples of 2 to the power of minus so much.
TAIL_BITS = 64

# Q is tabled up to TOP, around STEPS nodes a unit, by polynomials of this degree.
TOP, STEPS, DEGREE = 8.5, 16, 14

# Relative: the proven error of a tabled polynomial in floats; what a comparison leaves open.
#
# The argument t = (k ± 1/2)/s is off by two roundings at most: s is the nearest float, k ± 1/2 is
# exact (k < 2^45), and the quotient is rounded. An error of t (1 + 2^-52) changes log Q by at most
# h(t) t 2^-52 (1 + 2^-40), where the hazard h(t) = φ(t)/Q(t) is below t + 1: with t ≤ 8.5 less than
# 81 · 2^-52 < 2^-45.6. With 2^-46 of the table and 2^-52 for the products and for p as floats this
# is below 2^-44.7 < TOLERANCE.
TABLE_ERROR, TOLERANCE = 2.0**-46, 2.0**-44

# Beyond this s floats do not tell the neighbours of k apart; Python's whole numbers do.
LARGEST_FLOAT_SCALE = 2.0**44

# Cells that are drawn at a time, so that all arrays of a chunk stay in the cache.
CHUNK = 1 << 17


def lattice_noise(stream: KeyStream, cells: int, *, scale: int, precision: float) -> NDArray[Any]:
    r"""Return :math:`N` times the noise of so many cells: int64, or Python's own where s is huge.

    ``stream`` holds the secret bits, ``scale`` is N, and ``precision`` is one over the variance, as
    the exact number that the float is.

    Examples
    --------
    >>> stream = KeyStream(bytes(32), "noise")
    >>> lattice_noise(stream, 5, scale=2, precision=0.25).tolist()
    [2, 1, -6, -1, 0]
    """
    variance = Fraction(scale) ** 2 / Fraction(precision)
    if variance > Fraction(LARGEST_FLOAT_SCALE) ** 2:
        found = np.empty(cells, dtype=object)
        found[:] = [drawn_by_digits(stream, cell, variance) for cell in range(cells)]
        return found
    drawn = np.empty(cells, dtype=np.int64)
    s = nearest_root(variance)
    for start in range(0, cells, CHUNK):
        rows = range(start, min(start + CHUNK, cells))
        negative, w = first_bits(stream, rows)
        size, sure = magnitudes(w, s)
        drawn[rows.start : rows.stop] = np.where(negative, -size, size)
        for place in np.flatnonzero(~sure).tolist():
            drawn[start + place] = drawn_by_digits(stream, start + place, variance)
    return drawn


def first_bits(stream: KeyStream, rows: range) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Return the sign and the first 63 digits of each cell: its 64 bits are two words."""
    words = stream.words(range(2 * rows.start, 2 * rows.stop)).astype(np.uint64)
    bits = (words[1::2] << np.uint64(32)) | words[0::2]
    return bits >> np.uint64(63) == 1, bits & np.uint64(2**63 - 1)


def magnitudes(w: NDArray[np.uint64], s: float) -> tuple[Integers, NDArray[np.bool_]]:
    """Return :math:`|k|` from the first digits, and where it is proven."""
    from scipy.special import ndtri

    unit = 2.0**-TAIL_BITS
    low, high = w.astype(np.float64) * unit, (w + np.uint64(1)).astype(np.float64) * unit
    guess = -ndtri(np.minimum((low + high) / 2, 0.5))  # only a guess: it is proven or dropped
    size = np.floor(s * guess + 0.5)
    # Q falls, so what holds at TOP holds beyond; a lower edge there is left to ball arithmetic,
    # and one below zero has more than half of the mass above it.
    inner, outer = (size - 0.5) / s, np.minimum((size + 0.5) / s, TOP)
    known = inner <= TOP
    above = tail(np.clip(inner, 0.0, TOP)) > high * (1 + TOLERANCE)
    below = tail(outer) < low * (1 - TOLERANCE)
    return size.astype(np.int64), known & ((size == 0) | above) & below


def tail(t: Floats) -> Floats:
    """Return Q at points of [0, TOP] with a relative error below ``TABLE_ERROR``, by Horner."""
    table = tail_table()
    node = np.rint(t * STEPS).astype(np.int64)
    rest = t - node / STEPS  # exact: both are floats within a factor of two, or the node is zero
    found: Floats = table[DEGREE][node]
    for coefficients in table[DEGREE - 1 :: -1]:
        found = found * rest + coefficients[node]
    return found


@lru_cache(maxsize=1)
def tail_table() -> Floats:
    """Return the Taylor coefficients of Q about every node, one line for each power; proven.

    The error of a polynomial in floats, whether or not multiplications and additions are fused, is
    at most (2d + 2) 2^-53 / (1 - (2d + 2) 2^-53) times the sum of |coefficients| 32^-power: d
    steps of two roundings each, and that of the coefficients. The remainder is the next Taylor
    coefficient somewhere within 1/32 of the node, which is enclosed by a ball.
    """
    from flint import arb, ctx, fmpq

    before = ctx.prec
    ctx.prec = 256
    try:
        nodes = round(TOP * STEPS) + 1
        table = np.empty((DEGREE + 1, nodes))
        reach = arb(fmpq(1, 2 * STEPS))
        roundings = arb(fmpq(2 * DEGREE + 2, 2**53 - 2 * DEGREE - 2))
        for i in range(nodes):
            node = arb(fmpq(i, STEPS))
            exact = tail_series(node, DEGREE)
            table[:, i] = [float(one.mid()) for one in exact]
            beyond = tail_series(arb(node, reach), DEGREE + 1)[-1]
            remainder = abs(beyond) * reach ** (DEGREE + 1)
            size = sum((abs(one) * reach**j for j, one in enumerate(exact)), arb(0))
            least = tail_series(node + reach, 0)[0]
            # float(mid) is not said to be the nearest: half a step more for each coefficient
            error = (remainder + size * (roundings + arb(2) ** -53)) / least
            assert error < TABLE_ERROR, "the table of the normal tail is as precise as is proven"
        table.flags.writeable = False
        return table
    finally:
        ctx.prec = before


def tail_series(at: Any, degree: int) -> list[Any]:
    r"""Return balls with the Taylor coefficients of Q about a point, or about any in a ball.

    :math:`Q^{(j)} = (-1)^j\, \mathrm{He}_{j-1}\, \varphi` with the Hermite polynomials
    :math:`\mathrm{He}_{j+1}(t) = t\, \mathrm{He}_j(t) - j\, \mathrm{He}_{j-1}(t)`.
    """
    from flint import arb

    found = [(at / arb(2).sqrt()).erfc() / 2]
    density = (-at * at / 2).exp() / (2 * arb.pi()).sqrt()
    before, hermite, factor = arb(0), arb(1), arb(1)
    for j in range(1, degree + 1):
        factor = -factor / j  # (-1)^j / j!
        found.append(factor * hermite * density)
        before, hermite = hermite, at * hermite - (j - 1) * before
    return found


def nearest_root(square: Fraction) -> float:
    """Return the float nearest to a square root."""
    shift = max(0, 128 - (square.numerator.bit_length() - square.denominator.bit_length()))
    shift += shift % 2
    whole = math.isqrt((square.numerator << shift) // square.denominator)
    return float(Fraction(whole, 1 << shift // 2))  # 60 digits and more, rounded once


def drawn_by_digits(stream: KeyStream, cell: int, variance: Fraction) -> int:
    """Return k of one cell, by as many of its digits as it takes."""
    negative, w = first_bits(stream, range(cell, cell + 1))
    digits, count, level = int(w[0]), TAIL_BITS, 0
    while True:
        size = magnitude(digits, count, variance)
        if size is not None:
            return -size if negative[0] else size
        more = stream.child(f"digits {level}").words(range(2 * cell, 2 * cell + 2))
        digits = digits << 64 | int(more[1]) << 32 | int(more[0])
        count, level = count + 64, level + 1


def magnitude(digits: int, count: int, variance: Fraction) -> int | None:
    r"""Return :math:`|k|` if all p in :math:`[w, w + 1) / 2^{count}` have the same; else None."""
    from flint import arb, ctx, fmpq

    if digits == 0:
        return None  # p may be zero, and k anything
    before = ctx.prec
    # twice the digits: p has so many, and near 1/2 the quantile loses half of them
    ctx.prec = 2 * count + 64 + max(0, variance.numerator.bit_length())
    try:
        s = arb(fmpq(variance.numerator, variance.denominator)).sqrt()
        root = arb(2).sqrt() * s

        def rounded(p: Any) -> Any:
            return (root * arb(2 * p).erfcinv() + arb(fmpq(1, 2))).floor().unique_fmpz()

        least = rounded(fmpq(digits + 1, 2**count))
        largest = rounded(fmpq(digits, 2**count))
        if least is None or largest is None or least != largest:
            return None
        return int(least)
    finally:
        ctx.prec = before

"""Slow references in ball arithmetic and fractions, written apart from what they check."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb, ctx, fmpq

BITS = 400


def ball(number: Fraction):
    return arb(fmpq(number.numerator, number.denominator))


def upper_tail(number, variance: Fraction):
    """Q(number / s) as a ball, s² = variance."""
    return ((ball(number) / (2 * ball(variance)).sqrt()).erfc()) / 2


def size_of_tail(low: Fraction, high: Fraction, variance: Fraction) -> int | None:
    """The whole number whose cell holds all tail probabilities in (low, high); None: several do.

    It is found by doubling and halving, and needs no quantile.
    """
    before, ctx.prec = ctx.prec, BITS
    try:

        def is_beyond(k: int, p: Fraction) -> bool:
            """Whether a tail of probability p starts beyond the upper edge of k's cell."""
            edge = upper_tail(k + Fraction(1, 2), variance)
            assert (edge > ball(p)) != (edge < ball(p)), "more bits are needed"
            return bool(edge > ball(p))

        def first(p: Fraction) -> int:
            high = 1
            while is_beyond(high, p):
                high *= 2
            low = -1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if is_beyond(middle, p) else (low, middle)
            return high

        if low == 0:
            return None
        least, largest = first(high), first(low)
        return least if least == largest else None
    finally:
        ctx.prec = before


def size_of_word(word: int, more: int, variance: Fraction) -> int:
    """The whole number that 63 digits say, or with 64 more ones again and again."""
    digits, count = word, 64
    while True:
        bounds = Fraction(digits, 2**count), Fraction(digits + 1, 2**count)
        size = size_of_tail(*bounds, variance)
        if size is not None:
            return size
        digits, count = digits << 64 | more, count + 64


def masses(variance: Fraction, reach: int) -> np.ndarray:
    """The probabilities of -reach, …, reach."""
    before, ctx.prec = ctx.prec, BITS
    try:
        tails = [upper_tail(k + Fraction(1, 2), variance) for k in range(-1, reach + 1)]
        own = [float((one - two).mid()) for one, two in pairwise(tails)]
    finally:
        ctx.prec = before
    return np.array(own[:0:-1] + own)


class Bits:
    """A stream whose first words are given, two for each cell, and later ones too."""

    def __init__(self, first, later=(0x9E3779B9, 0x7F4A7C15)):
        words = np.array(first, dtype=np.uint64)
        self.own = np.empty(2 * len(words), dtype=np.uint32)
        self.own[0::2], self.own[1::2] = words & np.uint64(2**32 - 1), words >> np.uint64(32)
        self.later, self.more, self.asked = later, later[1] << 32 | later[0], 0

    def words(self, rows):
        return self.own[rows.start : rows.stop]

    def child(self, name):
        self.asked += 1
        return Later(self.later)


class Later:
    def __init__(self, words):
        self.own = np.array(words, dtype=np.uint32)

    def words(self, rows):
        return self.own[: len(rows)]


def without_noise(plan):
    """The plan with the largest precision: all its noise is zero, as the lattice is far coarser."""
    return replace(plan, precision=dict.fromkeys(plan.precision, 1e29))


def exact_parts(plan, measured) -> dict:
    """The parts in people, as fractions in one line each; that of no columns is the total."""
    found = {(): [Fraction(measured.total)]}
    for part, numbers in measured.parts.items():
        scale = plan.cells(part) ** 2
        found[part] = [Fraction(int(one), scale) for one in numbers.ravel()]
    return found

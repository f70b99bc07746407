r"""A quadratic form that lies above the shift of pairs and triples at every pattern, in rationals.

:math:`f(s) \le c + \sum_j a_j s_j - \sum_{j<k} U_{jk} s_j s_k`, with equality where there are no
triples. Of three factors s the product is at most the mean of those of two, and at most the sum of
those of two less their sum plus one; any mixture of the two bounds is one.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramble.privacy.patterns import Exchangeable
from pramble.values import Floats, value


@value(eq=False)
class Quadratic:
    """What pairs and triples contribute to a form; all numbers are rationals of `flint`.

    Attributes
    ----------
    linear : list
        a, but for the bounds of products of three.
    pairs : mapping from (j, k) to a number
        U, but for those.
    triples : a number
        The sum of the weights of all products of three.
    of_one, of_two : list, and mapping from (j, k) to a number
        The sum of the weights of the products of three that have a column, or two of them.
    """

    linear: list[Any]
    pairs: dict[tuple[int, int], Any]
    triples: Any
    of_one: list[Any]
    of_two: dict[tuple[int, int], Any]

    @property
    def has_triples(self) -> bool:
        """Whether there are products of three."""
        return bool(self.of_two)

    def at(self, mix: float) -> tuple[Any, list[Any], dict[tuple[int, int], Any]]:
        """Return (c, a, U) for a share of the first bound, the rest being of the second."""
        first = rational(mix)
        second = 1 - first
        linear = [own - second * more for own, more in zip(self.linear, self.of_one, strict=True)]
        both = first / 3 + second
        pairs = {
            pair: own - both * self.of_two[pair] if pair in self.of_two else own
            for pair, own in self.pairs.items()
        }
        return second * self.triples, linear, pairs

    def floats(self, mix: float) -> tuple[float, Floats, Floats]:
        """Return c, a and the symmetric matrix of U, rounded."""
        constant, linear, pairs = self.at(mix)
        matrix = np.zeros((len(linear), len(linear)))
        for (i, j), own in pairs.items():
            matrix[i, j] = matrix[j, i] = as_float(own)
        return as_float(constant), np.array([as_float(own) for own in linear]), matrix

    def tangent_bound(self, mix: float, shift: float, point: Sequence[float]) -> Fraction:
        r"""Return the maximum over the box of the tangent plane at a point.

        Of :math:`q(s) = c + \sum_j (a_j + y) s_j - y \sum_j s_j^2 - \sum_{j<k} U_{jk} s_j s_k`,
        which equals the form wherever every :math:`s_j` is 0 or 1. It has to be concave.
        """
        constant, linear, pairs = self.at(mix)
        y, s = rational(shift), [rational(own) for own in point]
        slope = [own + y - 2 * y * x for own, x in zip(linear, s, strict=True)]
        value = constant
        for own, x in zip(linear, s, strict=True):
            value += (own + y) * x - y * x * x
        for (i, j), weight in pairs.items():
            value -= weight * s[i] * s[j]
            slope[i] -= weight * s[j]
            slope[j] -= weight * s[i]
        for own, x in zip(slope, s, strict=True):
            value += max(own * (1 - x), -own * x)
        return Fraction(int(value.p), int(value.q))


def quadratic_above(parts: Exchangeable, precision: Sequence[float]) -> Quadratic:
    """Return the form above f, for parts of at most three columns, each in a class of its own."""
    from flint import fmpq

    same = [fmpq(size - 1, size) for size in parts.sizes]
    linear, of_one = [fmpq(0) for _ in same], [fmpq(0) for _ in same]
    pairs: dict[tuple[int, int], Any] = {}
    of_two: dict[tuple[int, int], Any] = {}
    triples = fmpq(0)
    for kind, own in zip(parts.kinds, precision, strict=True):
        places, weight = np.flatnonzero(kind).tolist(), 2 * rational(own)
        whole = weight
        for i in places:
            whole *= same[i]
        for a, i in enumerate(places):
            linear[i] += whole / same[i]
            for j in places[a + 1 :]:
                pairs[i, j] = pairs.get((i, j), 0) + whole / (same[i] * same[j])
                if len(places) == 3:
                    of_two[i, j] = of_two.get((i, j), 0) + weight
        if len(places) == 3:
            triples += weight
            for i in places:
                of_one[i] += weight
    return Quadratic(linear, pairs, triples, of_one, of_two)


def rational(number: float) -> Any:
    """Return a float exactly."""
    from flint import fmpq

    return fmpq(*number.as_integer_ratio())


def as_float(number: Any) -> float:
    """Return the nearest float of a rational."""
    return int(number.p) / int(number.q)

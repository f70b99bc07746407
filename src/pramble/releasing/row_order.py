"""Whether the order of the rows tells the values of a column.

A mechanism protects the value that stands in a row; it cannot protect what the row's place says. In
a file sorted by a column, neighbours of a record vote on its true value, whatever α is.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pramble.values import Integers

DEVIATIONS = 6.0
LEAST = 0.05
"""The share of neighbours, away from chance, from which on an order is worth a word."""


@dataclass
class Neighbours:
    """How many pairs of neighbouring rows were met, and in how many both have the same value."""

    pairs: int = 0
    equal: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, codes: Integers) -> None:
        """Add the codes of one batch of rows."""
        if len(codes):
            same = int(np.count_nonzero(codes[1:] == codes[:-1]))
            self.merge(Neighbours(len(codes) - 1, same, int(codes[0]), int(codes[-1])))

    def merge(self, later: "Neighbours", place: Integers | None = None) -> None:
        """Add the rows that follow, of whose codes ``place`` gives the codes here."""
        if later.first is None or later.last is None:
            return
        first, last = later.first, later.last
        if place is not None:
            first, last = int(place[first]), int(place[last])
        self.pairs += later.pairs + (self.last is not None)
        self.equal += later.equal + (self.last == first)
        self.first = first if self.first is None else self.first
        self.last = last

    def tell(self, counts: Iterable[int]) -> bool:
        r"""Whether neighbours are alike more or less often than in a random order of the values.

        A pair is alike by chance with probability :math:`q = \sum_x p_x^2`, and
        :math:`q(1-q) + 2(\sum_x p_x^3 - q^2)` for each pair bounds the variance of their number.

        >>> Neighbours(pairs=99, equal=98).tell([50, 50]), Neighbours(99, 51).tell([50, 50])
        (True, False)
        """
        found = [count for count in counts if count]
        rows = max(sum(found), 1)
        q, cubes = (sum((count / rows) ** power for count in found) for power in (2, 3))
        spread = math.sqrt(self.pairs * max(q * (1 - q) + 2 * (cubes - q * q), 0.0))
        excess = abs(self.equal - q * self.pairs)
        return excess > max(DEVIATIONS * spread, LEAST * (1 - q) * self.pairs)

r"""The two records that protected tables tell apart best.

Replace one record by another: the part of the columns A moves by :math:`g_A = 2\prod_{j \in A} b_j
- 2\prod_{j\in A}(b_j - s_j)` squared people, with :math:`b_j = 1 - 1/n_j` and :math:`s_j = 1` in
the columns in which the two differ. With precisions :math:`u_A` the largest shift is the maximum of

.. math:: f(s) = \sum_A u_A\, g_A(s), \qquad s \in \{0, 1\}^d .

Columns with as many categories that stand alike in the plan are exchangeable: f depends on how many
of each class differ, which leaves few patterns even of many columns.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from pramble.mechanisms.table_plan import Columns
from pramble.values import Floats, Integers, value

MOST_PATTERNS = 1 << 22
"""Patterns up to which all are tried."""


@value(eq=False)
class Exchangeable:
    """Parts of tables, grouped by what they have of each class of exchangeable columns.

    Attributes
    ----------
    classes : tuple of tuples of columns
        Columns with as many categories that may be swapped without a change.
    sizes : tuple of int
        The number of categories of each class.
    kinds : (K, C) array of int
        How many columns of each class every kind of part has.
    members : tuple of tuples of parts
        The parts of each kind.
    """

    classes: tuple[Columns, ...]
    sizes: tuple[int, ...]
    kinds: Integers
    members: tuple[tuple[Columns, ...], ...]

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """How many columns of each class may differ: none to all."""
        return tuple(len(names) + 1 for names in self.classes)

    @cached_property
    def patterns(self) -> int:
        """The number of patterns."""
        return math.prod(self.grid)

    def sums(self, place: int) -> list[Floats]:
        """Return, for t = 0, 1, …, the sum of products of t factors b − s in one class.

        By the number of columns that differ, as elementary symmetric functions.
        """
        return [
            np.array([float(own) for own in row])
            for row in exact_sums(len(self.classes[place]), self.sizes[place], self.order(place))
        ]

    def order(self, place: int) -> int:
        """Return the most columns that a part has of a class."""
        return int(self.kinds[:, place].max(initial=0))

    def gains(self, pattern: Sequence[int]) -> Floats:
        """Return the squared shift of all parts of each kind, for a pattern."""
        here, none = np.ones(len(self.kinds)), np.ones(len(self.kinds))
        for place, differing in enumerate(pattern):
            table = np.array([own[[differing, 0]] for own in self.sums_of[place]])
            here *= table[self.kinds[:, place], 0]
            none *= table[self.kinds[:, place], 1]
        return np.asarray(2 * (none - here))

    @cached_property
    def sums_of(self) -> list[list[Floats]]:
        """The sums of every class."""
        return [self.sums(place) for place in range(len(self.classes))]

    def shifts(self, precision: Floats) -> Floats:
        """Return f of every pattern, as an array over the grid."""
        return np.asarray(2 * (self.at_none(precision) - self.products(precision)))

    def at_none(self, precision: Floats) -> float:
        """Return the weighted products where no column differs."""
        return float(self.gains_at_none @ precision)

    @cached_property
    def gains_at_none(self) -> Floats:
        """The product of all b of every kind, summed over its parts."""
        found = np.ones(len(self.kinds))
        for place in range(len(self.classes)):
            found *= np.array([own[0] for own in self.sums_of[place]])[self.kinds[:, place]]
        return found

    def products(self, precision: Floats) -> Floats:
        """Return the weighted sum of all products over the grid, class by class."""
        return self._products(self.kinds, precision, 0)

    def _products(self, kinds: Integers, weights: Floats, place: int) -> Floats:
        if place == len(self.classes):
            return np.asarray(weights.sum())
        total = np.zeros(self.grid[place:])
        rest = (1,) * (len(self.grid) - place - 1)
        for t, own in enumerate(self.sums_of[place]):
            chosen = kinds[:, place] == t
            if chosen.any():
                below = self._products(kinds[chosen], weights[chosen], place + 1)
                total += own.reshape(-1, *rest) * below
        return total

    def exact(self, precision: Sequence[Fraction], pattern: Sequence[int]) -> Fraction:
        """Return f of a pattern as a rational."""
        tables = [
            exact_sums(len(names), size, self.order(place))
            for place, (names, size) in enumerate(zip(self.classes, self.sizes, strict=True))
        ]
        total = Fraction(0)
        for kind, weight in zip(self.kinds.tolist(), precision, strict=True):
            none = here = Fraction(1)
            for place, t in enumerate(kind):
                if t:
                    none *= tables[place][t][0]
                    here *= tables[place][t][pattern[place]]
            total += 2 * weight * (none - here)
        return total

    def columns_of(self, pattern: Sequence[int]) -> Columns:
        """Return columns that differ in a pattern: the first ones of each class."""
        return tuple(
            name
            for names, differing in zip(self.classes, pattern, strict=True)
            for name in names[:differing]
        )


def exact_sums(columns: int, size: int, order: int) -> list[list[Fraction]]:
    """Return the elementary symmetric functions of b − s, by order and by how many differ.

    >>> exact_sums(2, 2, 2)[2]
    [Fraction(1, 4), Fraction(-1, 4), Fraction(1, 4)]
    """
    same, other = Fraction(size - 1, size), Fraction(-1, size)
    return [
        [
            sum(
                (
                    math.comb(k, i) * other**i * math.comb(columns - k, t - i) * same ** (t - i)
                    for i in range(t + 1)
                ),
                Fraction(0),
            )
            for k in range(columns + 1)
        ]
        for t in range(order + 1)
    ]


def exchangeable(sizes: Mapping[str, int], values: Mapping[Columns, float]) -> Exchangeable:
    """Return the parts by kind: of exchangeable columns if there are, else each on its own.

    Columns with as many categories are exchangeable if parts with as many of each have one value,
    and all such parts or none are there.
    """
    used = [name for name in sizes if any(name in part for part in values)]
    by_size: dict[int, list[str]] = {}
    for name in used:
        by_size.setdefault(sizes[name], []).append(name)
    merged = grouped([tuple(names) for names in by_size.values()], sizes, values)
    for kind, members in zip(merged.kinds.tolist(), merged.members, strict=True):
        complete = math.prod(
            math.comb(len(names), t) for names, t in zip(merged.classes, kind, strict=True)
        )
        if len(members) != complete or len({values[part] for part in members}) > 1:
            return grouped([(name,) for name in used], sizes, values)
    return merged


def grouped(
    classes: Sequence[Columns], sizes: Mapping[str, int], values: Mapping[Columns, float]
) -> Exchangeable:
    """Return parts by how many columns they have of each class."""
    place = {name: i for i, names in enumerate(classes) for name in names}
    found: dict[tuple[int, ...], list[Columns]] = {}
    for part in values:
        kind = [0] * len(classes)
        for name in part:
            kind[place[name]] += 1
        found.setdefault(tuple(kind), []).append(part)
    return Exchangeable(
        tuple(classes),
        tuple(sizes[names[0]] for names in classes),
        np.array(list(found), dtype=np.int64).reshape(len(found), len(classes)),
        tuple(map(tuple, found.values())),
    )


def flipped(
    parts: Exchangeable, precision: Floats, start: Sequence[int] | None = None
) -> list[int]:
    """Return a pattern whose shift grows by changing no single class; from many that differ."""
    if start is None:
        tries = [flipped(parts, precision, first) for first in starts_of(parts)]
        return max(tries, key=lambda own: float(parts.gains(own) @ precision))
    pattern = list(start)
    tables = [np.array(own) for own in parts.sums_of]
    factors = np.stack([tables[c][parts.kinds[:, c], k] for c, k in enumerate(pattern)])
    rows_of = [np.flatnonzero(parts.kinds[:, place]) for place in range(len(tables))]
    improved = True
    while improved:
        improved = False
        for place, (table, rows) in enumerate(zip(tables, rows_of, strict=True)):
            near = factors[:, rows]
            near[place] = precision[rows]
            others, orders = near.prod(axis=0), parts.kinds[rows, place]
            values = np.bincount(orders, weights=others, minlength=len(table)) @ table
            best = int(values.argmin())
            if values[best] < values[pattern[place]] - 1e-12 * float(np.abs(others).sum()):
                pattern[place], improved = best, True
                factors[place, rows] = table[orders, best]
    return pattern


def starts_of(parts: Exchangeable) -> list[list[int]]:
    """Return patterns to begin with: all columns differ, every second one, and random ones."""
    rng = np.random.default_rng(0)
    most = [size - 1 for size in parts.grid]
    random = [[int(rng.binomial(size, 0.75)) for size in most] for _ in range(6)]
    return [most, [size * (i % 2) for i, size in enumerate(most)], *random]

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

    def order(self, place: int) -> int:
        """Return the most columns that a part has of a class."""
        return int(self.kinds[:, place].max(initial=0))

    @cached_property
    def exact_sums(self) -> list[list[list[Fraction]]]:
        """For each class and t = 0, 1, …: the sum of products of t factors b − s, exactly.

        By the number of columns that differ, as elementary symmetric functions.
        """
        return [
            exact_sums(len(names), size, self.order(place))
            for place, (names, size) in enumerate(zip(self.classes, self.sizes, strict=True))
        ]

    @cached_property
    def sums(self) -> list[Floats]:
        """The same as floats: a row for each t, a column for each number that differ."""
        return [np.array([[float(x) for x in row] for row in own]) for own in self.exact_sums]

    def gains(self, pattern: Sequence[int]) -> Floats:
        """Return the squared shift of all parts of each kind, for a pattern."""
        here = np.ones(len(self.kinds))
        for place, differing in enumerate(pattern):
            here *= self.sums[place][self.kinds[:, place], differing]
        return np.asarray(2 * (self.gains_at_none - here))

    def shifts(self, precision: Floats) -> Floats:
        """Return f of every pattern, as an array over the grid."""
        return np.asarray(2 * (float(self.gains_at_none @ precision) - self.products(precision)))

    @cached_property
    def gains_at_none(self) -> Floats:
        """The product of all b of every kind, summed over its parts."""
        found = np.ones(len(self.kinds))
        for place, own in enumerate(self.sums):
            found *= own[self.kinds[:, place], 0]
        return found

    def products(self, precision: Floats) -> Floats:
        """Return the weighted sum of all products over the grid."""
        (first, rows), (second, columns) = self.halves
        weights = np.zeros((len(first), len(second)))
        weights[rows, columns] = precision
        return np.asarray(first.T @ weights @ second).reshape(self.grid)

    @cached_property
    def halves(self) -> tuple[tuple[Floats, Integers], tuple[Floats, Integers]]:
        """The products within either half of the classes, and which of them each kind has."""
        sizes = [math.prod(self.grid[:place]) for place in range(len(self.grid) + 1)]
        half = min(range(len(sizes)), key=lambda i: sizes[i] + self.patterns // sizes[i])
        return self.products_within(range(half)), self.products_within(range(half, len(self.grid)))

    def products_within(self, places: range) -> tuple[Floats, Integers]:
        """Return the products of some classes over their grid, and which of them each kind has."""
        own = self.kinds[:, places.start : places.stop]
        different, which = np.unique(own, axis=0, return_inverse=True)
        found = np.ones((len(different), 1))
        for column, place in enumerate(places):
            table = self.sums[place][different[:, column]]
            found = (found[:, :, None] * table[:, None, :]).reshape(len(different), -1)
        return found, np.asarray(which).reshape(-1)

    def exact(self, precision: Sequence[Fraction], pattern: Sequence[int]) -> Fraction:
        """Return f of a pattern as a rational."""
        total = Fraction(0)
        for kind, weight in zip(self.kinds.tolist(), precision, strict=True):
            none = here = Fraction(1)
            for place, t in enumerate(kind):
                if t:
                    none *= self.exact_sums[place][t][0]
                    here *= self.exact_sums[place][t][pattern[place]]
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
    """Return the parts by kind, with columns in one class that may be swapped without a change.

    Two columns may be swapped if they have as many categories, and every part that has one of them
    has the value of the part with the other in its place.

    >>> chain = {("a",): 1.0, ("b",): 2.0, ("c",): 1.0, ("a", "b"): 3.0, ("b", "c"): 3.0}
    >>> exchangeable({"a": 2, "b": 2, "c": 2}, chain).classes
    (('a', 'c'), ('b',))
    """
    by_set = {frozenset(part): own for part, own in values.items()}
    having: dict[str, list[frozenset[str]]] = {name: [] for name in sizes}
    for part in by_set:
        for name in part:
            having[name].append(part)
    alike: dict[tuple[int, tuple[float, ...]], list[list[str]]] = {}
    classes: list[list[str]] = []
    for name in (name for name in sizes if having[name]):
        key = (sizes[name], tuple(sorted(by_set[part] for part in having[name])))
        for own in alike.setdefault(key, []):
            if may_be_swapped(name, own[0], having[name], by_set):
                own.append(name)
                break
        else:
            classes.append([name])
            alike[key].append(classes[-1])
    return grouped([tuple(names) for names in classes], sizes, values)


def may_be_swapped(
    one: str, two: str, having: list[frozenset[str]], values: Mapping[frozenset[str], float]
) -> bool:
    """Whether parts that have one column, in as many as have the other, have its values."""
    return all(two in part or values.get(part - {one} | {two}) == values[part] for part in having)


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
    tables = parts.sums
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

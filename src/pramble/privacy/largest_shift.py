r"""The two records that protected tables tell apart best, and how far apart they are, proven.

Replace one record by another: the part of the columns A moves by :math:`g_A = 2\prod_{j \in A} b_j
- 2\prod_{j\in A}(b_j - s_j)` squared people, with :math:`b_j = 1 - 1/n_j` and :math:`s_j = 1` in
the columns in which the two differ. With precisions :math:`u_A` the largest shift is the maximum of

.. math:: f(s) = \sum_A u_A\, g_A(s), \qquad s \in \{0, 1\}^d .

Columns with as many categories that stand alike in the plan are exchangeable: f depends on how many
of each class differ, which leaves few patterns even of many columns.

All patterns of differing columns are tried where there are at most :math:`2^{22}`. Of more:

**Elimination.** The shift :math:`f(s) = \sum_A f_A(s_A)` is a sum of functions of few columns each.
A column is left out by taking the maximum over its two values of all functions that have it; what
remains is one function of its neighbours. Tables that hang together like a chain or a tree need
small arrays only, whatever their number of columns.

**A quadratic form.** Of pairs f is one; since :math:`s_j^2 = s_j` its matrix may be shifted until f
is concave, and the maximum over the box :math:`[0,1]^d` is bounded by a tangent plane. Of triples
:math:`f(s) \le c + \sum_j a_j s_j - \sum_{j<k} U_{jk} s_j s_k` at every pattern: the product of
three factors s is at most the mean of those of two, and at most the sum of those of two less their
sum plus one; any mixture of the two bounds is one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import Columns
from pramble.values import Floats, Integers, frozen

# Patterns up to which all are tried.
MOST_PATTERNS = 1 << 22


@frozen(eq=False)
class Exchangeable:
    """Parts of tables, grouped by what they have of each class of exchangeable columns.

    - ``classes``: Columns with as many categories that may be swapped without a change.
    - ``sizes``: The number of categories of each class.
    - ``kinds``: How many columns of each class every kind of part has.
    - ``members``: The parts of each kind.
    """

    classes: tuple[Columns, ...]
    sizes: tuple[int, ...]
    kinds: Integers
    members: tuple[tuple[Columns, ...], ...]

    @cached_property
    def grid(self) -> tuple[int, ...]:
        return tuple(len(names) + 1 for names in self.classes)

    @cached_property
    def patterns(self) -> int:
        return math.prod(self.grid)

    @cached_property
    def exact_sums(self) -> list[list[list[Fraction]]]:
        """For each class and t = 0, 1, …: the sum of products of t factors b − s, exactly.

        By the number of columns that differ, as elementary symmetric functions.
        """
        return [
            exact_sums(len(names), size, int(self.kinds[:, place].max(initial=0)))
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
        (first, rows), (second, columns) = self.halves
        weights = np.zeros((len(first), len(second)))
        weights[rows, columns] = precision
        products = (first.T @ weights @ second).reshape(self.grid)
        return np.asarray(2 * (float(self.gains_at_none @ precision) - products))

    @cached_property
    def gains_at_none(self) -> Floats:
        found = np.ones(len(self.kinds))
        for place, own in enumerate(self.sums):
            found *= own[self.kinds[:, place], 0]
        return found

    @cached_property
    def halves(self) -> tuple[tuple[Floats, Integers], tuple[Floats, Integers]]:
        """The products within either half of the classes, and which of them each kind has."""
        sizes = [math.prod(self.grid[:place]) for place in range(len(self.grid) + 1)]
        half = min(range(len(sizes)), key=lambda i: sizes[i] + self.patterns // sizes[i])
        return self.products_within(range(half)), self.products_within(range(half, len(self.grid)))

    def products_within(self, places: range) -> tuple[Floats, Integers]:
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
    """Return the elementary symmetric functions of b − s, by order and by how many differ."""
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
            # parts that have one column, in as many as have the other, have its values
            if all(
                own[0] in part or by_set.get(part - {name} | {own[0]}) == by_set[part]
                for part in having[name]
            ):
                own.append(name)
                break
        else:
            classes.append([name])
            alike[key].append(classes[-1])
    return grouped([tuple(names) for names in classes], sizes, values)


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
            # Gains by rounding alone would never end.
            if values[best] < values[pattern[place]] - 1e-12 * float(np.abs(others).sum()):
                pattern[place], improved = best, True
                factors[place, rows] = table[orders, best]
    return pattern


def starts_of(parts: Exchangeable) -> list[list[int]]:
    # Fixed, so that the same tables give the same pattern.
    rng = np.random.default_rng(0)
    most = [size - 1 for size in parts.grid]
    random = [[int(rng.binomial(size, 0.75)) for size in most] for _ in range(6)]
    return [most, [size * (i % 2) for i, size in enumerate(most)], *random]


# Columns of the largest function that is held as an array.
MOST_TOGETHER = 20

Scope = tuple[int, ...]


def elimination_order(parts: Exchangeable) -> list[int] | None:
    """Return an order of columns in which all functions stay small, if one is found.

    The column with the fewest neighbours goes first.
    """
    near: dict[int, set[int]] = {place: set() for place in range(len(parts.classes))}
    for kind in parts.kinds:
        scope = np.flatnonzero(kind).tolist()
        for place in scope:
            near[place] |= set(scope) - {place}
    order = []
    while near:
        place = min(near, key=lambda own: (len(near[own]), own))
        others = near.pop(place)
        if len(others) >= MOST_TOGETHER:
            return None
        for other in others:
            near[other] |= others - {other}
            near[other].discard(place)
        order.append(place)
    return order


def eliminated(
    parts: Exchangeable, precision: Sequence[float], order: Sequence[int]
) -> tuple[float, list[int]]:
    """Return nearly the largest shift, and a pattern that nearly has it; a class is one column."""
    factors = [factor(parts, row, own) for row, own in enumerate(precision)]
    top, choices = 0.0, []
    for place in order:
        having = [own for own in factors if place in own[0]]
        factors = [own for own in factors if place not in own[0]]
        scope = tuple(sorted({other for own, _ in having for other in own} - {place}))
        together = sum_of_factors(having, (*scope, place))
        choices.append((place, scope, together.argmax(axis=-1)))
        if scope:
            factors.append((scope, together.max(axis=-1)))
        else:
            top += float(together.max())
    pattern = [0] * len(parts.classes)
    for place, scope, best in reversed(choices):
        pattern[place] = int(best[tuple(pattern[other] for other in scope)])
    return top, pattern


def factor(parts: Exchangeable, row: int, precision: float) -> tuple[Scope, Floats]:
    """Return the shift of one part as a function of which of its columns differ."""
    scope = tuple(np.flatnonzero(parts.kinds[row]).tolist())
    same = [1 - 1 / parts.sizes[place] for place in scope]
    products = np.ones(())
    for own in same:
        products = np.multiply.outer(products, np.array([own, own - 1]))
    return scope, np.asarray(2 * precision * (math.prod(same) - products))


def sum_of_factors(factors: Iterable[tuple[Scope, Floats]], scope: Scope) -> Floats:
    total = np.zeros((2,) * len(scope))
    for own, values in factors:
        inside = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
        shape = [2 if place in own else 1 for place in scope]
        total += np.transpose(values, inside).reshape(shape)
    return total


@frozen(eq=False)
class Quadratic:
    """What pairs and triples contribute to a form; arrays of rationals of `flint`.

    - ``linear``: a, but for the bounds of products of three.
    - ``pairs``: U, a symmetric matrix with zeros on the diagonal, but for those.
    - ``triples``: The sum of the weights of all products of three.
    - ``of_one``, ``of_two``: The sum of the weights of the products of three that have a
      column, or two of them.
    """

    linear: NDArray[Any]
    pairs: NDArray[Any]
    triples: Any
    of_one: NDArray[Any]
    of_two: NDArray[Any]

    def at(self, mix: float) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """Return (c, a, U) for a share of the first bound, the rest being of the second."""
        first = exact_float(mix)
        second = 1 - first
        pairs = self.pairs - self.of_two * (first / 3 + second)
        return second * self.triples, self.linear - self.of_one * second, pairs

    def floats(self, mix: float) -> tuple[float, Floats, Floats]:
        constant, linear, pairs = self.at(mix)
        as_floats = np.frompyfunc(as_float, 1, 1)
        return as_float(constant), as_floats(linear).astype(float), as_floats(pairs).astype(float)

    def tangent_bound(self, mix: float, shift: float, point: Sequence[float]) -> Fraction:
        r"""Return the maximum over the box of the tangent plane at a point.

        Of :math:`q(s) = c + \sum_j (a_j + y) s_j - y \sum_j s_j^2 - \sum_{j<k} U_{jk} s_j s_k`,
        which equals the form wherever every :math:`s_j` is 0 or 1. It has to be concave.
        """
        constant, linear, pairs = self.at(mix)
        y, s = exact_float(shift), np.array([exact_float(own) for own in point], dtype=object)
        across = pairs @ s
        slope = linear + y - s * (2 * y) - across
        value = constant + (s * (linear + y) - s * s * y).sum() - (s * across).sum() / 2
        for own, x in zip(slope, s, strict=True):
            value += max(own * (1 - x), -own * x)
        return Fraction(int(value.p), int(value.q))


def quadratic_above(parts: Exchangeable, precision: Sequence[float]) -> Quadratic:
    """Return the form above f, for parts of at most three columns, each in a class of its own."""
    from flint import fmpq

    d, triples = len(parts.sizes), fmpq(0)
    same = [fmpq(size - 1, size) for size in parts.sizes]
    linear, of_one = np.full(d, fmpq(0), dtype=object), np.full(d, fmpq(0), dtype=object)
    pairs, of_two = (np.full((d, d), fmpq(0), dtype=object) for _ in range(2))
    for kind, own in zip(parts.kinds, precision, strict=True):
        places, weight = np.flatnonzero(kind).tolist(), 2 * exact_float(own)
        whole = math.prod((same[i] for i in places), start=weight)
        is_triple = len(places) == 3
        triples += weight * is_triple
        for i in places:
            linear[i] += whole / same[i]
            of_one[i] += weight * is_triple
        for i, j in permutations(places, 2):
            pairs[i, j] += whole / (same[i] * same[j])
            of_two[i, j] += weight * is_triple
    return Quadratic(linear, pairs, triples, of_one, of_two)


def exact_float(number: float) -> Any:
    from flint import fmpq

    return fmpq(*number.as_integer_ratio())


def as_float(number: Any) -> float:
    return int(number.p) / int(number.q)


# Patterns whose shifts are the same up to rounding that are told apart in rationals.
MOST_TIED = 64

UNIT = 2.0**-52
# How much of either quadratic bound is taken for a product of three; the best mix counts.
MIXES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0)


@frozen(eq=False)
class LargestShift:
    """The largest squared shift of one record, in units of the noise: at most ``bound``.

    Two records that differ in ``columns`` are told apart best, as far as is known; ``attained``
    says whether the bound is exactly their shift.
    """

    bound: Fraction
    columns: Columns
    attained: bool


def largest_shift(parts: Exchangeable, precision: Sequence[float]) -> LargestShift:
    """Return the largest shift over all pairs of records, proven."""
    if parts.patterns <= MOST_PATTERNS:
        return largest_of_all(parts, precision)
    alone, values = one_by_one(parts, precision)
    order = elimination_order(alone)
    if order is not None:
        top, pattern = eliminated(alone, values, order)
        bound = Fraction(top) + Fraction(shift_rounding(alone, values))
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
    slack = shift_rounding(parts, precision)
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


def shift_rounding(parts: Exchangeable, precision: Sequence[float]) -> float:
    """Return a bound on the rounding of a shift: of a sum over kinds of products over classes."""
    members = np.array([len(own) for own in parts.members], dtype=np.float64)
    size = 4 * float(members @ np.array(precision))
    return 4 * (len(parts.kinds) + 4 * len(parts.classes) + 16) * UNIT * size


def concave_bound(parts: Exchangeable, precision: Sequence[float]) -> Fraction:
    """Return a bound on f from above, for parts of at most three columns; the best mix is proven.

    Which mix is the best is decided in floats.
    """
    form = quadratic_above(parts, precision)
    mixes = MIXES if form.triples else MIXES[:1]
    tried = []
    for mix in mixes:
        constant, slope, matrix = form.floats(mix)
        shift = shifted(matrix / 2)
        point = box_maximum(slope + shift, matrix / 2, shift)
        s = np.array(point)
        top = constant + float((slope + shift) @ s - s @ (matrix / 2) @ s - shift * s @ s)
        tried.append((top, mix, shift, point))
    _, mix, shift, point = min(tried, key=lambda one: one[0])
    return form.tangent_bound(mix, shift, point)


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

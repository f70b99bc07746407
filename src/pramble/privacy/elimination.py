r"""The largest shift of sparse tables over many columns, one column after the other.

The shift :math:`f(s) = \sum_A f_A(s_A)` is a sum of functions of few columns each. A column is left
out by taking the maximum over its two values of all functions that have it; what remains is one
function of its neighbours. Tables that hang together like a chain or a tree need small arrays only,
whatever their number of columns.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pramble.privacy.patterns import Exchangeable
from pramble.values import Floats

MOST_TOGETHER = 20
"""Columns of the largest function that is held as an array."""

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
    top, kept = 0.0, []
    for place in order:
        having = [own for own in factors if place in own[0]]
        factors = [own for own in factors if place not in own[0]]
        scope = tuple(sorted({other for own, _ in having for other in own} - {place}))
        together = summed(having, (*scope, place))
        kept.append((place, scope, together.argmax(axis=-1)))
        if scope:
            factors.append((scope, together.max(axis=-1)))
        else:
            top += float(together.max())
    pattern = [0] * len(parts.classes)
    for place, scope, best in reversed(kept):
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


def summed(factors: Iterable[tuple[Scope, Floats]], scope: Scope) -> Floats:
    """Return the sum of functions as one of all their columns."""
    total = np.zeros((2,) * len(scope))
    for own, values in factors:
        inside = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
        shape = [2 if place in own else 1 for place in scope]
        total += np.transpose(values, inside).reshape(shape)
    return total

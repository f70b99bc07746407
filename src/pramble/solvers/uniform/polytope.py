r"""The largest two and smallest two keep probabilities: a polytope with few vertices, for every S.

Let :math:`n = S-1`, :math:`a = e^\alpha`. For uniform rows α-differential privacy reads, for every
ordered pair :math:`k \ne l`,

.. math:: n q_k + a q_l \le a, \qquad q_k + n a q_l \ge 1, \qquad a q_l - q_k \le a-1 \;(S \ge 3),

and all of these follow from the ones on the largest two and the smallest two entries
:math:`M_1 \ge M_2 \ge m_2 \ge m_1`:

.. math:: n M_1 + a M_2 \le a, \quad a M_1 + n M_2 \le a, \quad m_2 + n a m_1 \ge 1, \quad
          a M_1 - m_1 \le a - 1.

Every other entry is free in :math:`[m_2, M_2]`. Vertices are found in exact rational arithmetic,
with a rational a.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import lcm
from operator import mul
from typing import NamedTuple


class Corner(NamedTuple):
    """A vertex: one category at ``top``, one at ``bottom``, each other at ``high`` or ``low``.

    With S = 2 only ``top`` and ``bottom`` are taken, with S = 3 ``high`` equals ``low``.
    """

    top: Fraction
    high: Fraction
    low: Fraction
    bottom: Fraction


@lru_cache(maxsize=256)
def corners(size: int, a: Fraction, keep_at_least: Fraction | None = None) -> tuple[Corner, ...]:
    """Return every vertex of the polytope of (M1, M2, m2, m1), at most 8 without a floor."""
    n = size - 1
    rows: list[tuple[Fraction | int, ...]] = [
        (-1, 1, 0, 0, 0),
        (0, -1, 1, 0, 0),
        (0, 0, -1, 1, 0),
        (n, a, 0, 0, a),
        (a, n, 0, 0, a),
        (0, 0, -1, -n * a, -1),
        (a, 0, 0, -1, a - 1),
    ]
    if keep_at_least is not None:
        rows.append((0, 0, 0, -1, -keep_at_least))
    if size == 2:
        del rows[6], rows[1:3]
    groups = {2: ((0, 2), (1, 3)), 3: ((0,), (1, 2), (3,))}.get(size, ((0,), (1,), (2,), (3,)))
    folded = [(*(sum(row[i] for i in group) for group in groups), row[-1]) for row in rows]
    place = {i: j for j, group in enumerate(groups) for i in group}
    return tuple(
        Corner(*(point[place[i]] for i in range(4)))
        for point in vertices([row for row in folded if any(row[:-1])])
    )


def paper_levels(size: int, a: Fraction) -> dict[str, Fraction]:
    """Return the four keep probabilities of the paper's Proposition 2, by its names."""
    n = size - 1
    return {
        "v_α": a / (a + n),
        "v_−α": 1 / (1 + n * a),
        "v_min": 1 / (a * (a + n)),
        "v_max": a * a / (1 + n * a),
    }


def vertices(rows: Sequence[Sequence[Fraction | int]]) -> list[tuple[Fraction, ...]]:
    """Return the vertices of {y : row[:-1] · y ≤ row[-1] for every row}, each once, exactly."""
    whole = [clear_denominators(row) for row in rows]
    size = len(rows[0]) - 1
    found: dict[tuple[Fraction, ...], None] = {}
    for chosen in combinations(whole, size):
        meeting = intersection(chosen)
        if meeting is None:
            continue
        point, scale = meeting
        if all(sum(map(mul, row, point)) <= row[-1] * scale for row in whole):
            found[tuple(Fraction(value, scale) for value in point)] = None
    return list(found)


def clear_denominators(row: Sequence[Fraction | int]) -> list[int]:
    """Return the row times the least common denominator."""
    entries = [Fraction(entry) for entry in row]
    scale = lcm(*(entry.denominator for entry in entries))
    return [int(entry * scale) for entry in entries]


def intersection(rows: Sequence[list[int]]) -> tuple[list[int], int] | None:
    """Return where as many hyperplanes as dimensions meet, over a common positive denominator."""
    # None when that is no one point. Elimination without fractions: after each step all entries are
    # minors of the system, so every division is exact.
    system = list(rows)
    size, previous = len(rows), 1
    for k in range(size):
        pivot = next((i for i in range(k, size) if system[i][k]), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        head = system[k]
        for i in range(size):
            if i != k:
                factor = system[i][k]
                pairs = zip(system[i], head, strict=True)
                system[i] = [(x * head[k] - y * factor) // previous for x, y in pairs]
        previous = head[k]
    sign = 1 if previous > 0 else -1
    return [sign * row[size] for row in system], abs(previous)

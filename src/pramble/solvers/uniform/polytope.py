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

The feasible set of uniform rows: its constraints, its vertices, and the closed forms on it.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import lcm
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pramble.errors import InvalidInput
from pramble.information.distributions import as_prior
from pramble.information.measures import entropy
from pramble.mechanisms.operators.base import xlogx
from pramble.mechanisms.ratios import check_alpha, exp_below
from pramble.values import Floats


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


LARGEST_ENUMERATED = 10


class KeepLevels(NamedTuple):
    """The four keep probabilities of the paper's Proposition on the feasible set."""

    v_alpha: float
    v_minus_alpha: float
    v_min: float
    v_max: float


class SymmetricOptimum(NamedTuple):
    """The best matrix with one keep probability for all categories."""

    keep: float
    interval: tuple[float, float]
    information: float


def keep_levels(size: int, alpha: float) -> KeepLevels:
    r"""Return the paper's :math:`v_\alpha, v_{-\alpha}, v_{\min}, v_{\max}` for S categories.

    .. math:: v_x = \frac{e^x}{e^x+S-1}, \quad v_{\min} = \frac{e^{-\alpha}}{e^\alpha+S-1}, \quad
              v_{\max} = \frac{e^\alpha}{e^{-\alpha}+S-1}.

    Up to :math:`\alpha = \log(S-2)` (:func:`vertex_threshold`) every vertex of the feasible set has
    its entries among these four.

    Examples
    --------
    >>> keep_levels(10, 1.0).v_alpha
    0.23196931668...
    """
    n, shrink = check_size(size) - 1, math.exp(-check_alpha(alpha))
    return KeepLevels(
        v_alpha=1 / (1 + n * shrink),
        v_minus_alpha=shrink / (shrink + n),
        v_min=shrink * shrink / (1 + n * shrink),
        v_max=1 / (shrink * (shrink + n)),
    )


def vertex_threshold(size: int) -> float:
    r"""Return :math:`\log(S-2)`, up to which the paper's five kinds of vertices are all there are.

    The paper proves it up to :math:`\log\{(S-2+\sqrt{S(S-4)})/2\}`, which is smaller. Minus
    infinity for S = 2 and 3.

    Examples
    --------
    >>> round(vertex_threshold(10), 6)
    2.079442
    """
    return math.log(check_size(size) - 2) if size > 3 else -math.inf


def privacy_constraints(size: int, alpha: float) -> tuple[Floats, Floats]:
    r"""Return :math:`(C, b_\alpha)`: uniform rows are α-private iff :math:`C q \le b_\alpha`.

    Fact 1 of the paper, for every ordered pair :math:`k \ne l`:

    .. math:: (S-1) q_k + e^\alpha q_l \le e^\alpha, \qquad
              -q_k - (S-1) e^\alpha q_l \le -1, \qquad e^\alpha q_l - q_k \le e^\alpha - 1,

    with the sign of its constraint (4) corrected. The last kind compares two rows in a third column
    and is left out for S = 2.

    Examples
    --------
    >>> import pramble
    >>> C, b = privacy_constraints(4, 1.0)
    >>> C.shape
    (36, 4)
    >>> bool((C @ pramble.design([0.4, 0.3, 0.2, 0.1], 1.0).keep <= b + 1e-12).all())
    True
    """
    S, a = check_size(size), exp_below(check_alpha(alpha))
    rows, limits = zip(*constraint_rows(S, a), strict=True)
    return np.array(rows, dtype=np.float64), np.array(limits, dtype=np.float64)


def privacy_vertices(size: int, alpha: float) -> Floats:
    r"""Return all vertices of the feasible set :math:`\{q : Cq \le b_\alpha\}`, one per row.

    Between the paper's threshold and :math:`\log(S-2)` there are exactly :math:`2^S`. Found
    from the vertices of the polytope of the largest two and smallest two entries, in exact rational
    arithmetic, for S up to 10.

    Examples
    --------
    >>> privacy_vertices(5, 1.0).shape
    (32, 5)
    """
    S, a = check_size(size), exp_below(check_alpha(alpha))
    if S > LARGEST_ENUMERATED:
        raise InvalidInput(
            f"There are at least 2**S vertices; ask for at most {LARGEST_ENUMERATED} categories, "
            f"not {S}. design() needs no list of them."
        )
    points = {q for corner in corners(S, a) for q in arrangements(corner, S)}
    found = [q for q in points if is_vertex(q, a)]
    return np.array(sorted(([float(entry) for entry in q] for q in found), reverse=True))


def symmetric_optimum(prior: ArrayLike, alpha: float) -> SymmetricOptimum:
    r"""Return the best symmetric matrix (all :math:`q_k = q`) in closed form.

    The feasible interval is :math:`[v_{-\alpha}, v_\alpha]` and information is convex in q, so the
    better end is optimal:

    .. math:: I(q) = H(pM) + q \log q + (1-q) \log\frac{1-q}{S-1}.

    For two categories (the paper's binary key variable) both ends of
    :math:`[1/(1+e^\alpha),\, e^\alpha/(1+e^\alpha)]` carry the same information, whatever the
    prior, and they are optimal among all 2 × 2 matrices of the family.

    Examples
    --------
    >>> best = symmetric_optimum([0.5, 0.5], 1.0)
    >>> round(best.keep, 6), round(best.information, 6)
    (0.731059, 0.110944)
    """
    p = as_prior(prior)
    n = check_size(len(p)) - 1
    levels = keep_levels(len(p), alpha)
    ends = (levels.v_minus_alpha, levels.v_alpha)

    def information(q: float) -> float:
        off = (1 - q) / n
        released = off + p * (q - off)
        row = xlogx(np.array([q, off]))
        return entropy(released / released.sum()) + float(row[0] + n * row[1])

    values = [information(q) for q in ends]
    keep = ends[0] if values[0] > values[1] and n > 1 else ends[1]
    return SymmetricOptimum(keep, ends, max(values))


def pair_constraints(size: int, a: Fraction) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return the coefficients of q_k and q_l and the limit, the same for every ordered pair."""
    one, n = Fraction(1), Fraction(size - 1)
    rows = [(n, a, a), (-one, -n * a, -one), (-one, a, a - 1)]
    return rows if size > 2 else rows[:2]


def constraint_rows(size: int, a: Fraction) -> Iterator[tuple[list[Fraction], Fraction]]:
    """Yield the coefficients of q and the limit of every constraint."""
    for on_k, on_l, limit in pair_constraints(size, a):
        for k, l in permutations(range(size), 2):  # noqa: E741  # the paper's indices
            row = [Fraction(0)] * size
            row[k], row[l] = on_k, on_l
            yield row, limit


def arrangements(corner: Corner, size: int) -> Iterator[tuple[Fraction, ...]]:
    """Yield every vector whose largest two and smallest two entries are those of a corner."""
    alone = [corner.top] * (corner.top != corner.high) + [corner.bottom] * (
        corner.bottom != corner.low
    )
    between = tuple(dict.fromkeys((corner.high, corner.low)))
    for places in permutations(range(size), len(alone)):
        others = [x for x in range(size) if x not in places]
        for values in product(between, repeat=len(others)):
            named = {
                **dict(zip(places, alone, strict=True)),
                **dict(zip(others, values, strict=True)),
            }
            ordered = sorted(named.values(), reverse=True)
            if (ordered[0], ordered[1], ordered[-2], ordered[-1]) == corner:
                yield tuple(named[x] for x in range(size))


def is_vertex(q: tuple[Fraction, ...], a: Fraction) -> bool:
    """Whether the constraints that hold with equality at q determine it."""
    active = [
        np.array(row, dtype=np.float64)
        for row, limit in constraint_rows(len(q), a)
        if sum(map(mul, row, q)) == limit
    ]
    if len(active) < len(q):
        return False
    scaled = [row / np.abs(row).max() for row in active]
    return int(np.linalg.matrix_rank(np.array(scaled))) == len(q)


def check_size(size: int) -> int:
    """Return the number of categories; refuse fewer than two."""
    if size < 2:
        raise InvalidInput(f"At least two categories are needed; found {size}.")
    return int(size)

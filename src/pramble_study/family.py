r"""The paper's family by its own formulas: information, the four values, and placements.

Only the studies need many vectors q at once; one mechanism at a time is the library's business.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import gcd

import numpy as np

from pramble.solvers.uniform.polytope import clear_denominators, paper_levels
from pramble.values import Floats
from pramble_study.paper import Counts, keep_levels, pair_constraints


def information(p: Floats, q: Floats) -> Floats:
    r"""Return f(q) of the paper for each row of ``q``, in O(S) a row.

    .. math:: f(q) = \sum_x p_x\Big[q_x\log q_x + (1-q_x)\log\frac{1-q_x}{S-1}\Big]
              - \sum_z m_z\log m_z,\qquad
              m_z = c + p_z\Big(q_z - \frac{1-q_z}{S-1}\Big),\;
              c = \sum_x p_x\frac{1-q_x}{S-1}.
    """
    off = (1 - q) / (p.shape[-1] - 1)
    released = (p * off).sum(axis=-1, keepdims=True) + p * (q - off)
    retained = (p * (q * np.log(q) + (1 - q) * np.log(off))).sum(axis=-1)
    return np.asarray(retained - (released * np.log(released)).sum(axis=-1))


def placements(counts: Counts, alpha: float) -> Floats:
    """Return every vector q with these counts, one a row; at most two of the counts are positive.

    The rarer of the two values is placed on every possible set of categories.
    """
    S = sum(counts)
    pairs = zip(counts, keep_levels(S, alpha), strict=True)
    present = [(number, value) for number, value in pairs if number]
    rare, common = min(present), max(present)
    if len(present) == 1:
        return np.full((1, S), common[1])
    chosen = np.array(list(combinations(range(S), rare[0])))
    q = np.full((len(chosen), S), common[1])
    np.put_along_axis(q, chosen, rare[1], axis=1)
    return q


def best_placement(p: Floats, counts: Counts, *, alpha: float) -> tuple[Floats, float]:
    candidates = placements(counts, alpha)
    values = information(p, candidates)
    best = int(values.argmax())
    return candidates[best], float(values[best])


def count_values(q: Floats, alpha: float) -> Counts | None:
    distance = np.abs(q[:, None] - np.array(keep_levels(len(q), alpha)))
    if (distance.min(axis=1) > 1e-9).any():
        return None
    counts = np.bincount(distance.argmin(axis=1), minlength=4)
    return Counts(*(int(count) for count in counts))


def in_words(q: Floats, alpha: float) -> str:
    counts = count_values(q, alpha)
    if counts is None:
        return "another vertex"
    named = zip(counts, ("v_α", "v_−α", "v_min", "v_max"), strict=True)
    return " + ".join(f"{number} {name}" for number, name in named if number)


Point = tuple[Fraction, ...]
# Integers (b, c₁, …, c_S) that stand for the inequality b + Σ c_k q_k ≥ 0.
Row = tuple[int, ...]


@dataclass(frozen=True)
class Corner:
    """A vertex in integers, (w, w·q₁, …, w·q_S), and the set of inequalities it meets as bits."""

    point: Row
    tight: int


def privacy_rows(S: int, a: Fraction) -> list[Row]:
    r"""Return the inequalities of α-DP on q, for every ordered pair k ≠ l, with n = S − 1.

    .. math::

        \text{(A)}\; n q_k + a q_l \le a, \qquad
        \text{(B)}\; q_k + n a q_l \ge 1, \qquad
        \text{(C)}\; a q_l - q_k \le a - 1 \;\;(S \ge 3).
    """
    return [
        integer_row(S, limit, {k: -on_k, l: -on_l})
        for k, l in permutations(range(S), 2)  # noqa: E741 (the paper's index)
        for on_k, on_l, limit in pair_constraints(S, a)
    ]


def integer_row(S: int, constant: Fraction, coefficients: dict[int, Fraction]) -> Row:
    return tuple(clear_denominators([constant, *(coefficients.get(k, 0) for k in range(S))]))


def unit_box(S: int) -> list[Corner]:
    """Return the corners of [0, 1]^S; bit 2k stands for q_k ≥ 0 and bit 2k + 1 for q_k ≤ 1."""
    return [
        Corner((1, *bits), sum(1 << (2 * k + bit) for k, bit in enumerate(bits)))
        for bits in product((0, 1), repeat=S)
    ]


def cut(corners: list[Corner], row: Row, *, bit: int, S: int) -> list[Corner]:
    slack = [sum(c * v for c, v in zip(row, corner.point, strict=True)) for corner in corners]
    retained = [
        Corner(corner.point, corner.tight | (1 << bit if s == 0 else 0))
        for corner, s in zip(corners, slack, strict=True)
        if s >= 0
    ]
    inside = [(corner, s) for corner, s in zip(corners, slack, strict=True) if s > 0]
    outside = [(corner, s) for corner, s in zip(corners, slack, strict=True) if s < 0]
    for (low, t), (high, s) in product(outside, inside):
        shared = low.tight & high.tight
        if shared.bit_count() >= S - 1 and are_neighbours(low, high, corners):
            crossing = tuple(s * u - t * v for u, v in zip(low.point, high.point, strict=True))
            divisor = gcd(*crossing)
            retained.append(Corner(tuple(v // divisor for v in crossing), shared | 1 << bit))
    return retained


def are_neighbours(one: Corner, other: Corner, corners: list[Corner]) -> bool:
    """Whether an edge joins two corners: no third one meets all that both meet."""
    shared = one.tight & other.tight
    return not any(
        shared & ~corner.tight == 0
        for corner in corners
        if corner is not one and corner is not other
    )


@cache
def exact_vertices(S: int, a: Fraction) -> frozenset[Point]:
    """Return the vertices of the feasible set for S categories and e^α = a, as fractions.

    Examples
    --------
    >>> sorted(exact_vertices(2, Fraction(3)))[1]
    (Fraction(1, 4), Fraction(1, 4))
    """
    corners = unit_box(S)
    for position, row in enumerate(privacy_rows(S, a)):
        corners = cut(corners, row, bit=2 * S + position, S=S)
    return frozenset(
        tuple(Fraction(value, corner.point[0]) for value in corner.point[1:]) for corner in corners
    )


def listed_vertices(S: int, a: Fraction) -> frozenset[Point]:
    values = paper_levels(S, a)
    high, low = values["v_α"], values["v_−α"]
    swapped = {1: (high, values["v_max"]), S - 1: (low, values["v_min"])}
    listed = set()
    for choice in product((low, high), repeat=S):
        old, new = swapped.get(choice.count(high), (high, high))
        listed.add(tuple(new if q == old else q for q in choice))
    return frozenset(listed)

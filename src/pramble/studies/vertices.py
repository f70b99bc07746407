r"""Every vertex of the paper's feasible set, exactly.

The keep probabilities q of an α-DP matrix with uniform off-diagonal rows fill a polytope. For
rational :math:`a = e^\alpha` all of its data are rational, so the double description method in
integers lists its vertices without rounding, and anyone can repeat it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import gcd, lcm

Point = tuple[Fraction, ...]
Row = tuple[int, ...]
"""Integers (b, c₁, …, c_S) that stand for the inequality b + Σ c_k q_k ≥ 0."""


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
    n = S - 1
    rows = []
    for k, l in permutations(range(S), 2):  # noqa: E741 (the paper's index)
        rows.append(integer_row(S, a, {k: Fraction(-n), l: -a}))
        rows.append(integer_row(S, Fraction(-1), {k: Fraction(1), l: n * a}))
        if S >= 3:
            rows.append(integer_row(S, a - 1, {k: Fraction(1), l: -a}))
    return rows


def integer_row(S: int, constant: Fraction, coefficients: dict[int, Fraction]) -> Row:
    """Return an inequality with its fractions cleared."""
    row = [constant] + [coefficients.get(k, Fraction(0)) for k in range(S)]
    scale = lcm(*(value.denominator for value in row))
    return tuple(int(value * scale) for value in row)


def unit_box(S: int) -> list[Corner]:
    """Return the corners of [0, 1]^S; bit 2k stands for q_k ≥ 0 and bit 2k + 1 for q_k ≤ 1."""
    return [
        Corner((1, *bits), sum(1 << (2 * k + bit) for k, bit in enumerate(bits)))
        for bits in product((0, 1), repeat=S)
    ]


def cut(corners: list[Corner], row: Row, *, bit: int, S: int) -> list[Corner]:
    """Return the corners of the polytope after one more inequality."""
    slack = [sum(c * v for c, v in zip(row, corner.point, strict=True)) for corner in corners]
    kept = [
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
            kept.append(Corner(tuple(v // divisor for v in crossing), shared | 1 << bit))
    return kept


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


def special_values(S: int, a: Fraction) -> dict[str, Fraction]:
    """Return v_α, v_−α, v_min and v_max of the paper's Proposition 2."""
    n = S - 1
    return {
        "v_α": a / (a + n),
        "v_−α": 1 / (1 + n * a),
        "v_min": 1 / (a * (a + n)),
        "v_max": a * a / (1 + n * a),
    }


def listed_vertices(S: int, a: Fraction) -> frozenset[Point]:
    """Return the vertices that the paper's Proposition 2 lists."""
    values = special_values(S, a)
    high, low = values["v_α"], values["v_−α"]
    swapped = {1: (high, values["v_max"]), S - 1: (low, values["v_min"])}
    listed = set()
    for choice in product((low, high), repeat=S):
        old, new = swapped.get(choice.count(high), (high, high))
        listed.add(tuple(new if q == old else q for q in choice))
    return frozenset(listed)

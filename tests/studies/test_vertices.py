"""The exact vertices: against brute force, and where the paper's list is right."""

from fractions import Fraction
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramble.mechanisms.uniform import keep_probabilities
from pramble.privacy.certificate import certify
from pramble.solvers.uniform.polytope import paper_levels
from pramble_study.errata import is_private, quadruple
from pramble_study.family import (
    exact_vertices,
    listed_vertices,
    privacy_rows,
)


def solved(rows):
    """The one solution of as many equations b + c·q = 0 as unknowns, or None."""
    matrix = [[Fraction(value) for value in (*row[1:], -row[0])] for row in rows]
    size = len(matrix)
    for column in range(size):
        pivot = next((r for r in range(column, size) if matrix[r][column]), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        matrix[column] = [value / matrix[column][column] for value in matrix[column]]
        for r in range(size):
            if r != column and matrix[r][column]:
                factor = matrix[r][column]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[column], strict=True)]
    return tuple(row[-1] for row in matrix)


def holds(row, q):
    return row[0] + sum(c * v for c, v in zip(row[1:], q, strict=True)) >= 0


def brute_force(S, a):
    """Every feasible point where S inequalities meet: the definition of a vertex."""
    box = [(0, *(int(k == j) for j in range(S))) for k in range(S)]
    box += [(1, *(-int(k == j) for j in range(S))) for k in range(S)]
    rows = privacy_rows(S, a) + box
    met = {solved(chosen) for chosen in combinations(rows, S)} - {None}
    return {q for q in met if all(holds(row, q) for row in rows)}


@pytest.mark.parametrize("a", [Fraction(11, 10), Fraction(2), Fraction(7, 3), Fraction(12)])
@pytest.mark.parametrize("S", [2, 3])
def test_the_vertices_are_those_of_brute_force(S, a):
    assert exact_vertices(S, a) == brute_force(S, a)


@settings(max_examples=25, deadline=None)
@given(
    S=st.sampled_from([4, 5]),
    a=st.fractions(min_value=Fraction(11, 10), max_value=8, max_denominator=40),
)
def test_proposition_2_holds_exactly_up_to_its_threshold(S, a):
    assert (exact_vertices(S, a) == listed_vertices(S, a)) == (a <= S - 2)


@pytest.mark.parametrize("S", [4, 5, 6])
def test_the_threshold_is_sharp(S):
    at, above = Fraction(S - 2), S - 2 + Fraction(1, 10**6)
    assert len(exact_vertices(S, at)) == 2**S
    assert exact_vertices(S, at) == listed_vertices(S, at)
    assert any(not is_private(q, above) for q in listed_vertices(S, above))


@settings(max_examples=12, deadline=None)
@given(
    S=st.integers(3, 5),
    a=st.fractions(min_value=Fraction(11, 10), max_value=10, max_denominator=30),
)
def test_laws_of_every_vertex(S, a):
    found = exact_vertices(S, a)
    assert all(is_private(q, a) for q in found)
    assert {tuple(q[k] for k in order) for q in found for order in permutations(range(S))} == found
    assert max(max(q) / min(q) for q in found) == a * a
    assert len({quadruple(q) for q in found}) <= 8


def test_a_vertex_is_private_in_the_library_too_and_with_nothing_to_spare():
    for q in exact_vertices(4, Fraction(5, 2)):
        certified = certify(keep_probabilities([float(value) for value in q])).alpha
        assert certified == pytest.approx(0.9162907318741551, abs=1e-9)


def test_special_values_are_those_of_the_paper():
    assert paper_levels(10, Fraction(3)) == {
        "v_α": Fraction(3, 12),
        "v_−α": Fraction(1, 28),
        "v_min": Fraction(1, 36),
        "v_max": Fraction(9, 28),
    }

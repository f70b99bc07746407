"""The paper's formulas in bulk: against the library, and against all permutations."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.information.measures import mutual_information
from pramble.mechanisms.uniform import keep_probabilities
from pramble.privacy.certificate import certify
from pramble_study.family import (
    best_placement,
    count_values,
    information,
    placements,
)
from pramble_study.paper import (
    ALPHAS,
    SCENARIOS,
    TABLES,
    Counts,
    draw_third,
    keep_levels,
    printed_counts,
    scenario,
)


@given(p=st.lists(st.floats(0.01, 1), min_size=3, max_size=8), data=st.data())
def test_information_is_that_of_the_library(p, data):
    prior = np.array(p) / sum(p)
    keep = st.lists(st.floats(0.01, 0.99), min_size=len(p), max_size=len(p))
    rows = np.array(data.draw(st.lists(keep, min_size=1, max_size=3)))
    expected = [mutual_information(prior, keep_probabilities(q)) for q in rows]
    assert information(prior, rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "counts", [Counts(2, 3, 0, 0), Counts(0, 4, 0, 1), Counts(4, 0, 1, 0), Counts(5, 0, 0, 0)]
)
def test_placements_are_all_orders_once(counts):
    values = np.repeat(keep_levels(5, 0.8), counts)
    rows = [tuple(row) for row in placements(counts, 0.8)]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(permutations(values.tolist()))


def test_best_placement_is_best_of_all_orders():
    prior = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    counts = Counts(2, 3, 0, 0)
    values = np.repeat(keep_levels(5, 0.8), counts)
    every = np.array(list(set(permutations(values.tolist()))))
    q, value = best_placement(prior, counts, alpha=0.8)
    assert value == information(prior, every).max()
    assert mutual_information(prior, keep_probabilities(q)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_printed_vertices_are_private_and_counted_back(name, alpha):
    counts = printed_counts(name, alpha)
    assert sum(counts) == (10 if name in {"I", "II"} else 30)
    q = placements(counts, alpha)[0]
    assert certify(keep_probabilities(q, alpha=alpha)).satisfies(alpha)
    assert count_values(q, alpha) == counts


def test_count_values_refuses_other_values():
    assert count_values(np.array([0.5, 0.2, 0.3]), 1.0) is None


def test_printed_tables_have_a_row_for_each_alpha():
    assert {name: len(rows) for name, rows in TABLES.items()} == dict.fromkeys(SCENARIOS, 4)


# The paper's vertex at its best placement, computed by an independent program.
PRINTED = {
    "I": (0.010324, 0.051809, 0.085988, 0.278843),
    "II": (0.012605, 0.059650, 0.157967, 0.289146),
    "IV": (0.003099, 0.029992, 0.090935, 0.212914),
}


@pytest.mark.parametrize("name", PRINTED)
def test_information_of_the_printed_vertices(name):
    found = [
        best_placement(scenario(name), printed_counts(name, alpha), alpha=alpha)[1]
        for alpha in ALPHAS
    ]
    assert found == pytest.approx(PRINTED[name], abs=5e-7)


def test_third_priors_are_uniform_on_the_simplex():
    drawn = draw_third(np.random.default_rng(0), 4000)
    assert drawn.sum(axis=1) == pytest.approx(1)
    assert drawn.mean(axis=0) == pytest.approx(1 / 30, abs=0.003)
    # The variance of a coordinate of Dirichlet(1, …, 1) is (S−1)/(S²(S+1)).
    assert drawn.var() == pytest.approx(29 / (900 * 31), rel=0.03)

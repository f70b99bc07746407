"""What the studies must find: optima by exhaustion, proven bounds, errors as theory has them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.studies.small import finished

from pramble.mechanisms.base import Mechanism
from pramble.privacy.certificate import certify
from pramble.solvers.design import design
from pramble_study import errata, sex
from pramble_study.family import exact_vertices, in_words, information
from pramble_study.paper import ALPHAS, keep_levels, printed_counts, scenario
from pramble_study.tables import table_row

# The best in the family, and the best of all matrices, by independent programs.
FAMILY = {
    "I": (0.013283, 0.066189, 0.178089, 0.359138),
    "II": (0.012899, 0.064034, 0.171565, 0.344413),
}
GENERAL = {
    "I": (0.031136, 0.123271, 0.272394, 0.467712),
    "II": (0.031117, 0.123281, 0.270766, 0.461189),
}


def best_of_all_vertices(prior, alpha):
    """The maximum over the 2^S vertices of Proposition 2, all of them tried."""
    S = len(prior)
    high, low, least, most = keep_levels(S, alpha)
    q = np.where(np.array(list(product((False, True), repeat=S))), high, low)
    highs = (q == high).sum(axis=1, keepdims=True)
    q = np.where((highs == 1) & (q == high), most, q)
    q = np.where((highs == S - 1) & (q == low), least, q)
    return information(prior, q).max()


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_rows_hold_proven_optima(name, alpha):
    row = table_row((name, scenario(name), alpha, 1e-7))
    position = ALPHAS.index(alpha)
    assert row.family == pytest.approx(FAMILY[name][position], abs=5e-7)
    assert row.general == pytest.approx(GENERAL[name][position], abs=5e-7)
    assert row.family == pytest.approx(best_of_all_vertices(scenario(name), alpha), rel=1e-9)
    assert row.printed < row.family <= row.family_bound <= row.family * (1 + 1e-6)
    assert row.family < row.general <= row.general_bound <= row.general * (1 + 1e-6)
    assert row.general <= row.ceiling
    assert row.counts == printed_counts(name, alpha)
    assert not row.is_optimal


@pytest.mark.parametrize("a", [Fraction(2), Fraction(7, 2), Fraction(9)])
def test_the_family_optimum_is_the_best_of_all_exact_vertices(a):
    vertices = np.array(sorted(exact_vertices(5, a)), dtype=np.float64)
    for prior in np.random.default_rng(2).dirichlet(np.ones(5), size=10):
        best = information(prior, vertices).max()
        assert design(prior, math.log(a)).value == pytest.approx(best, rel=1e-9)


def test_scenario_four_is_right_but_for_its_first_row():
    rows = [table_row(("IV", scenario("IV"), alpha, 1e-7)) for alpha in ALPHAS]
    assert [row.is_optimal for row in rows] == [False, True, True, True]
    assert [row.family for row in rows] == pytest.approx(
        [0.005502, 0.029992, 0.090935, 0.212914], abs=5e-7
    )
    assert {row.optimum for row in rows} == {"30 v_α"}


def test_a_vertex_in_words():
    high, low, least, most = keep_levels(4, 0.5)
    assert in_words(np.array([high, low, high, low]), 0.5) == "2 v_α + 2 v_−α"
    assert in_words(np.array([least, high, high, high]), 0.5) == "3 v_α + 1 v_min"
    assert in_words(np.array([most, 0.3, 0.3, 0.3]), 0.5) == "another vertex"


def test_each_misprint_fails_at_a_private_point_and_its_correction_does_not():
    for found in errata.refutations(S=5, a=Fraction(7, 4)):
        assert found.excess > 0
        assert found.corrected_excess <= 0


def test_the_last_keep_probability_of_new_york_is_outside():
    found = errata.outside_interval()
    assert not found.satisfies
    assert found.q > found.end == pytest.approx(0.5124974, abs=5e-8)


def test_errors_of_sex_are_as_expected():
    config = sex.Config(repetitions=60, share=0.02, curve=3, keep=(0.4, 0.6), alpha=1.0)
    data = sex.run(config, np.random.default_rng(5))
    for panel in data.panels:
        assert panel.satisfies
        assert panel.rmse == pytest.approx(panel.expected, rel=0.3)
        assert panel.from_pairs.mean() == pytest.approx(panel.information, rel=0.15)


def test_plug_in_information_of_independent_and_of_equal_columns():
    assert sex.plug_in(np.array([[20, 30], [40, 60]])) == pytest.approx(0, abs=1e-12)
    assert sex.plug_in(np.array([[50, 0], [0, 50]])) == pytest.approx(np.log(2))


def test_matrices_of_new_york_are_private():
    for best in finished("new-york").data.designs:
        mechanism = Mechanism.from_matrix(best.matrix)
        assert certify(mechanism).alpha <= best.alpha + 1e-9
        assert 0 < best.share <= 1
        assert best.standard_error > 0

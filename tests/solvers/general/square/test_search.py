"""Local search over square matrices, against what is computed anew."""

import numpy as np
import pytest

import pramble
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.sets import circulant
from pramble.solvers.general.squares import SquareSearch
from pramble_study.paper import scenario

SCENARIO_I = scenario("I")


def test_the_local_search_updates_what_it_would_compute_anew():
    rng = np.random.default_rng(0)
    search = SquareSearch(SCENARIO_I, 1.0)
    block = np.zeros(10, dtype=bool)
    block[[0, 1, 3]] = True
    found = search.improve(circulant(block), rng=rng, steps=4000, budget=SearchBudget(1e-6))
    again = search.evaluate(found.sets)
    assert found.variance == pytest.approx(again.variance, rel=1e-9)
    mechanism = pramble.Mechanism.from_matrix(found.matrix(1.0), alpha=1.0)
    direct = pramble.estimation_variance(SCENARIO_I, mechanism)
    assert found.variance == pytest.approx(direct, rel=1e-9)
    assert found.information == pytest.approx(pramble.mutual_information(SCENARIO_I, mechanism))

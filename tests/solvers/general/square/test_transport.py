"""Couplings between the columns of a mechanism and the released values."""

import numpy as np
import pytest

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.invariant_search import best_coupling


def test_a_coupling_meets_both_sides():
    rng = np.random.default_rng(0)
    supply, demand = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(7))
    gains = rng.normal(size=(5, 7))
    coupling = best_coupling(gains, supply, demand, SearchBudget(1e-6))
    assert coupling.sum(axis=1) == pytest.approx(supply, abs=1e-14)
    assert coupling.sum(axis=0) == pytest.approx(demand, abs=1e-14)
    independent = np.outer(supply, demand)
    assert (coupling * gains).sum() > (independent * gains).sum()

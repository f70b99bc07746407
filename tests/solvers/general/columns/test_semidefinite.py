"""The semidefinite bound: below every mixture, above the closed form, and near the sharp bound."""

import numpy as np
import pytest

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.estimation import relaxed_optimum
from pramble.solvers.general.variance_bounds import closed_bound, proven_bound


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_holds_and_is_near(alpha, seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(9))
    for workload in (None, rng.normal(size=(3, 9))):
        best = relaxed_optimum(prior, alpha, workload, budget=SearchBudget(1e-6))
        bound = proven_bound(prior, alpha, workload, budget=SearchBudget(1e-6))
        assert closed_bound(prior, alpha, workload) <= bound * (1 + 1e-6)
        assert bound <= best.variance * (1 + 1e-9)
        if workload is None:
            assert bound >= 0.95 * best.variance

"""Uniform rows for estimation: randomised response, private, bounded, and hard to beat."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import pramble
from pramble_study import paper


@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_local_search_finds_nothing_better(seed, alpha):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(rng.integers(2, 8), 0.4))
    d = pramble.design(prior, alpha, objective="estimation")
    assert d.certificate.satisfies(alpha)
    assert d.value == pytest.approx(pramble.estimation_variance(prior, d.mechanism))
    assert d.bound <= d.value
    C, b = paper.privacy_constraints(len(prior), alpha)
    best = d.mechanism.matrix.diagonal()
    for share in (0.0, 0.02, 0.2):
        start = (1 - share) * best + share * rng.dirichlet(np.ones(len(prior)))
        found = minimize(
            lambda q: (
                min(
                    pramble.estimation_variance(
                        prior, pramble.keep_probabilities(np.clip(q, 0, 1))
                    ),
                    1e9,
                )
                / d.value
            ),
            start,
            method="SLSQP",
            constraints=LinearConstraint(C, -np.inf, b),
            options={"maxiter": 40},
        )
        if (C @ found.x <= b + 1e-9).all():
            assert found.fun >= 1 - 1e-6


def test_a_workload_is_heeded():
    prior = [0.5, 0.3, 0.2]
    query = np.array([[1.0, 0.0, 0.0]])
    d = pramble.design(prior, 1.0, objective="estimation", workload=query)
    assert d.certificate.satisfies(1.0)
    assert d.value < pramble.design(prior, 1.0, objective="estimation").value


def test_the_bound_of_all_matrices_is_that_of_the_general_family():
    prior = paper.scenario("I")
    d = pramble.design(prior, 1.0, objective="estimation")
    assert d.value == pytest.approx(41.788, abs=1e-3)
    assert d.bound == pytest.approx(29.43, abs=0.01)

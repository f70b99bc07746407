"""Edges that a stress run found: small α, few outputs, floors, time."""

import time

import numpy as np
import pytest

import pramble
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.outputs import float_variance, simplex_outputs
from pramble.solvers.general.sets import Gain
from pramble.solvers.general.variance_bounds import closed_bound, proven_bound

QUERIES = np.array([[1.0, 1, 1, 0, 0, 0], [0, 1, 2, 3, 4, 5], [1, 0, 0, 0, 0, -1]])
SKEW = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def design(prior, alpha, **options):
    return pramble.design(prior, alpha, family="general", objective="estimation", **options)


def test_the_mass_at_a_very_low_price_is_a_number():
    assert np.isfinite(Gain(1e-6).mass_at(np.array([-1e3, 0.0]))).all()


@pytest.mark.parametrize("alpha", [1e-4, 0.5, 3.0])
def test_three_queries_are_told_by_four_outputs(alpha):
    few, many = (design(SKEW, alpha, workload=QUERIES, outputs=k) for k in (4, 6))
    assert len(few.mechanism.outputs) == 4
    assert many.value <= few.value * (1 + 1e-6) < np.inf
    matrix = simplex_outputs(SKEW, alpha, QUERIES)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    ratios = np.log(matrix.max(axis=0) / matrix.min(axis=0))
    assert ratios.max() <= alpha * (1 + 1e-9)
    assert few.value <= float_variance(matrix, SKEW, QUERIES) * (1 + 1e-6)


def test_free_outputs_close_the_gap_also_for_small_alpha():
    for alpha in (1e-6, 1e-3, 1.0, 6.0):
        found = design(SKEW, alpha, outputs="free")
        assert found.stopped == "tolerance", alpha
    rare = np.array([0.9, 0.1 - 1e-6, 1e-6])
    assert design(rare, 6.0, outputs="free").gap <= 1e-6


def test_a_bound_without_time_is_the_closed_form_or_better():
    prior = np.random.default_rng(0).dirichlet(np.ones(60))
    start = time.process_time()
    bound = proven_bound(prior, 1.0, None, budget=SearchBudget(1e-6, 1e-9))
    assert bound >= closed_bound(prior, 1.0, None)
    assert time.process_time() - start < 1

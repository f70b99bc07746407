"""Mutual information keeps its digits when one category has nearly all the mass."""

import numpy as np
import pytest

import pramble


def by_definition(prior, mechanism):
    """From the definition with exact weights, in 64-bit mantissas."""
    p = np.asarray(prior, dtype=np.longdouble)
    p = p / p.sum()
    M = mechanism.weights.astype(np.longdouble) / 2**53
    rest = np.arange(len(p)) != p.argmax()
    star = M[p.argmax()]
    difference = p[rest] @ (M[rest] - star) / star
    divergences = (M[rest] * np.log(M[rest] / star)).sum(axis=1)
    return float(p[rest] @ divergences - (star * ((1 + difference) * np.log1p(difference))).sum())


@pytest.mark.parametrize("rare", [1e-2, 1e-6, 1e-10, 1e-15])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0])
def test_against_the_definition(rare, alpha):
    prior = np.array([rare / 2, 1 - rare, rare / 2])
    for mechanism in (
        pramble.randomized_response(3, alpha),
        pramble.design(prior, alpha).mechanism,
    ):
        expected = by_definition(prior, mechanism)
        assert pramble.mutual_information(prior, mechanism) == pytest.approx(expected, rel=1e-9)


def test_both_formulas_meet_at_one_half():
    mechanism = pramble.keep_probabilities([0.5, 0.4, 0.3, 0.2])
    below = pramble.mutual_information([0.5 - 1e-12, 0.3, 0.1, 0.1 + 1e-12], mechanism)
    above = pramble.mutual_information([0.5 + 1e-12, 0.3, 0.1, 0.1 - 1e-12], mechanism)
    assert below == pytest.approx(above, rel=1e-9)

"""Families are nested, and what two releases tell together."""

import numpy as np
import pytest

import pramble

PRIOR = [0.4, 0.3, 0.15, 0.1, 0.05]


def test_families_are_nested_and_below_the_ceiling():
    for alpha in (0.5, 1.0, 2.0):
        response = pramble.mutual_information(PRIOR, pramble.randomized_response(5, alpha))
        uniform = pramble.design(PRIOR, alpha).value
        general = pramble.design(PRIOR, alpha, family="general").value
        assert response <= uniform * (1 + 1e-9) <= general * (1 + 1e-6)
        assert general <= min(pramble.information_bound(alpha), pramble.entropy(PRIOR))


def test_two_releases_told_apart_lie_on_the_chord_and_added_up_below_it():
    near = pramble.randomized_response(5, 4.0).matrix
    other, t = np.roll(near, 1, axis=1), 0.3
    information = [
        pramble.mutual_information(PRIOR, pramble.Mechanism.from_matrix(one, outputs=one.shape[1]))
        for one in (near, other, np.hstack([t * near, (1 - t) * other]), t * near + (1 - t) * other)
    ]
    chord = t * information[0] + (1 - t) * information[1]
    assert information[2] == pytest.approx(chord, rel=1e-12)
    assert information[3] < chord

"""Pricing where prices are negative: φ falls beyond its peak, so a paid item may still stay out."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.certificate import certify
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design
from pramble.solvers.general.generation import price
from pramble.solvers.general.sets import Gain


@given(
    masses=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8),
    alpha=st.sampled_from([0.05, 0.1, 0.5, 2.0]),
    data=st.data(),
)
def test_the_best_set_is_found_whatever_the_signs(masses, alpha, data):
    p = np.array(masses) / sum(masses)
    gain = Gain(alpha)
    share = st.floats(-2.0, 2.0)
    shares = np.array(data.draw(st.lists(share, min_size=len(p), max_size=len(p))))
    w = shares * gain(np.array(0.4)) * p
    sets = np.array(list(product((False, True), repeat=len(p))))
    truth = (gain(sets @ p) - sets @ w).max()
    found = price(p, w, gain, slack=0.0, budget=SearchBudget(1e-9))
    scale = gain.slope + np.abs(w).sum()
    assert truth <= found.bound <= truth + 1e-12 * scale
    assert abs(found.value - truth) <= 1e-13 * scale


def test_no_split_beats_the_proven_bound_at_small_alpha():
    prior = np.array([0.1139, 0.1823, 0.0995, 0.0277, 0.4788, 0.0978])
    found = design(prior, 0.1, family="general")
    two = randomized_response(2, 0.1).matrix
    for side in product((0, 1), repeat=5):
        split = Mechanism.from_matrix(two[[0, *side]], outputs=2, alpha=0.1)
        assert certify(split).satisfies(0.1)
        assert mutual_information(prior, split) <= found.bound

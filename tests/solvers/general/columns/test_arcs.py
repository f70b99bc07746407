"""Arcs as a closed form: names for their outputs."""

import numpy as np

from pramble.solvers.general.arcs import labelled_slots


def test_heavy_categories_are_named_by_a_slot_of_their_own_arc():
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(50))
    positions = rng.integers(0, 50, 50)
    slots = labelled_slots(prior, positions, 12)
    assert sorted(slots) == list(range(50))
    slot = np.argsort(slots)
    own = (positions - slot) % 50 < 12
    assert prior[own].sum() > 0.8

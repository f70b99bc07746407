"""Categories that are released as themselves least often of all are told."""

import numpy as np

import pramble
from pramble.solvers.problem import flipped_categories
from pramble.solvers.result import most_information


def test_they_are_found_in_every_kind_of_matrix():
    prior = [0.854, 0.096, 0.031, 0.01, 0.009]
    d = pramble.design(prior, 1.0, categories=list("abcde"))
    M = d.mechanism.matrix
    expected = [x for x in range(5) if M[x, x] < min(np.delete(M[x], x))]
    assert flipped_categories(d.mechanism).tolist() == expected == [1, 2, 3, 4]
    general = pramble.Mechanism.from_matrix(M, categories=list("abcde"))
    assert flipped_categories(general).tolist() == expected
    (note,) = (note for note in d.notes if "as themselves" in note)
    assert note.startswith("'b', 'c', 'd', 'e' of the 5 categories are released as themselves less")
    kept = pramble.design(prior, 1.0, keep_at_least=0.3)
    assert not any("as themselves" in note for note in kept.notes)
    assert not len(flipped_categories(pramble.randomized_response(4, 0.1)))


def test_no_matrix_of_two_categories_carries_more_than_randomised_response():
    rng = np.random.default_rng(1)
    for alpha in (0.14, 1.0, 3.0):
        p = rng.dirichlet([1, 1])
        most = most_information(p, alpha)
        d = pramble.design(p, alpha, family="general", outputs="free")
        assert d.value <= most * (1 + 1e-9)
        assert d.share >= 1 - 1e-6
        for _ in range(50):
            M = rng.dirichlet(np.ones(4), size=2)
            if np.abs(np.log(M[0] / M[1])).max() <= alpha:
                m = pramble.Mechanism.from_matrix(M)
                assert pramble.mutual_information(p, m) <= most


def test_a_share_is_of_what_can_be_reached():
    """The bound of a search over all matrices, not the universal one that none of them attains."""
    d = pramble.design([0.854, 0.096, 0.031, 0.01, 0.009], 1.0, family="general")
    assert d.share > 0.999
    assert 0 < d.share_of_entropy < 0.2
    few = pramble.design([0.5, 0.3, 0.2], 1.0, keep_at_least=0.5)
    assert few.share <= 1

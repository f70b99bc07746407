"""Tables and information at once: the floor holds, and the curve is convex."""

import itertools

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidInput

RNG = np.random.default_rng(21)
SHARES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_values_along_floors_are_monotone_and_below_their_chords(alpha):
    sizes = {"a": 2, "b": 3, "c": 3}
    prior = RNG.dirichlet(np.full(18, 2.0)).reshape(2, 3, 3)
    best = pramble.design_record(sizes, alpha, prior=prior, objective="information")
    found = [
        pramble.design_record(sizes, alpha, prior=prior, information_at_least=share, time_limit=20)
        for share in SHARES
    ]
    for share, d in zip(SHARES, found, strict=True):
        assert d.certificate.satisfies(alpha)
        assert d.information >= share * best.value * (1 - 1e-6)
        by_hand = sum(
            float(branch.share)
            * max(
                pramble.mutual_information(margin(prior, sizes, block), mechanism)
                for block, mechanism in branch.blocks.items()
            )
            for branch in d.plan.branches
        )
        assert d.information == pytest.approx(by_hand)
    values = [d.value for d in found]
    assert all(one <= two * (1 + 1e-6) for one, two in itertools.pairwise(values))
    x, y = np.array(SHARES), np.array(values)
    for i in range(len(x)):
        for k in range(i + 2, len(x)):
            for j in range(i + 1, k):
                t = (x[j] - x[i]) / (x[k] - x[i])
                assert y[j] <= ((1 - t) * y[i] + t * y[k]) * (1 + 1e-4)


def margin(prior, sizes, block):
    others = tuple(i for i, name in enumerate(sizes) if name not in block)
    return prior.sum(axis=others).ravel()


def test_many_columns_have_a_floor_too():
    sizes = {f"c{i}": 3 for i in range(7)}
    best = pramble.design_record(sizes, 2.0, objective="information")
    d = pramble.design_record(sizes, 2.0, information_at_least=0.9, time_limit=5)
    free = pramble.design_record(sizes, 2.0, time_limit=5)
    assert d.information >= 0.9 * best.value * (1 - 1e-3)
    assert d.value >= free.value * 0.97
    assert np.isfinite(d.value)


def test_floors_that_cannot_be_meant():
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        pramble.design_record({"a": 2, "b": 2}, 1.0, information_at_least=1.2)
    with pytest.raises(InvalidInput, match="objective"):
        pramble.design_record(
            {"a": 2, "b": 2}, 1.0, objective="information", information_at_least=0.5
        )

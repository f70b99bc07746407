"""Arcs: refused fields, the private low weight, and agreement with the stored matrix."""

import numpy as np
import pytest

import pramble
from pramble.engine.alias import Width
from pramble.engine.arcs import ArcsSampler
from pramble.mechanisms.arcs import Arcs, least_low
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.exponential import ratio_within
from pramble.mechanisms.general import General
from pramble.mechanisms.labels import as_labels
from pramble.solvers.general.arcs import best_arcs, labelled_slots


def arcs(positions, width, *, alpha=1.0, slots=None):
    outputs = len(positions)
    slots = np.arange(outputs) if slots is None else slots
    labels = as_labels(outputs)
    return Arcs(labels, labels, np.array(positions), slots, width, least_low(outputs, width, alpha))


@pytest.mark.parametrize("alpha", [1e-6, 0.5, 3.0, 20.0])
@pytest.mark.parametrize(("outputs", "width"), [(2, 1), (7, 3), (1000, 418)])
def test_the_low_weight_is_the_least_that_is_private(outputs, width, alpha):
    low = least_low(outputs, width, alpha)

    def private(candidate):
        top = -((candidate * (outputs - width) - TOTAL) // width)
        return ratio_within(top, candidate, alpha)

    assert private(low)
    assert low == 1 or not private(low - 1)


def test_measures_agree_with_the_stored_matrix_when_rows_are_distinct():
    m = arcs([3, 0, 4, 1, 2], 2, slots=np.array([2, 0, 1, 4, 3]))
    stored = General(m.labels, m.output_labels, m.weights)
    prior = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    assert pramble.estimation_variance(prior, m) == pytest.approx(
        pramble.estimation_variance(prior, stored)
    )
    assert pramble.mutual_information(prior, m) == pytest.approx(
        pramble.mutual_information(prior, stored)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": [0, 1, 9]}, "positions in 0..2"),
        ({"slots": [0, 0, 1]}, "permutation"),
        ({"width": 3}, "1 to 2 slots"),
        ({"low": 0}, "low weight"),
    ],
)
def test_what_is_no_arcs_is_refused(change, message):
    fields = {"positions": [0, 1, 2], "slots": [0, 1, 2], "width": 1, "low": 5, **change}
    with pytest.raises(pramble.InvalidMechanism, match=message):
        Arcs(as_labels(3), as_labels(3), **fields)


@pytest.mark.parametrize("raised", [0, 1])
def test_the_sampler_draws_every_output_as_often_as_its_weight(raised):
    width = Width(word=4, extra=3)
    total, outputs, arc = 1 << 7, 5, 2
    low = 20 - raised if raised else 20
    inside = total - (outputs - arc) * low
    high, extra = divmod(inside, arc)
    sampler = ArcsSampler(
        np.array([3, 0, 1]), np.array([4, 2, 0, 1, 3]), arc, low, high, extra, width
    )
    words = np.repeat(np.arange(16, dtype=np.uint32), 8)
    extras = np.tile(np.arange(8), 16)
    pattern = np.array([high + (d < extra) if d < arc else low for d in range(outputs)])
    for code, position in enumerate([3, 0, 1]):
        codes = np.full(total, code)
        drawn = np.bincount(sampler.exact(codes, words, extras), minlength=outputs)
        expected = np.empty(outputs, dtype=int)
        expected[[4, 2, 0, 1, 3]] = pattern[(position - np.arange(outputs)) % outputs]
        assert drawn.tolist() == expected.tolist()
        out, ties = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
        tied = ties[: sampler.fast(codes, words, out=out, ties=ties)]
        decided = np.setdiff1d(np.arange(total), tied)
        assert (out[decided] == sampler.exact(codes, words, extras)[decided]).all()
        assert len(decided) > 0


def test_large_arcs_can_be_perturbed():
    prior = np.arange(1, 401) ** -0.5
    m = best_arcs(prior / prior.sum(), 1.0, as_labels(400))
    data = np.random.default_rng(0).integers(0, 400, 2000)
    out = pramble.perturb(data, m, key=bytes(32))
    inside = m.weights[data, out] > m.low
    assert inside.mean() == pytest.approx(m.width * m.high / TOTAL, abs=0.06)


def test_heavy_categories_are_named_by_a_slot_of_their_own_arc():
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(50))
    positions = rng.integers(0, 50, 50)
    slots = labelled_slots(prior, positions, 12)
    assert sorted(slots) == list(range(50))
    slot = np.argsort(slots)
    own = (positions - slot) % 50 < 12
    assert prior[own].sum() > 0.8

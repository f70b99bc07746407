"""Arcs: refused fields, the private low weight, and agreement with the stored matrix."""

import numpy as np
import pytest

import pramble
from pramble.data.labels import as_labels
from pramble.mechanisms.arcs import Arcs, least_low
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.general import General
from pramble.mechanisms.ratios import ratio_within
from pramble.solvers.general.arcs import best_arcs


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


def test_large_arcs_can_be_perturbed():
    prior = np.arange(1, 401) ** -0.5
    m = best_arcs(prior / prior.sum(), 1.0, as_labels(400))
    data = np.random.default_rng(0).integers(0, 400, 2000)
    out = pramble.perturb(data, m, key=bytes(32), column="x")
    inside = m.weights[data, out] > m.low
    assert inside.mean() == pytest.approx(m.width * m.high / TOTAL, abs=0.06)

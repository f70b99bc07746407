"""A random effect of cells, and the intervals of τ1 and τ2: against sums and simulations."""

import numpy as np
import pytest

import pramble

SHAPE = (7, 6, 5, 6)
KEYS = list("abcd")


def population(rng, *, shape_of_cells, size=40_000):
    """Counts of people: two-way interactions, and gamma variables around them."""
    logs = np.zeros(SHAPE)
    for i in range(4):
        logs += np.moveaxis(rng.normal(0, 1, SHAPE[i])[:, None, None, None], 0, i)
        for j in range(i):
            pair = rng.normal(0, 0.5, (SHAPE[j], SHAPE[i]))
            logs += np.moveaxis(pair[:, :, None, None], (0, 1), (j, i))
    means = np.exp(logs) / np.exp(logs).sum()
    if shape_of_cells is not None:
        means = means * rng.gamma(shape_of_cells, 1 / shape_of_cells, SHAPE)
    return rng.poisson(size * means / means.sum())


def assessed(rng, F, *, fraction):
    """The default assessment of a sample, and the sample's own τ1 and τ2."""
    f = rng.binomial(F, fraction)
    codes = np.repeat(np.argwhere(f >= 0), f.ravel(), axis=0)
    a = pramble.assess(dict(zip(KEYS, codes.T, strict=True)), KEYS, population_size=float(F.sum()))
    return a, (F[f == 1] == 1).sum(), (1 / F[f == 1]).sum()


@pytest.mark.parametrize("shape_of_cells", [None, 2.0])
def test_intervals_hold_what_they_estimate(shape_of_cells):
    rng = np.random.default_rng(5)
    held, estimated, truth = 0, 0.0, 0.0
    for _ in range(15):
        a, tau1, tau2 = assessed(rng, population(rng, shape_of_cells=shape_of_cells), fraction=0.08)
        held += a.intervals.tau1[0] <= tau1 <= a.intervals.tau1[1]
        held += a.intervals.tau2[0] <= tau2 <= a.intervals.tau2[1]
        assert a.intervals.tau1[0] <= a.tau1 <= a.intervals.tau1[1]
        assert a.intervals.tau2[1] < 3 * a.tau2
        estimated, truth = estimated + a.tau1, truth + tau1
    assert held >= 28
    assert estimated == pytest.approx(truth, rel=0.2)


def test_what_the_default_assessment_says_of_it():
    rng = np.random.default_rng(7)
    a, _, _ = assessed(rng, population(rng, shape_of_cells=1.0), fraction=0.1)
    assert a.model == "two-way"
    assert a.fit.spread.needed
    assert "random effect" in a.reason
    assert a.summary()["tau1_interval"] == list(a.intervals.tau1)
    unchanged = a.after({})
    assert (unchanged.tau1, unchanged.tau2) == pytest.approx((a.tau1, a.tau2))
    alone = a.records["class_size"] == 1
    np.testing.assert_allclose(unchanged.records["r2"][alone], a.records["r2"][alone])


def test_no_interval_where_margins_have_too_many_cells(monkeypatch):
    monkeypatch.setattr("pramble.risk.loglinear.MOST_PARAMETERS", 10)
    rng = np.random.default_rng(8)
    a, _, _ = assessed(rng, population(rng, shape_of_cells=None), fraction=0.05)
    assert a.intervals is None
    assert "tau1_interval" not in a.summary()

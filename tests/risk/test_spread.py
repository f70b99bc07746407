"""A random effect of cells, and the intervals of τ1 and τ2: against sums and simulations."""

import numpy as np
import pytest
from scipy import stats

import pramble
from pramble.risk.models import match_risk, mixed_risks, uniqueness_risk
from pramble.risk.spread import fit_spread


@pytest.mark.parametrize("size", [1, 2, 7, 300])
@pytest.mark.parametrize("rest", [1e-6, 0.3, 4.0, 900.0])
@pytest.mark.parametrize("shape", [0.4, 3.0, 200.0])
def test_mixed_risks_are_negative_binomial_expectations(size, rest, shape):
    sampled = 0.8 * size
    r1, r2 = mixed_risks(
        np.array([rest]), np.array([size]), sampled=np.array([sampled]), shapes=np.array([shape])
    )
    stays = 1 / (1 + rest / (shape + sampled))
    others = np.arange(int(stats.nbinom.ppf(1 - 1e-12, shape + size, stays)) + 2)
    law = stats.nbinom.pmf(others, shape + size, stays)
    assert r1[0] == pytest.approx(law[0] if size == 1 else 0.0, rel=1e-9)
    assert r2[0] == pytest.approx((law / (size + others)).sum(), rel=1e-6)


def test_mixed_risks_have_the_poisson_model_as_their_limit():
    rest, sizes = np.array([0.0, 0.2, 3.0, 50.0] * 2), np.repeat([1, 4], 4)
    found = mixed_risks(rest, sizes, sampled=rest / 9, shapes=np.full(8, 1e9))
    np.testing.assert_allclose(found[0], uniqueness_risk(rest, sizes), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found[1], match_risk(rest, sizes), rtol=1e-6)


def test_the_random_effect_is_found_where_there_is_one_and_only_there():
    rng = np.random.default_rng(1)
    means = np.exp(rng.normal(-2, 2, 30_000))
    shapes = 4 * means**0.5
    mixed = rng.poisson(means * rng.gamma(shapes) / shapes).astype(float)
    found = fit_spread(mixed, means)
    assert found.needed
    error = np.sqrt(np.diag(found.covariance))
    assert abs(found.level - np.log(4)) < 4 * error[0] < 0.5
    assert abs(found.power - 0.5) < 4 * error[1] < 0.3
    plain = [fit_spread(rng.poisson(means).astype(float), means).needed for _ in range(10)]
    assert sum(plain) <= 1


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
    held, told, truth = 0, 0.0, 0.0
    for _ in range(15):
        a, tau1, tau2 = assessed(rng, population(rng, shape_of_cells=shape_of_cells), fraction=0.08)
        held += a.intervals.tau1[0] <= tau1 <= a.intervals.tau1[1]
        held += a.intervals.tau2[0] <= tau2 <= a.intervals.tau2[1]
        assert a.intervals.tau1[0] <= a.tau1 <= a.intervals.tau1[1]
        assert a.intervals.tau2[1] < 3 * a.tau2
        told, truth = told + a.tau1, truth + tau1
    assert held >= 28
    assert told == pytest.approx(truth, rel=0.2)


def test_what_the_default_assessment_tells_of_it():
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
    spelled = pramble.assess(
        {key: [a.table.levels[i][c] for c in a.table.cells[a.table.cell_of, i]]
         for i, key in enumerate(KEYS)},
        KEYS, population_size=a.population_size,
        model=[(one, two) for one in KEYS for two in KEYS if one < two],
    )  # fmt: skip
    assert spelled.intervals is None
    assert spelled.tau1 != pytest.approx(a.tau1, rel=0.01)


def test_no_interval_where_margins_have_too_many_cells(monkeypatch):
    monkeypatch.setattr("pramble.risk.loglinear.MOST_PARAMETERS", 10)
    rng = np.random.default_rng(8)
    a, _, _ = assessed(rng, population(rng, shape_of_cells=None), fraction=0.05)
    assert a.intervals is None
    assert "tau1_interval" not in a.summary()

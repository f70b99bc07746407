"""Census files as populations: estimated against true risk."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import pramble

TEN = [
    "OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
    "VETSTAT",
]  # fmt: skip


def ratios(population, keys, *, model, seeds, fraction=0.05):
    """Estimated over true τ1 and τ2, for samples of a population."""
    whole = pramble.assess(population, keys, model="none").table
    rows = []
    for seed in seeds:
        chosen = np.flatnonzero(np.random.default_rng(seed).random(whole.n) < fraction)
        a = pramble.assess(population.take(chosen), keys, population_size=whole.n, model=model)
        F = whole.counts[whole.cell_of[chosen]][a.records["class_size"] == 1]
        rows.append((a.tau1 / (F == 1).sum(), a.tau2 / (1 / F).sum()))
    return np.mean(rows, axis=0)


@pytest.fixture
def new_york(shared_data):
    return pq.read_table(shared_data("acs2024_ten_ny.parquet"), columns=TEN)


def test_two_way_is_near_the_truth_where_independence_is_far(new_york):
    two_way = ratios(new_york, TEN[2:], model="two-way", seeds=range(4))
    assert (np.abs(two_way - 1) < 0.15).all()
    independence = ratios(new_york, TEN[2:], model="independence", seeds=range(1))
    assert (independence > 1.3).all()


def test_ten_keys_over_one_and_a_half_million_cells(new_york):
    chosen = np.flatnonzero(np.random.default_rng(1).random(len(new_york)) < 0.05)
    a = pramble.assess(new_york.take(chosen), TEN, population_size=len(new_york))
    assert a.cells == 1_603_800
    assert len(a.fit.cells) < 200_000
    assert (a.tau1, a.tau2) == pytest.approx((285.97, 624.66), rel=1e-3)


@pytest.mark.parametrize(
    "keys", [TEN[2:8], TEN[2:], pytest.param(TEN, marks=pytest.mark.slow)], ids=len
)
@pytest.mark.parametrize("fraction", [0.01, 0.05])
def test_intervals_hold_the_true_risk_of_census_samples(new_york, keys, fraction):
    whole = pramble.assess(new_york, keys, model="none").table
    held, estimated, true = 0, 0.0, 0.0
    for seed in range(5):
        chosen = np.flatnonzero(np.random.default_rng(seed).random(whole.n) < fraction)
        a = pramble.assess(new_york.take(chosen), keys, population_size=whole.n)
        F = whole.counts[whole.cell_of[chosen]][a.records["class_size"] == 1]
        held += a.intervals.tau1[0] <= (F == 1).sum() <= a.intervals.tau1[1]
        held += a.intervals.tau2[0] <= (1 / F).sum() <= a.intervals.tau2[1]
        estimated, true = estimated + a.tau1, true + (F == 1).sum()
    assert held >= 9
    if fraction == 0.05:
        assert estimated == pytest.approx(true, rel=0.15)

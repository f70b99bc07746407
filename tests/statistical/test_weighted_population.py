"""Releases of a survey whose weights go with the outcome: intervals for the population hold it.

A file as those of health examination surveys: the old, minorities and the ill are oversampled, so
that a tenth of the records and a fortieth of the people have diabetes. Fresh samples are drawn from
one population, measured with a fresh key at ε = 1, and the true shares of the population are looked
for in the 95 % intervals of all cells of single columns and pairs.
"""

from itertools import combinations

import numpy as np
import pytest

import pramble

SIZES = {"sex": 2, "age": 6, "race": 4, "educ": 5, "diabetes": 2, "smoker": 3}
PEOPLE, RECORDS, LARGEST = 400_000, 8_000, 300.0


@pytest.fixture(scope="module")
def population():
    """Everybody, and the chance of each to be in the sample."""
    rng = np.random.default_rng(1)
    people = {
        "sex": rng.integers(0, 2, PEOPLE),
        "age": rng.choice(6, PEOPLE, p=[0.18, 0.18, 0.18, 0.17, 0.16, 0.13]),
        "race": rng.choice(4, PEOPLE, p=[0.65, 0.12, 0.15, 0.08]),
    }
    educ = rng.binomial(4, 0.5, PEOPLE) + (people["race"] == 0) - (people["age"] > 4)
    people["educ"] = np.clip(educ, 0, 4)
    risk = 0.55 * people["age"] + 0.4 * (people["race"] > 0) - 0.2 * people["educ"] - 5
    people["diabetes"] = (rng.random(PEOPLE) < 1 / (1 + np.exp(-risk))).astype(int)
    people["smoker"] = np.clip(rng.binomial(2, 0.35, PEOPLE) - (people["educ"] > 3), 0, 2)
    relative = np.exp(
        0.35 * people["age"]
        + 1.0 * (people["race"] > 0)
        + 0.8 * people["diabetes"]
        + 0.25 * rng.standard_normal(PEOPLE)
    )
    relative = np.clip(relative, np.quantile(relative, 0.02), np.quantile(relative, 0.98))
    return people, relative / relative.sum() * RECORDS


def table_in(frame, columns, weights=None):
    """Shares of all cells of a table."""
    place = np.ravel_multi_index([frame[name] for name in columns], [SIZES[n] for n in columns])
    size = int(np.prod([SIZES[name] for name in columns]))
    found = np.bincount(place, weights, size)
    return found / found.sum()


def sampled(population, rng):
    people, chances = population
    taken = rng.random(PEOPLE) < chances
    return {name: own[taken] for name, own in people.items()} | {"finalwgt": 1 / chances[taken]}


TABLES = [(name,) for name in SIZES] + list(combinations(SIZES, 2))


def covered(population, runs, *, weights, seed):
    """For each run the share of cells whose interval holds the population's share."""
    rng = np.random.default_rng(seed)
    d = pramble.design_tables(SIZES, 1.0, 1e-6, largest_weight=LARGEST)
    found = np.empty((runs, len(TABLES)))
    for own in found:
        m = pramble.measure(sampled(population, rng), d, key=rng.bytes(32), weights="finalwgt")
        for place, table in enumerate(TABLES):
            e = pramble.estimate(m, by=list(table), weights=weights)
            true = table_in(population[0], table)
            own[place] = ((e.lower <= true) & (true <= e.upper)).mean()
    cells = np.array([np.prod([SIZES[name] for name in table]) for table in TABLES])
    return found @ cells / cells.sum()


def test_weighted_intervals_hold_the_population(population):
    held = covered(population, 10, weights="finalwgt", seed=5)
    # cells of one release go together: runs are what varies
    assert held.mean() + 3 * held.std(ddof=1) / np.sqrt(len(held)) > 0.95
    assert held.mean() > 0.93
    # intervals that held everything would say nothing
    assert held.mean() < 0.995


def test_intervals_without_weights_do_not(population):
    assert covered(population, 2, weights=None, seed=5).max() < 0.7


@pytest.mark.slow
def test_weighted_intervals_hold_the_population_in_many_releases(population):
    held = covered(population, 100, weights="finalwgt", seed=6)
    assert 0.93 <= held.mean() <= 0.985


@pytest.mark.slow
def test_weighted_records_count_as_the_population(population):
    """Weighted counts of synthetic records are as near to it as the estimates are."""
    rng = np.random.default_rng(7)
    d = pramble.design_tables(SIZES, 1.0, 1e-6, largest_weight=LARGEST)
    near, far, unweighted = [], [], []
    for seed in range(5):
        m = pramble.measure(sampled(population, rng), d, key=rng.bytes(32), weights="finalwgt")
        records = pramble.synthesize(m, seed=seed)
        frame = {name: records[name].to_numpy() for name in records.column_names}
        for table in TABLES:
            true = table_in(population[0], table)
            e = pramble.estimate(m, by=list(table), weights="finalwgt")
            near.append(((table_in(frame, table, frame["finalwgt"]) - true) ** 2).mean())
            far.append(((e.probabilities - true) ** 2).mean())
            unweighted.append(((table_in(frame, table) - true) ** 2).mean())
    assert np.mean(near) < 1.2 * np.mean(far)
    assert np.mean(near) < 0.25 * np.mean(unweighted)

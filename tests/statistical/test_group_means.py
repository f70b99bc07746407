"""Standard errors of means, totals and weighted shares against what repeated releases do."""

import numpy as np
import pytest

import pramble

SEX = pramble.randomized_response(["f", "m"], 1.5)
AGE = pramble.keep_probabilities([0.7, 0.6, 0.8])
PLAN = {"sex": SEX, "age": AGE}
BY = ["sex", "age"]
N = 3000


def randomise(codes, m, rng):
    return (rng.random(len(codes))[:, None] > m.matrix.cumsum(axis=1)[codes]).sum(axis=1)


def people(rng):
    sex = rng.choice(2, N, p=[0.6, 0.4])
    age = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    return sex, age, rng.normal(10 + 2 * sex - age, 2.0), rng.choice([1.0, 3.0], N)


def release(sex, age, income, weights, rng):
    return {
        "sex": np.array(["f", "m"])[randomise(sex, SEX, rng)],
        "age": randomise(age, AGE, rng),
        "income": income,
        "w": weights,
    }


QUANTITIES = {
    "share": {"method": "inverse"},
    "weighted share": {"method": "inverse", "weights": "w"},
    "mean": {"mean": "income"},
    "weighted mean": {"mean": "income", "weights": "w"},
    "total": {"total": "income"},
    "query": {"query": "sex=f,age=0|1", "method": "inverse"},
    "weighted query": {"query": "sex=f,age=0|1", "method": "inverse", "weights": "w"},
}


@pytest.mark.parametrize("covers", ["both", "randomisation"])
def test_standard_errors_are_the_deviations_over_repeated_releases(covers):
    """A fixed file for randomisation alone, a fresh sample of people for both."""
    rng = np.random.default_rng(21)
    fixed = people(rng)
    values = {name: [] for name in QUANTITIES}
    errors = {name: [] for name in QUANTITIES}
    for _ in range(250):
        sample = fixed if covers == "randomisation" else people(rng)
        frame = release(*sample, rng)
        for name, keywords in QUANTITIES.items():
            e = pramble.estimate(frame, PLAN, by=BY, covers=covers, **keywords)
            values[name].append(e.values)
            errors[name].append(e.standard_errors)
    for name in QUANTITIES:
        seen = np.std(values[name], axis=0, ddof=1)
        said = np.sqrt(np.mean(np.square(errors[name]), axis=0))
        assert np.allclose(seen / said, 1, atol=0.2), name
        assert np.mean(seen / said) == pytest.approx(1, abs=0.12), name


def test_estimates_are_centred_on_the_file():
    rng = np.random.default_rng(22)
    sex, age, income, weights = people(rng)
    cell = 3 * sex + age
    truth = {
        "mean": np.bincount(cell, income) / np.bincount(cell),
        "weighted share": np.bincount(cell, weights) / weights.sum(),
        "total": np.bincount(cell, income),
    }
    found = {name: [] for name in truth}
    for _ in range(200):
        frame = release(sex, age, income, weights, rng)
        for name, values in found.items():
            values.append(pramble.estimate(frame, PLAN, by=BY, **QUANTITIES[name]).values)
    for name, values in found.items():
        error = np.std(values, axis=0, ddof=1) / np.sqrt(200)
        assert (np.abs(np.mean(values, axis=0) - truth[name]) < 4.5 * error).all(), name


@pytest.mark.parametrize(("alpha", "n"), [(1.0, 1000), (2.0, 300), (3.0, 300), (6.0, 300)])
def test_means_of_small_groups_are_covered_or_said_to_be_unknown(alpha, n):
    """Groups of 3 and 7 %; estimate plus or minus two errors covers the smaller at 70 to 90 %."""
    rng = np.random.default_rng(23)
    m, mean, runs = pramble.randomized_response(4, alpha), 10 + 2 * np.arange(4), 250
    covered, wald = np.zeros(4), np.zeros(4)
    for _ in range(runs):
        x = rng.choice(4, n, p=[0.6, 0.3, 0.07, 0.03])
        frame = {"x": randomise(x, m, rng), "y": mean[x] + rng.exponential(3, n) - 3}
        e = pramble.estimate(frame, {"x": m}, by="x", mean="y")
        covered += (e.lower <= mean) & (mean <= e.upper)
        wald += np.abs(e.values - mean) <= 1.96 * e.standard_errors
        assert np.isnan(e.values).any() == any("NaN" in note for note in e.notes)
        assert np.isinf(e.upper).any() == any("without end" in note for note in e.notes)
        assert ((e.lower <= e.values) & (e.values <= e.upper) | np.isnan(e.values)).all()
    assert (covered / runs > 0.905).all()
    assert (covered[:2] / runs < 0.99).all()
    assert wald[3] / runs < 0.93


def test_means_of_untouched_groups_and_large_ones_are_as_before():
    rng = np.random.default_rng(24)
    x = rng.choice(2, 50_000)
    frame = {"x": x, "y": rng.normal(x, 1.0)}
    plain = pramble.estimate(frame, {}, by="x", mean="y")
    np.testing.assert_allclose(plain.upper - plain.values, 1.959964 * plain.standard_errors)
    frame["x"] = randomise(x, SEX, rng)
    m = pramble.randomized_response(2, 1.5)
    e = pramble.estimate(frame, {"x": m}, by="x", mean="y")
    np.testing.assert_allclose(e.upper - e.lower, 2 * 1.96 * e.standard_errors, rtol=0.01)
    assert not e.notes

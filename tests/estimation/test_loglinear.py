"""Log-linear models: statsmodels on counts as they are, and the level of the test on releases."""

import itertools

import formulaic
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import pramble
from pramble.errors import InvalidInput

LABELS = {"a": ["x", "y"], "b": ["u", "v", "w"], "c": ["k", "l"]}


def people(n, seed, *, dependent=False):
    """A and c independent given b, unless asked otherwise."""
    rng = np.random.default_rng(seed)
    b = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    a = (rng.random(n) < np.array([0.3, 0.5, 0.7])[b]).astype(int)
    c = (rng.random(n) < np.array([0.6, 0.4, 0.5])[b] + 0.2 * a * dependent).astype(int)
    codes = {"a": a, "b": b, "c": c}
    return {name: [LABELS[name][i] for i in own] for name, own in codes.items()}


MODEL = [("a", "b"), ("b", "c")]


def test_counts_as_they_are_give_poissons_regression():
    data = people(2000, 0)
    e = pramble.estimate(data, {}, by=["a", "b", "c"])
    found = e.loglinear(MODEL)
    columns = formulaic.model_matrix("a * b + b * c", pd.DataFrame(dict(e.cells)))
    oracle = sm.GLM(2000 * e.values, np.asarray(columns), family=sm.families.Poisson()).fit()
    assert found.fitted.values == pytest.approx(oracle.mu / 2000, rel=1e-6)
    assert found.degrees_of_freedom == 3
    counts = 2000 * e.values
    pearson = ((counts - oracle.mu) ** 2 / oracle.mu).sum()
    assert found.statistic == pytest.approx(pearson, rel=0.15)
    margins = found.fitted.values.reshape(2, 3, 2).sum(axis=2)
    assert margins == pytest.approx(e.values.reshape(2, 3, 2).sum(axis=2))


def split(alpha):
    return {name: pramble.randomized_response(own, alpha) for name, own in LABELS.items()}


def joint(alpha):
    pairs = list(itertools.product(LABELS["a"], LABELS["b"]))
    both = pramble.randomized_response(pairs, alpha)
    return {("a", "b"): both, "c": pramble.randomized_response(LABELS["c"], alpha)}


@pytest.mark.parametrize("plan", [split(3.0), joint(3.0)])
def test_the_test_holds_its_level_on_releases_and_has_power(plan):
    p_values, powers = [], []
    for run in range(150):
        key = run.to_bytes(32, "big")
        for dependent, into in ((False, p_values), (True, powers)):
            data = people(3000, 100 + run, dependent=dependent)
            out = pramble.perturb(data, plan, key=key)
            e = pramble.estimate(out, plan, by=["a", "b", "c"], method="inverse")
            into.append(e.loglinear(MODEL).p_value)
    assert 0.02 < np.mean(np.array(p_values) < 0.1) < 0.19
    assert np.mean(np.array(powers) < 0.1) > 0.8


def test_a_model_has_smaller_errors_than_the_table():
    plan = split(3.0)
    out = pramble.perturb(people(3000, 1), plan, key=b"k" * 32)
    e = pramble.estimate(out, plan, by=["a", "b", "c"])
    found = e.loglinear(MODEL).fitted
    assert found.standard_errors.mean() < 0.9 * e.standard_errors.mean()
    assert ((found.lower < found.values) & (found.values < found.upper)).all()


@pytest.mark.parametrize("tables", [[("a", "b")], [("a", "b"), ("b", "d")], []])
def test_a_model_names_all_columns_and_no_others(tables):
    e = pramble.estimate(people(200, 2), {}, by=["a", "b", "c"])
    with pytest.raises(InvalidInput, match="name all its columns"):
        e.loglinear(tables)

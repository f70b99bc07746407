"""Intervals of regressions cover what they promise, under every kind of plan."""

import numpy as np
import pytest
from tests.estimation.regression.people import PLANS, TRUTH, people

import pramble

FORMULA = "y ~ x + sex + age"


def runs_of(plan, n, runs, *, blind=False):
    """Whether each interval covers the truth, and errors in units of the spread of estimates."""
    rng = np.random.default_rng(n)
    inside, values, errors = [], [], []
    for run in range(runs):
        frame = people(rng, n).round({"age": 2})
        released = pramble.perturb(frame, plan, key=run.to_bytes(32, "big"))
        found = pramble.estimate_regression(released, {} if blind else plan, FORMULA)
        assert np.isfinite(found.standard_errors).all()
        inside.append((found.lower <= TRUTH) & (found.upper >= TRUTH))
        values.append(found.coefficients)
        errors.append(found.standard_errors)
    off = (np.mean(values, axis=0) - TRUTH) / np.std(values, axis=0, ddof=1)
    ratio = np.median(errors, axis=0) / np.std(values, axis=0, ddof=1)
    return np.mean(inside, axis=0), off, ratio


@pytest.mark.parametrize("plan", PLANS)
def test_truth_is_covered(plan):
    """25 runs of 2,000 records: 0.95 of 125 intervals, which are dependent within a run."""
    inside, off, ratio = runs_of(PLANS[plan], 2000, 25)
    assert inside.mean() > 0.88
    assert np.abs(off).max() < 4 / np.sqrt(25)
    assert ratio.min() > 0.6
    assert ratio.max() < 1.7


def test_the_check_would_notice_a_fit_that_ignores_randomisation():
    inside, off, _ = runs_of(PLANS["columns"], 2000, 10, blind=True)
    assert inside[1:3].max() < 0.8
    assert np.abs(off[1:3]).min() > 1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "runs"), [(2000, 200), (20_000, 200)])
@pytest.mark.parametrize("plan", PLANS)
def test_truth_is_covered_as_often_as_promised(plan, n, runs):
    inside, off, ratio = runs_of(PLANS[plan], n, runs)
    spread = np.sqrt(0.95 * 0.05 / runs)
    assert inside.min() > 0.95 - 4 * spread
    assert inside.mean() < 0.99
    assert np.abs(off).max() < 0.3 + 2 / np.sqrt(runs)
    assert ratio.min() > 0.8
    assert ratio.max() < 1.3

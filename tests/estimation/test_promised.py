"""What a design promises of a table is what an estimate from its release attains."""

import numpy as np
import pytest

import pramble
from pramble.information.distributions import as_law
from pramble.solvers.record.costs import plan_costs

pytestmark = pytest.mark.xdist_group("promised")  # one worker makes what all need

COLUMNS = {"a": ["x", "y"], "b": [1, 2, 3, 4], "c": ["p", "q", "r", "s", "t"], "d": [True, False]}
SIZES = {name: len(labels) for name, labels in COLUMNS.items()}


@pytest.fixture(scope="module")
def people():
    """Records with strong associations, so that no law of columns beside a table is harmless."""
    rng = np.random.default_rng(5)
    law = rng.dirichlet(np.full(80, 0.3)).reshape(2, 4, 5, 2)
    cells = rng.choice(80, 60_000, p=law.ravel())
    codes = np.unravel_index(cells, law.shape)
    frame = {n: [COLUMNS[n][i] for i in own] for n, own in zip(COLUMNS, codes, strict=True)}
    counted = np.bincount(cells, minlength=80).reshape(law.shape) / len(cells)
    return frame, counted


@pytest.fixture(scope="module", params=[0.7, 2.0])
def design(people, request):
    return pramble.design_record(COLUMNS, request.param, prior=people[1], tables=2)


def truth_of(people, table, e):
    law = as_law(people[1], SIZES).margin(table)
    places = zip(*(map(COLUMNS[n].index, e.cells[n]) for n in table), strict=True)
    return np.array([law[place] for place in places])


def test_promised_costs_are_those_of_estimates(people, design):
    frame, prior = people
    n = len(frame["a"])
    released = pramble.perturb(frame, design.plan, key=bytes(32))
    promised = plan_costs(design.plan, COLUMNS, as_law(prior, SIZES), tables=list(design.costs))
    for table, cost in promised.items():
        e = pramble.estimate(released, design.plan, by=list(table), method="inverse")
        assert np.square(e.standard_errors).sum() * n == pytest.approx(cost, rel=0.06)
        assert cost >= design.costs[table] * (1 - 1e-6)


def test_squared_errors_are_as_promised_and_smaller_inside_the_simplex(people, design):
    frame, prior = people
    n, turns = len(frame["a"]), 4
    promised = sum(
        plan_costs(design.plan, COLUMNS, as_law(prior, SIZES), tables=list(design.costs)).values()
    )
    sums = {"inverse": 0.0, "mle": 0.0}
    for turn in range(turns):
        released = pramble.perturb(frame, design.plan, key=bytes([turn]) * 32)
        for table in design.costs:
            for method in sums:
                e = pramble.estimate(released, design.plan, by=list(table), method=method)
                truth = truth_of(people, table, e)
                sums[method] += np.square(e.probabilities - truth).sum() * n / turns
    sampling = sum(1 - np.square(as_law(prior, SIZES).margin(t)).sum() for t in design.costs)
    assert 0.6 * (promised - sampling) < sums["inverse"] < 1.5 * promised
    assert sums["mle"] < 1.05 * sums["inverse"]

"""A slice of ``python -m bench analyses``: intervals cover, and the check would notice if not."""

import numpy as np
import pytest
from bench.analyses.census import responses
from bench.analyses.coverage import covered, releases
from bench.analyses.people import RANDOMISED, population
from bench.analyses.quantities import QUANTITIES

SLICE = ("one-way cells", "two-way cells", "shares given a group", "means by group", "linear",
         "ordinal")  # fmt: skip


@pytest.fixture(scope="module")
def people():
    frame = population(30_000)
    return frame, {name: QUANTITIES[name](frame, {}) for name in SLICE}


def coverage(people, *, runs, ignoring=False):
    frame, truths = people
    plan = responses(frame, RANDOMISED, 2.0)
    files = releases(frame, plan, 5_000, runs, seed=1)
    tallies = covered(files, {} if ignoring else plan, truths)
    assert not any(tally.failed for tally in tallies.values())
    return np.array([np.mean(tally.inside) for tally in tallies.values()])


def test_intervals_of_tables_and_regressions_cover(people):
    """Twelve releases. Cells of one release may all miss together, as thresholds do.

    If they always did, 8 or fewer of 12 would hold with a chance of 0.002.
    """
    found = coverage(people, runs=12)
    assert found.min() > 8 / 12
    assert found.mean() > 0.9


def test_the_check_would_notice_what_ignores_the_plan(people):
    assert coverage(people, runs=3, ignoring=True).mean() < 0.6

"""When a search stops, whom it tells, and that the clock has no part in it."""

import math
import threading

import numpy as np
import pytest

import pramble
from pramble.solvers.budget import OPERATIONS, SearchBudget


def test_a_part_ends_with_the_whole_or_sooner():
    whole = SearchBudget(1e-6, 100.0)
    assert whole.part(1e-3, effort=5.0).left() == 5.0
    assert whole.part(1e-3, effort=1000.0).left() == 100.0
    assert SearchBudget(1e-6).part(1e-3).left() == math.inf
    assert whole.part(1e-3, effort=0.0).is_over()


def test_what_a_part_spends_is_gone_for_the_whole():
    whole = SearchBudget(1e-6, 10.0)
    part = whole.part(1e-3, effort=4.0)
    part.spend(3 * OPERATIONS)
    assert part.left() == pytest.approx(1.0, abs=1e-3)
    assert whole.left() == pytest.approx(7.0, abs=1e-3)
    assert whole.until(0.5).left() == pytest.approx(2.0, abs=1e-3)
    assert whole.until(0.2).is_over()


def test_a_quiet_part_says_nothing_and_leaves_the_whole_its_voice():
    seen = []
    whole = SearchBudget(1e-6, progress=seen.append)
    whole.part(1e-3, quiet=True).report("inside", value=1.0, bound=2.0)
    assert not seen
    whole.part(1e-3).report("inside", value=1.0, bound=2.0)
    whole.report("outside", value=2.0, bound=1.0)
    assert [(one.what, one.share) for one in seen] == [("inside", 0.5), ("outside", 0.5)]
    assert dict(seen[1].figures) == {"value": 2.0, "bound": 1.0}


def test_nothing_is_done_while_the_bound_is_infinite():
    seen = []
    SearchBudget(1e-6, progress=seen.append).report("searching", value=1.0, bound=math.inf)
    assert seen[0].share == 0.0


def test_bounds_close_from_either_side():
    budget = SearchBudget(0.1)
    assert budget.closed(1.0, 1.1 - 1e-12)
    assert budget.closed(1.0, 0.95)
    assert not budget.closed(1.0, 1.2)
    assert not budget.closed(1.0, 0.8)


def test_only_a_time_limit_ends_a_search_by_the_clock():
    assert SearchBudget(1e-6, 1.0).seconds_left() == math.inf
    assert SearchBudget(1e-6, time_limit=1e-9).is_over()
    cut = pramble.design_record({"a": 2, "b": 3}, 1.0, time_limit=1e-6)
    assert any("time limit" in note for note in cut.notes)
    assert not any(
        "time limit" in note for note in pramble.design_record({"a": 2, "b": 3}, 1.0).notes
    )


@pytest.fixture
def burning():
    """A thread that keeps the processor busy."""
    over = threading.Event()

    def burn():
        while not over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=burn)
    yield thread
    over.set()
    if thread.is_alive():
        thread.join()


TWELVE = np.arange(1, 13) / 78
TABLE = np.arange(1, 31).reshape(2, 3, 5) / 465


@pytest.mark.parametrize(
    "found",
    [
        lambda: (
            pramble.design(
                TWELVE, 1.0, family="general", objective="estimation", effort=0.1
            ).mechanism
        ),
        lambda: pramble.design(TWELVE, 1.0, family="general", invariant=True, effort=0.3).mechanism,
        lambda: pramble.design_record({"a": 2, "b": 3, "c": 5}, 2.0, prior=TABLE, effort=0.5).plan,
        lambda: pramble.design_record({"a": 2, "b": 3, "c": 5}, 2.0, whole=True, effort=0.5).plan,
        lambda: (
            pramble.design_record({"a": 4, "b": 3}, 0.3, distance={"a": "path"}, effort=0.5).plan
        ),
    ],
    ids=["variance", "invariant", "branches", "one branch", "distance"],
)
def test_a_busy_machine_changes_no_design(found, burning):
    first = found().to_json()
    burning.start()
    assert found().to_json() == first

"""When a search stops, and whom it tells."""

import math
import threading
import time

from pramble.solvers.budget import SearchBudget


def test_a_part_ends_with_the_whole_or_sooner():
    whole = SearchBudget(1e-6, 100.0)
    assert 0 < whole.part(1e-3, effort=5.0).left() <= 5.0
    assert 5.0 < whole.part(1e-3, effort=1000.0).left() <= 100.0
    assert SearchBudget(1e-6).part(1e-3).left() == math.inf
    assert whole.part(1e-3, effort=0.0).left() <= 0


def test_a_quiet_part_says_nothing_and_leaves_the_whole_its_voice():
    seen = []
    whole = SearchBudget(1e-6, progress=seen.append)
    whole.part(1e-3, quiet=True).tell("inside", value=1.0, bound=2.0)
    assert not seen
    whole.part(1e-3).tell("inside", value=1.0, bound=2.0)
    whole.tell("outside", value=2.0, bound=1.0)
    assert [(one.what, one.share) for one in seen] == [("inside", 0.5), ("outside", 0.5)]
    assert dict(seen[1].figures) == {"value": 2.0, "bound": 1.0}


def test_nothing_is_done_while_the_bound_is_infinite():
    seen = []
    SearchBudget(1e-6, progress=seen.append).tell("searching", value=1.0, bound=math.inf)
    assert seen[0].share == 0.0


def test_bounds_close_from_either_side():
    budget = SearchBudget(0.1)
    assert budget.closed(1.0, 1.1 - 1e-12)
    assert budget.closed(1.0, 0.95)
    assert not budget.closed(1.0, 1.2)
    assert not budget.closed(1.0, 0.8)


def test_another_thread_counts_the_seconds_on_the_wall():
    """What its own processor has done since another thread began would mean nothing."""
    budget, seen = SearchBudget(1e-6, 100.0), []
    time.sleep(0.2)
    other = threading.Thread(target=lambda: seen.append(budget.part(1e-3).seconds()))
    other.start()
    other.join()
    assert 0.2 <= seen[0] <= 30
    assert budget.seconds() < seen[0]

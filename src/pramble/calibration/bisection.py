"""A search over α, or over a central ε, that ends on the side where the target is met."""

import math
from collections.abc import Sequence

from pramble.calibration.target import Target
from pramble.calibration.trial import Experiment, Trial
from pramble.values import Clock

POINTS = 24


def search(
    experiment: Experiment,
    reach: tuple[float, float],
    *,
    tolerance: float,
    clock: Clock,
    points: int = POINTS,
) -> tuple[list[Trial], Trial]:
    """Return all trials, and the one that is the answer."""
    trials = scan(experiment, reach, clock=clock.part(0.0, 0.6), points=points)
    meets, fails = bracket(trials, experiment.target)
    if meets is None:
        best = min(trials, key=lambda trial: (trial.value, trial.tried))
    elif fails is None:
        best = meets
    else:
        rest = clock.part(0.6, 0.4)
        closing = close_in(experiment, meets, fails, tolerance=tolerance, clock=rest)
        known = {trial.tried for trial in trials}
        trials += [trial for trial in closing if trial.tried not in known]
        best = closing[-1]
    clock.tell("calibrating", 1.0)
    return trials, best


def scan(
    experiment: Experiment, reach: tuple[float, float], *, clock: Clock, points: int = POINTS
) -> list[Trial]:
    """Try geometric steps over a range."""
    low, high = reach
    inner = (low * (high / low) ** (step / (points - 1)) for step in range(1, points - 1))
    trials = []
    for tried in (low, *inner, high):
        trials.append(experiment(tried))
        clock.tell("calibrating", len(trials) / points)
    return trials


def bracket(trials: Sequence[Trial], target: Target) -> tuple[Trial | None, Trial | None]:
    """Return the last trial that meets the target before the first that does not, and that one.

    Trials are followed from the private end for a measure of risk and from the other end for an
    error, so that every trial on the way meets the target, whether or not the measure is monotone.
    """
    meets = None
    for trial in trials if target.of_risk else reversed(trials):
        if not trial.value <= target.at_most:
            return meets, trial
        meets = trial
    return meets, None


def close_in(
    experiment: Experiment, meets: Trial, fails: Trial, *, tolerance: float, clock: Clock
) -> list[Trial]:
    """Halve the bracket until it is known to a relative ``tolerance``; the last met comes last."""
    tried = [fails]
    at_most = experiment.target.at_most
    width = math.log(max(meets.tried / fails.tried, fails.tried / meets.tried))
    steps = max(1, math.ceil(math.log2(width / math.log1p(tolerance))))
    for step in range(steps):
        middle = experiment(math.sqrt(meets.tried * fails.tried))
        if middle.value <= at_most:
            tried.append(meets)
            meets = middle
        else:
            tried.append(middle)
            fails = middle
        clock.tell("calibrating", (step + 1) / steps)
    return [*tried, meets]

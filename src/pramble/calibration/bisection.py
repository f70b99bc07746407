"""A search over α that ends on the side where the target is met."""

import math
from collections.abc import Callable, Sequence

from pramble.calibration.target import Target
from pramble.calibration.trial import Bench, Trial

Told = Callable[[float], None]
POINTS = 24


def scan(
    bench: Bench, alphas: tuple[float, float], *, told: Told, points: int = POINTS
) -> list[Trial]:
    """Try α at geometric steps over a range."""
    low, high = alphas
    inner = (low * (high / low) ** (step / (points - 1)) for step in range(1, points - 1))
    trials = []
    for alpha in (low, *inner, high):
        trials.append(bench(alpha))
        told(0.6 * len(trials) / points)
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
    bench: Bench, meets: Trial, fails: Trial, *, tolerance: float, told: Told
) -> list[Trial]:
    """Halve the bracket until α is known to a relative ``tolerance``; the last met comes last."""
    tried = [fails]
    at_most = bench.target.at_most
    width = math.log(max(meets.alpha / fails.alpha, fails.alpha / meets.alpha))
    steps = max(1, math.ceil(math.log2(width / math.log1p(tolerance))))
    for step in range(steps):
        middle = bench(math.sqrt(meets.alpha * fails.alpha))
        if middle.value <= at_most:
            tried.append(meets)
            meets = middle
        else:
            tried.append(middle)
            fails = middle
        told(0.6 + 0.4 * (step + 1) / steps)
    return [*tried, meets]

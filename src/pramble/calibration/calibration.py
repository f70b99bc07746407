"""What is to be met, what each α tried gives, and the calibration that comes of it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.mechanisms.plan import Plan
from pramble.risk.after import RiskAfter
from pramble.risk.assess import Assessment
from pramble.shown import Display, Facts, number
from pramble.values import Reporter, frozen
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "tau1": "expected released uniques that are unique in the population and stand on their cell",
    "tau2": "expected right matches among released uniques",
    "worst": "largest chance that a match is right",
    "share": "share of records whose match is right with a chance above the level",
    "error": "standard error of a typical cell of the worst wanted table",
}
OF_RISK = ("tau1", "tau2", "worst")


@frozen
class Target:
    """A measure that must be at most a given value.

    ``level`` belongs to the measure "share": the chance above which a record counts.
    """

    measure: str
    at_most: float
    level: float | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InvalidInput(
                f"measure must be one of {', '.join(MEASURES)}; found {self.measure!r}."
            )
        if not self.at_most >= 0:
            raise InvalidInput(f"at_most must be a number from 0 on; found {self.at_most!r}.")
        if (self.measure == "share") != (self.level is not None):
            raise InvalidInput(
                'level, the chance above which a record counts, goes with measure="share" and '
                f"with no other; found measure={self.measure!r} and level={self.level!r}."
            )

    @property
    def of_risk(self) -> bool:
        """Whether the measure is one of risk, which grows with α, and not of error."""
        return self.measure != "error"

    def value(self, error: float, left: RiskAfter | None) -> float:
        if not self.of_risk:
            return error
        if left is None:
            raise InvalidInput(
                f'measure={self.measure!r} needs a model of the population; model="none" has none.'
            )
        if self.level is not None:
            return left.share_above(self.level)
        return float(getattr(left, self.measure))


@frozen(eq=False)
class Trial:
    """What an α tried gives.

    - ``value``: The measure.
    - ``designs``: A design for each column; or the one design of all of them, by their names.
    - ``informations``: Mutual information between true and released values, in nats, by design.
    - ``entropy``: That of the columns, summed.
    - ``error``: The standard error of a typical cell of the worst column or wanted table,
      asymptotic; infinite where it is not identifiable.
    - ``left``: The risk left, where there is a model of the population.
    """

    alpha: float
    value: float
    designs: Mapping[str, Any]
    plan: Plan
    informations: Mapping[str, float]
    entropy: float
    error: float
    left: RiskAfter | None

    def figures(self) -> dict[str, float]:
        """Return what the curve has of this trial."""
        information = sum(self.informations.values())
        return {
            "alpha": self.alpha,
            "value": self.value,
            **{name: getattr(self.left, name, math.nan) for name in OF_RISK},
            "information": information,
            "retained": information / self.entropy if self.entropy else 1.0,
            "error": self.error,
        }


def search(
    try_alpha: Callable[[float], Trial],
    target: Target,
    reach: tuple[float, float],
    *,
    tolerance: float,
    points: int,
    reporter: Reporter,
) -> tuple[list[Trial], Trial]:
    """Return all trials by rising α, and the answer: one on the side that meets the target.

    Geometric steps over the reach come first, then halves of the first crossing.
    """
    low, high = reach
    inner = (low * (high / low) ** (step / (points - 1)) for step in range(1, points - 1))
    trials = []
    # Closing in takes about as many designs as the rest of the scan.
    scanning = reporter.part(0.0, 0.6)
    for alpha in (low, *inner, high):
        trials.append(try_alpha(alpha))
        scanning.report("calibrating", len(trials) / points)
    # From the safe end, so that every trial on the way meets the target, whether or not the measure
    # is monotone: what lies behind the first failure is not looked at. NaN fails, too.
    met: list[Trial] = []
    for trial in trials if target.of_risk else reversed(trials):
        if not trial.value <= target.at_most:
            break
        met.append(trial)
    if not met:
        best = min(trials, key=lambda trial: (trial.value, trial.alpha))
    elif len(met) == len(trials):
        best = met[-1]
    else:
        best, fails = met[-1], trial
        closing = reporter.part(0.6, 0.4)
        # Halves on a scale of logarithms, since the tolerance is relative.
        width = abs(math.log(best.alpha / fails.alpha))
        steps = max(1, math.ceil(math.log2(width / math.log1p(tolerance))))
        for step in range(steps):
            middle = try_alpha(math.sqrt(best.alpha * fails.alpha))
            trials.append(middle)
            if middle.value <= target.at_most:
                best = middle
            else:
                fails = middle
            closing.report("calibrating", (step + 1) / steps)
    reporter.report("calibrating", 1.0)
    return sorted(trials, key=lambda trial: trial.alpha), best


@frozen(eq=False, repr=False)
class Calibration(Display, Tidy):
    """The α that meets a target, what it gives, and the curve it was found on.

    Attributes
    ----------
    target : Target
        ``target.measure``, ``target.at_most`` and ``target.level``.
    met : bool
        Whether ``value`` is at most the target.
    best : Trial
        The α that was chosen, with its designs, plan and figures.
    before : Assessment
        The risk of the file as it is.
    curve : record array
        For everything tried, in order: ``alpha``, ``value``, ``tau1``, ``tau2``, ``worst``,
        ``information`` (nats), ``retained`` (of the entropy), ``error``.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import pramble
    >>> people = {"age": [20, 20, 40, 60] * 5, "sex": ["f", "f", "m", "f"] * 5}
    >>> k = pramble.calibrate(people, ["age", "sex"], population_size=50, model="independence",
    ...                       column="age", measure="worst", at_most=0.1)
    >>> k.met, k.value <= 0.1, k.design.certificate.satisfies(k.alpha)
    (True, True, True)
    >>> k.curve.dtype.names[:3]
    ('alpha', 'value', 'tau1')
    """

    target: Target
    met: bool
    best: Trial
    before: Assessment = field(repr=False)
    curve: NDArray[np.void] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def alpha(self) -> float:
        """The largest α found that meets a target of risk, or the smallest for an error.

        Over several columns it is the total; where none meets the target, the nearest.
        """
        return self.best.alpha

    @property
    def value(self) -> float:
        """The measure at exactly the mechanisms of ``plan``."""
        return self.best.value

    @property
    def after(self) -> RiskAfter | None:
        """The risk left at ``alpha``, where there is a model of the population."""
        return self.best.left

    @property
    def designs(self) -> Mapping[str, Any]:
        """The design of each column; with ``columns=`` the one of all of them."""
        return self.best.designs

    @property
    def design(self) -> Any:
        """The one design; with several columns on their own, all of them by name."""
        return next(iter(self.designs.values())) if len(self.designs) == 1 else self.designs

    @property
    def plan(self) -> Plan:
        """What is done to a record."""
        return self.best.plan

    def columns(self) -> dict[str, list[Any]]:
        """Return the curve as plain lists."""
        return {name: self.curve[name].tolist() for name in self.curve.dtype.names or ()}

    def shown(self) -> Facts:
        """Return what was found, what it gives, and what to know."""
        met = "met" if self.met else "NOT met"
        rows = [
            ("α" if self.met else "α that comes nearest", number(self.alpha, 6)),
            (self.target.measure, f"{number(self.value)}, at most {self.target.at_most:g}: {met}"),
        ]
        if self.after is not None:
            for name, words in (("tau1", "τ1"), ("tau2", "τ2")):
                was, left = (number(getattr(of, name), 4) for of in (self.before, self.after))
                rows.append((words, f"{was} before, {left} after"))
            rows.append(("largest r2", f"{number(self.after.worst, 4)} after"))
        for name, information in self.best.informations.items():
            alpha = number(self.designs[name].alpha, 6)
            rows.append((name, f"α = {alpha}, {information:.4f} nats of information"))
        rows.append(("tried", several(len(self.curve), "design")))
        return Facts("Calibration", rows, notes=self.notes)

    def plot(self) -> "Figure":
        """Return a figure of the measure and of information, with the target and the choice."""
        from pramble.plots.tradeoffs import plot_calibration

        return plot_calibration(self)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        figures = {
            "alpha": self.alpha,
            "value": self.value,
            "met": self.met,
            "measure": self.target.measure,
            "at_most": self.target.at_most,
            "level": self.target.level,
            "columns": {name: design.alpha for name, design in self.designs.items()},
            "information": dict(self.best.informations),
            "before": self.before.summary(),
            "notes": list(self.notes),
            "curve": self.columns(),
        }
        if self.after is not None:
            figures["after"] = {name: getattr(self.after, name) for name in OF_RISK}
        return figures

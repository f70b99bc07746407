"""What is to be met, what a promise tried gives, and the calibration that comes of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.mechanisms.plan import Plan
from pramble.privacy.central import CentralGuarantee, central_guarantee, proven_epsilon
from pramble.privacy.certificate import certify
from pramble.risk.after import RiskAfter
from pramble.risk.assess import Assessment
from pramble.risk.cells import record_array
from pramble.shown import Display, Facts, number
from pramble.values import Clock, Floats, value
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "tau1": "expected released uniques that are unique in the population and stand on their cell",
    "tau2": "expected right matches among released uniques",
    "worst": "largest chance that a match is right",
    "share": "share of records whose match is right with a chance above the level",
    "epsilon": "central ε of the file in random order, proven at delta",
    "error": "standard error of a typical cell of the worst wanted table",
}
OF_RISK = ("tau1", "tau2", "worst")

PromiseName = Literal["local", "central"]


def list_measures() -> str:
    return "; ".join(f"{name}: {words}" for name, words in MEASURES.items())


@value
class Target:
    """A measure that must be at most a given value, and the promise that is searched over.

    ``level`` belongs to the measure "share": the chance above which a record counts. ``delta`` and
    ``rows_per_person`` belong to central promises.
    """

    measure: str
    at_most: float
    level: float | None = None
    delta: float | None = None
    rows_per_person: int = 1
    promise: PromiseName = "local"

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
        if self.promise not in ("local", "central"):
            raise InvalidInput(f"promise must be one of local, central; found {self.promise!r}.")
        if self.is_central and self.measure == "epsilon":
            raise InvalidInput(
                'measure="epsilon" is met by α: promise="local". With promise="central" ε itself '
                "is searched for; give another measure."
            )
        if self.delta is None and (self.is_central or self.measure == "epsilon"):
            asked = 'promise="central"' if self.is_central else 'measure="epsilon"'
            raise InvalidInput(f"{asked} needs delta=, as 1e-6.")

    @property
    def is_central(self) -> bool:
        return self.promise == "central"

    @property
    def of_risk(self) -> bool:
        """Whether the measure is one of risk, which grows with α, and not of error."""
        return self.measure != "error"

    def epsilon_of(self, plan: Plan, *, rows: int) -> float:
        """Return the central ε that is proven of a plan; not a number unless it is the measure."""
        if self.measure != "epsilon" or self.delta is None:
            return math.nan
        return proven_epsilon(
            plan, rows=rows, delta=self.delta, additional=0.0, rows_per_person=self.rows_per_person
        )

    def guarantee(self, plan: Plan, *, rows: int) -> CentralGuarantee | None:
        if self.delta is None:
            return None
        return central_guarantee(
            plan, rows=rows, delta=self.delta, rows_per_person=self.rows_per_person
        )

    def value(self, left: RiskAfter | None, *, error: float, epsilon: float) -> float:
        if self.measure == "epsilon":
            return epsilon
        if not self.of_risk:
            return error
        if left is None:
            raise InvalidInput(
                f'measure={self.measure!r} needs a model of the population; model="none" has none.'
            )
        if self.level is not None:
            return left.share_above(self.level)
        return float(getattr(left, self.measure))


@value(eq=False)
class Proposal:
    """What one promise proposes.

    - ``designs``: A design for each column; or the one design of all of them, by their names.
    - ``informations``: Mutual information between true and released values, in nats, by design.
    - ``whole``: The summed entropy of the columns.
    - ``error``: The standard error of a typical cell of the worst column or wanted table,
      asymptotic; infinite where it is not identifiable.
    """

    designs: Mapping[str, Any]
    plan: Plan
    informations: Mapping[str, float]
    whole: float
    error: float


@value(eq=False)
class Trial:
    tried: float
    value: float
    proposal: Proposal
    left: RiskAfter | None
    central: bool = False

    @property
    def alpha(self) -> float:
        """The α of a record: what was tried, or what a plan for a central promise also keeps."""
        return certify(self.proposal.plan).alpha if self.central else self.tried

    @property
    def epsilon(self) -> float:
        """The ε of the central promise that was tried, if it was one."""
        return self.tried if self.central else math.nan

    @property
    def error(self) -> float:
        return self.proposal.error

    @property
    def information(self) -> float:
        return sum(self.proposal.informations.values())

    @property
    def retained(self) -> float:
        whole = self.proposal.whole
        return self.information / whole if whole else 1.0


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising promise as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.tried)

    def column(name: str) -> Floats:
        holders = (trial.left if name in OF_RISK else trial for trial in rows)
        return np.array([getattr(holder, name, math.nan) for holder in holders])

    names = ("alpha", "value", *OF_RISK, "information", "retained", "error", "epsilon")
    records: NDArray[np.void] = record_array({name: column(name) for name in names})
    return records


TryPromise = Callable[[float], Trial]


def search(
    try_promise: TryPromise,
    target: Target,
    reach: tuple[float, float],
    *,
    tolerance: float,
    points: int,
    clock: Clock,
) -> tuple[list[Trial], Trial]:
    """Return all trials, and the one that is the answer: on the side that meets the target.

    Geometric steps over the reach come first, then halves of the first crossing.
    """
    low, high = reach
    inner = (low * (high / low) ** (step / (points - 1)) for step in range(1, points - 1))
    trials = []
    scanning = clock.part(0.0, 0.6)
    for tried in (low, *inner, high):
        trials.append(try_promise(tried))
        scanning.tell("calibrating", len(trials) / points)
    meets, fails = bracket(trials, target)
    if meets is None:
        best = min(trials, key=lambda trial: (trial.value, trial.tried))
    elif fails is None:
        best = meets
    else:
        closing = close_in(
            try_promise,
            (meets, fails),
            at_most=target.at_most,
            tolerance=tolerance,
            clock=clock.part(0.6, 0.4),
        )
        known = {trial.tried for trial in trials}
        trials += [trial for trial in closing if trial.tried not in known]
        best = closing[-1]
    clock.tell("calibrating", 1.0)
    return trials, best


def bracket(trials: Sequence[Trial], target: Target) -> tuple[Trial | None, Trial | None]:
    """Return the last trial that meets the target before the first that does not, and that one.

    Trials are followed from the private end for a measure of risk and from the other end for an
    error, so that every trial on the way meets the target, whether or not the measure is monotone.
    """
    meets = None
    for trial in trials if target.of_risk else reversed(trials):
        if not trial.value <= target.at_most:  # NaN fails, too
            return meets, trial
        meets = trial
    return meets, None


def close_in(
    try_promise: TryPromise,
    between: tuple[Trial, Trial],
    *,
    at_most: float,
    tolerance: float,
    clock: Clock,
) -> list[Trial]:
    """Halve the bracket until it is known to a relative ``tolerance``; the last met comes last."""
    meets, fails = between
    tried = [fails]
    width = math.log(max(meets.tried / fails.tried, fails.tried / meets.tried))
    steps = max(1, math.ceil(math.log2(width / math.log1p(tolerance))))
    for step in range(steps):
        middle = try_promise(math.sqrt(meets.tried * fails.tried))
        if middle.value <= at_most:
            tried.append(meets)
            meets = middle
        else:
            tried.append(middle)
            fails = middle
        clock.tell("calibrating", (step + 1) / steps)
    return [*tried, meets]


@value(eq=False, repr=False)
class Calibration(Display, Tidy):
    """The α that meets a target, what it gives, and the curve it was found on.

    Attributes
    ----------
    alpha : float
        For a measure of risk the largest α found that meets the target, for an error the smallest;
        over several columns the total. When ``met`` is false, the α that came nearest.
    value : float
        The measure at exactly the mechanisms of ``plan``.
    met : bool
        Whether ``value`` is at most the target.
    proposal : Proposal
        ``designs``, ``plan``, and what they keep.
    target : Target
        ``target.measure``, ``target.at_most`` and ``target.level``.
    before : Assessment
        The risk of the file as it is.
    after : RiskAfter or None
        The risk left at ``alpha``.
    curve : record array
        For everything tried, in order: ``alpha``, ``value``, ``tau1``, ``tau2``, ``worst``,
        ``information`` (nats), ``retained`` (of the entropy), ``error``, ``epsilon``.
    notes : tuple of str
        What the reader must know.
    central : CentralGuarantee or None
        What is proven of the whole file in random order, where δ was given.
    epsilon : float
        With ``promise="central"`` the ε that was found; α is then what the plan also keeps.

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

    alpha: float
    value: float
    met: bool
    proposal: Proposal
    target: Target
    before: Assessment = field(repr=False)
    after: RiskAfter | None = field(repr=False)
    curve: NDArray[np.void] = field(repr=False)
    notes: tuple[str, ...]
    central: CentralGuarantee | None = None
    epsilon: float = math.nan

    @property
    def tried(self) -> tuple[str, float]:
        """What was searched for, "alpha" or "epsilon", and what was found."""
        return ("epsilon", self.epsilon) if self.target.is_central else ("alpha", self.alpha)

    @property
    def designs(self) -> Mapping[str, Any]:
        """The design of each column; with ``columns=`` the one of all of them."""
        return self.proposal.designs

    @property
    def design(self) -> Any:
        """The one design; with several columns on their own, all of them by name."""
        return next(iter(self.designs.values())) if len(self.designs) == 1 else self.designs

    @property
    def plan(self) -> Plan:
        """What is done to a record."""
        return self.proposal.plan

    def columns(self) -> dict[str, list[Any]]:
        """Return the curve as plain lists."""
        return {name: self.curve[name].tolist() for name in self.curve.dtype.names or ()}

    def shown(self) -> Facts:
        """Return what was found, what it gives, and what to know."""
        sign, met = ("ε", "α")[self.tried[0] == "alpha"], "met" if self.met else "NOT met"
        rows = [
            (sign if self.met else f"{sign} that comes nearest", number(self.tried[1], 6)),
            (self.target.measure, f"{number(self.value)}, at most {self.target.at_most:g}: {met}"),
        ]
        if self.after is not None:
            for name, words in (("tau1", "τ1"), ("tau2", "τ2")):
                was, left = (number(getattr(of, name), 4) for of in (self.before, self.after))
                rows.append((words, f"{was} before, {left} after"))
            rows.append(("largest r2", f"{number(self.after.worst, 4)} after"))
        if self.central is not None:
            proven, attack = number(self.central.epsilon), number(self.central.lower, 4)
            rows.append(("central", f"ε = {proven}, by attack at least {attack}"))
        for name, information in self.proposal.informations.items():
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
            "information": dict(self.proposal.informations),
            "before": self.before.summary(),
            "notes": list(self.notes),
            "curve": self.columns(),
        }
        if self.central is not None:
            figures["central"] = {
                name: getattr(self.central, name) for name in ("epsilon", "delta", "lower")
            }
        if self.after is not None:
            figures["after"] = {name: getattr(self.after, name) for name in OF_RISK}
        return figures

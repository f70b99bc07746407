"""What is to be met: a measure and the most it may be.

Which promise is searched over: α of a record, or the central ε of a file in random order.

One promise tried: what it proposes, the risk that leaves and the information it keeps.

A search over α, or over a central ε, that ends on the side where the target is met.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.proposals import DesignAt, Proposal
from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import certify
from pramble.privacy.shuffled.central import CentralGuarantee, central_guarantee, proven_epsilon
from pramble.risk.assessment import Assessment
from pramble.risk.cells import record_array
from pramble.risk.remaining import RiskAfter
from pramble.values import Clock, Floats, value

MEASURES = {
    "tau1": "expected released uniques that are unique in the population and stand on their cell",
    "tau2": "expected right matches among released uniques",
    "worst": "largest chance that a match is right",
    "share": "share of records whose match is right with a chance above the level",
    "epsilon": "central ε of the file in random order, proven at delta",
    "error": "standard error of a typical cell of the worst wanted table",
}


def list_measures() -> str:
    """Return the measures with what they are, for help pages."""
    return "; ".join(f"{name}: {words}" for name, words in MEASURES.items())


@value
class Target:
    """A measure that must be at most a given value.

    ``level`` belongs to the measure "share": the chance above which a record counts. ``delta`` and
    ``rows_per_person`` belong to central promises.
    """

    measure: str
    at_most: float
    level: float | None = None
    delta: float | None = None
    rows_per_person: int = 1

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
        if self.measure == "epsilon" and self.delta is None:
            raise InvalidInput('measure="epsilon" needs delta=, as 1e-6.')

    @property
    def of_risk(self) -> bool:
        """Whether the measure is one of risk, which grows with α, and not of error."""
        return self.measure != "error"

    def epsilon_of(self, plan: Plan, *, rows: int) -> float:
        """Return the central ε that is proven of a plan; not a number unless it is the measure."""
        if self.measure != "epsilon" or self.delta is None:
            return math.nan
        return proven_epsilon(
            plan, rows=rows, delta=self.delta, besides=0.0, rows_per_person=self.rows_per_person
        )

    def guarantee(self, plan: Plan, *, rows: int) -> CentralGuarantee | None:
        """Return what is proven of the file in random order beside an attack, if δ is given."""
        if self.delta is None:
            return None
        return central_guarantee(
            plan, rows=rows, delta=self.delta, rows_per_person=self.rows_per_person
        )

    def value(self, left: RiskAfter | None, *, error: float, epsilon: float) -> float:
        """Return the measure, given the risk left, the error of estimates and the central ε."""
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


PromiseName = Literal["local", "central"]
NAMES = ("local", "central")


def promise_of(name: str, target: Target, *, rows: int) -> Callable[[float], Mapping[str, Any]]:
    """Return the function from what is tried to what :func:`~pramble.design_record` keeps."""
    if name == "local":
        return lambda tried: {"alpha": tried}
    return lambda tried: {
        "central": (tried, target.delta),
        "rows": rows,
        "rows_per_person": target.rows_per_person,
    }


def check_promise(
    name: str,
    target: Target,
    *,
    keys: Sequence[str],
    randomised: Sequence[str],
    together: bool,
) -> None:
    """Refuse a promise that is not one, or whose conditions do not hold."""
    if name not in NAMES:
        raise InvalidInput(f"promise must be one of {', '.join(NAMES)}; found {name!r}.")
    if name == "central":
        if not together:
            raise InvalidInput(
                'promise="central" takes columns=, keys to randomise together; for a column of its '
                'own find the α that keeps a central ε: measure="epsilon". Both are of records in '
                "random order; for protected tables see design_tables(...).epsilon_for(people)."
            )
        if target.delta is None:
            raise InvalidInput('promise="central" needs delta=, as 1e-6.')
        if target.measure == "epsilon":
            raise InvalidInput(
                'measure="epsilon" is met by α: promise="local". With promise="central" ε itself '
                "is searched for; give another measure."
            )
    if target.delta is not None:
        refuse_untouched(keys, randomised)


def refuse_untouched(keys: Sequence[str], randomised: Sequence[str]) -> None:
    """Refuse a central promise for a file with a column that is released as it is."""
    bare = next((key for key in keys if key not in randomised), None)
    if bare is not None:
        raise PrivacyError(
            f"Column {bare!r} would be released as it is, which ends every central promise: "
            "randomise it with the others, or leave it out of the keys and of the release."
        )


OF_RISK = ("tau1", "tau2", "worst")


@value(eq=False)
class Trial:
    """What one promise gives: an α, or the ε of a central promise."""

    tried: float
    value: float
    proposal: Proposal
    left: RiskAfter | None
    error: float
    central: bool = False

    @property
    def alpha(self) -> float:
        """The α of a record: what was tried, or what a plan for a central promise has besides."""
        return certify(self.proposal.plan).alpha if self.central else self.tried

    @property
    def epsilon(self) -> float:
        """The ε of the central promise that was tried, if it was one."""
        return self.tried if self.central else math.nan

    @property
    def information(self) -> float:
        """Mutual information between true and released values, over the columns, in nats."""
        return sum(self.proposal.informations.values())

    @property
    def kept(self) -> float:
        """The information as a share of the columns' entropy."""
        whole = self.proposal.whole
        return self.information / whole if whole else 1.0


@value(eq=False)
class Experiment:
    """Everything a trial needs but its promise."""

    assessment: Assessment
    target: Target
    designs_at: DesignAt
    central: bool = False

    def __call__(self, tried: float) -> Trial:
        """Design for this promise and measure what it leaves."""
        proposal = self.designs_at(tried)
        left, error = self.left(proposal), proposal.error(self.assessment.n)
        return Trial(tried, self.value(proposal, left), proposal, left, error, self.central)

    def left(self, proposal: Proposal) -> RiskAfter | None:
        """Return the risk that a proposal leaves; None without a model."""
        if self.assessment.fit is None:
            return None
        return self.assessment.after(proposal.plan)

    def value(self, proposal: Proposal, left: RiskAfter | None) -> float:
        """Return the measure of a proposal."""
        n = self.assessment.n
        epsilon = self.target.epsilon_of(proposal.plan, rows=n)
        return self.target.value(left, error=proposal.error(n), epsilon=epsilon)


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising promise as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.tried)

    def column(name: str) -> Floats:
        holders = (trial.left if name in OF_RISK else trial for trial in rows)
        return np.array([getattr(holder, name, math.nan) for holder in holders])

    names = ("alpha", "value", *OF_RISK, "information", "kept", "error", "epsilon")
    records: NDArray[np.void] = record_array({name: column(name) for name in names})
    return records


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

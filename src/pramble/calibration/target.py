"""What is to be met: a measure and the most it may be."""

import math

from pramble.errors import InvalidInput
from pramble.mechanisms.plan import Plan
from pramble.privacy.shuffled.central import CentralGuarantee, central_guarantee, proven_epsilon
from pramble.risk.after.perturbed import RiskAfter
from pramble.values import value

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

"""What is to be met: a measure and the most it may be."""

from pramble.errors import InvalidInput
from pramble.risk.after.perturbed import RiskAfter
from pramble.values import value

MEASURES = {
    "tau1": "expected released uniques that are unique in the population and stand on their cell",
    "tau2": "expected right matches among released uniques",
    "worst": "largest chance that a match is right",
    "share": "share of records whose match is right with a chance above the level",
    "error": "expected distance of the estimated from the true distribution",
}


def list_measures() -> str:
    """Return the measures with what they are, for help pages."""
    return "; ".join(f"{name}: {words}" for name, words in MEASURES.items())


@value
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

    def value(self, left: RiskAfter | None, *, error: float) -> float:
        """Return the measure, given the risk left and the error of estimates."""
        if not self.of_risk:
            return error
        if left is None:
            raise InvalidInput(
                f'measure={self.measure!r} needs a model of the population; model="none" has none.'
            )
        if self.level is not None:
            return left.share_above(self.level)
        return float(getattr(left, self.measure))

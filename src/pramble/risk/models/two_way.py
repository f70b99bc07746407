"""The model of all two-way interactions."""

from itertools import combinations
from typing import ClassVar

from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.loglinear import fit_margins
from pramble.values import value


@value
class TwoWay(RiskModel):
    """Every pair of keys may interact."""

    name: ClassVar[str] = "two-way"
    summary: ClassVar[str] = "all two-way interactions"

    def fit(self, sample: Sample) -> FittedModel:
        """Return the fit to all two-way margins."""
        return FittedModel(fit_margins(sample, combinations(range(len(sample.table.columns)), 2)))

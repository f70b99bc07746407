"""The model of all two-way interactions."""

from dataclasses import replace
from itertools import combinations
from typing import ClassVar

from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.listed import ListedMeans
from pramble.risk.models.loglinear import fit_margins
from pramble.risk.models.spread import fit_spread
from pramble.values import value

PAIRS = "all pairs of keys"


@value
class TwoWay(RiskModel):
    """Every pair of keys may interact, and cells may vary around what the pairs say.

    Two keys at a time are not the whole truth, and a model that underfits overstates the risk. So a
    random effect of cells (:mod:`pramble.risk.models.spread`) is fitted too, and taken where the
    likelihood asks for it.
    """

    name: ClassVar[str] = "two-way"
    summary: ClassVar[str] = (
        "all two-way interactions, with a random effect of cells where they do not suffice"
    )

    def fit(self, sample: Sample) -> FittedModel:
        """Return the fit to all two-way margins, with the random effect of cells."""
        table = sample.table
        means = fit_margins(sample, combinations(range(len(table.columns)), 2))
        if not isinstance(means, ListedMeans):
            return FittedModel(means, PAIRS)
        spread = fit_spread(means.observed(table), means.values)
        reason = PAIRS
        if spread.needed:
            reason += (
                "; cells vary more than the interactions explain (a random effect gains "
                f"{spread.gain:.1f} in log-likelihood and is taken)"
            )
        return FittedModel(replace(means, spread=spread), reason)

"""The model of main effects."""

from typing import ClassVar

from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.loglinear import fit_margins
from pramble.values import value


@value
class Independence(RiskModel):
    """Keys are independent of each other, but for structural zeros."""

    name: ClassVar[str] = "independence"
    summary: ClassVar[str] = "main effects, in closed form, for any number of cells"

    def fit(self, sample: Sample) -> FittedModel:
        """Return the main effects."""
        return FittedModel(fit_margins(sample, ()), "main effects alone")

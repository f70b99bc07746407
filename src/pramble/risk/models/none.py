"""No model: class sizes only."""

from typing import ClassVar

from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.values import value


@value
class NoModel(RiskModel):
    """Nothing is said about the population."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "class sizes only"
    needs_population: ClassVar[bool] = False

    def fit(self, sample: Sample) -> FittedModel:  # noqa: ARG002
        """Return nothing."""
        return FittedModel(None, "class sizes only, as asked")

"""The log-linear model that the caller spells out."""

from typing import ClassVar

from pramble.errors import InvalidInput
from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.loglinear import fit_margins
from pramble.values import value


@value
class Margins(RiskModel):
    """The model that reproduces the margins named; other keys enter by their main effects."""

    named: tuple[str | tuple[str, ...], ...]
    name: ClassVar[str] = "margins"
    summary: ClassVar[str] = "those; keys in none of them enter by their main effects"

    def fit(self, sample: Sample) -> FittedModel:
        """Return the fit to the margins."""
        keys = sample.table.columns
        groups = [(margin,) if isinstance(margin, str) else tuple(margin) for margin in self.named]
        for name in (name for group in groups for name in group):
            if name not in keys:
                raise InvalidInput(f"A margin names {name!r}, which is not among the keys {keys}.")
        axes = [tuple(keys.index(name) for name in group) for group in groups]
        return FittedModel(fit_margins(sample, axes), "the margins that were named")

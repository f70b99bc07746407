"""Every model of the population, once: a new one is a class and a line here."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from pramble.errors import InvalidInput
from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.loglinear import Independence, Margins, Search, TwoWay
from pramble.risk.models.membership import Membership
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


KINDS: tuple[type[RiskModel], ...] = (
    Independence,
    TwoWay,
    Search,
    Membership,
    NoModel,
)

MODELS: Mapping[str, type[RiskModel]] = MappingProxyType({kind.name: kind for kind in KINDS})
"""The models that can be asked for by name."""

Model = str | RiskModel | Sequence[Any]
"""One of ``MODELS``, a model with its settings, or a sequence of margins."""


def as_model(given: Model) -> RiskModel:
    """Return a model from its name, from one with its settings, or from margins.

    >>> as_model("two-way"), as_model([("age", "sex"), "region"]).name
    (TwoWay(), 'margins')
    """
    if isinstance(given, RiskModel):
        return given
    if not isinstance(given, str):
        return Margins(tuple(given))
    if given not in MODELS:
        raise InvalidInput(f"model must be one of {', '.join(MODELS)}; found {given!r}.")
    return MODELS[given]()


def list_models(separator: str = "; ") -> str:
    """Return the models with what they are, for help pages.

    >>> list_models().split(";")[0]
    'independence: main effects, in closed form, for any number of cells'
    """
    return separator.join(f"{name}: {kind.summary}" for name, kind in MODELS.items())

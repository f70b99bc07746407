"""The design problem, validated once and handed to one solver."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pramble.data.labels import Labels
from pramble.mechanisms.base import Mechanism
from pramble.solvers.result import Design, most_information
from pramble.solvers.watch import Watch
from pramble.values import Floats, Watcher


@dataclass(frozen=True)
class Problem:
    """What :func:`~pramble.design` was asked, checked. Its keywords explain the fields.

    Attributes
    ----------
    prior : (S,) array
        Read-only probabilities that sum to 1; S is at least 2.
    alpha : float
        Positive and finite.
    labels : Labels
        The S categories.
    """

    prior: Floats
    alpha: float
    labels: Labels
    family: str
    objective: str
    invariant: bool
    tolerance: float
    keep_at_least: float | None
    symmetric: bool
    information_at_least: float | None
    outputs: Any
    workload: Floats | None
    time_limit: float | None
    progress: Watcher | None

    @property
    def size(self) -> int:
        """The number of categories, S."""
        return len(self.prior)

    @cached_property
    def ceiling(self) -> float:
        """The most information that any mechanism could carry."""
        return most_information(self.prior, self.alpha)

    def watch(self, share: float = 1.0) -> Watch:
        """Return the watch of a search that may use this share of the tolerance."""
        return Watch(self.tolerance * share, self.time_limit, self.progress)

    def answer(self, mechanism: Mechanism, *, value: float, bound: float, **more: Any) -> Design:
        """Return the design with a mechanism, its value and a proven bound."""
        return Design(
            mechanism=mechanism,
            prior=self.prior,
            alpha=self.alpha,
            family=self.family,
            objective=self.objective,
            value=value,
            bound=bound,
            **more,
        )

"""The design problem, validated once and handed to one solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pramble.data.labels import Labels
from pramble.values import Floats

Progress = Callable[[float, float], None]
"""Called with the best value so far and the proven bound so far."""


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
    progress: Progress | None

    @property
    def size(self) -> int:
        """The number of categories, S."""
        return len(self.prior)

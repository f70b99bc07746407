r"""What a model of the population is: it is fitted to a sample and gives the mean of every cell."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pramble.data.table import Crosstab
from pramble.information.structural_zeros import StructuralZero
from pramble.mechanisms.operators.base import Operator
from pramble.risk.diagnostics import Chains, FitCriteria, Intervals
from pramble.risk.measures import match_risk, uniqueness_risk
from pramble.risk.spread import mixed_risks
from pramble.values import Clock, Floats, Integers, value

Codes = NDArray[np.integer]
"""(K, d): the codes of cells, one column per key."""
Margin = tuple[int, ...]
"""The keys of a margin, by their place."""
Operators = Mapping[int, Operator]
"""How the levels of each randomised key move among each other, by its place."""


@value(eq=False)
class JointKey:
    """Some keys taken as one.

    - ``axes``: Their places.
    - ``sizes``: Their numbers of levels.
    - ``level_of``: Which level of the one each combination of their levels is, the last running
      fastest; −1 where it is none.
    - ``count``: The number of levels of the one.
    """

    axes: Margin
    sizes: tuple[int, ...]
    level_of: Integers
    count: int

    def codes(self, cells: Codes) -> Integers:
        """Return the level of each cell."""
        index = np.zeros(len(cells), dtype=np.int64)
        for axis, size in zip(self.axes, self.sizes, strict=True):
            index = index * size + cells[:, axis]
        return np.asarray(self.level_of[index])

    def sums(self, values: Floats) -> Floats:
        """Return the sums over the combinations of each level, along the first axis."""
        answer = np.zeros((self.count, *values.shape[1:]))
        there = self.level_of >= 0
        np.add.at(answer, self.level_of[there], values[there])
        return answer


class CellMeans(ABC):
    r"""Fitted sample means :math:`\mu = \pi\lambda` of every cell."""

    @property
    @abstractmethod
    def margins(self) -> tuple[Margin, ...]:
        """The observed margins that the means reproduce."""

    @abstractmethod
    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""

    @abstractmethod
    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        r"""Return the mean released counts :math:`\tilde\mu_j = \sum_k \mu_k M_{kj}`."""

    @abstractmethod
    def over(self, keys: Sequence[JointKey]) -> "CellMeans":
        """Return the means over some keys alone, several of them as one."""

    def risks(
        self, cells: Codes, sizes: Integers, *, fraction: Floats, stay: Floats
    ) -> tuple[Floats, Floats]:
        r"""Return r1 and r2 of classes of some cells, whose members are known with chance ``stay``.

        :math:`\lambda = \mu/\pi` people of a cell are sampled with chance π and then seen as what
        they are with chance M, ``stay``, so :math:`\lambda(1-\pi M)` are not seen.
        """
        means = self.means(cells)
        rest, shapes = means * (1 / fraction - stay), self.shapes(means)
        if shapes is None:
            return uniqueness_risk(rest, sizes), match_risk(rest, sizes)
        return mixed_risks(rest, sizes, sampled=means * stay, shapes=shapes)

    def shapes(self, means: Floats) -> Floats | None:  # noqa: ARG002
        """Return how closely cells keep to such means: shapes of gamma laws; None: exactly."""
        return None

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria | None:  # noqa: ARG002
        """Return the criteria of fit; None where there are none, or too many cells to scan."""
        return None

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:  # noqa: ARG002
        """Return intervals of τ1 and τ2, with the sampling fraction of each class; None if none."""
        return None


@value(eq=False)
class Sample:
    """What a model is fitted to.

    - ``table``: The counts, with the class of each record.
    - ``population_size``: N.
    - ``rules``: Structural zeros.
    - ``rng``: For models that are sampled.
    - ``clock``: Told how far the fit has come.
    """

    table: Crosstab
    population_size: float
    rules: Sequence[StructuralZero] = ()
    rng: np.random.Generator | None = None
    clock: Clock = Clock(None)

    @property
    def fraction(self) -> float:
        """The share of the population that was sampled."""
        return self.table.n / self.population_size


@value(eq=False)
class FittedModel:
    """What a model gave.

    - ``means``: None where nothing was fitted.
    - ``reason``: Why this fit was taken.
    - ``chains``: How its chains mixed, if it was sampled.
    - ``unique_risks``: r1 and r2 of the sample uniques, where the model has better ones than
      its means give.
    """

    means: CellMeans | None
    reason: str
    chains: Chains | None = None
    unique_risks: tuple[Floats, Floats] | None = None


class RiskModel(ABC):
    """A model of the population; ``registry.MODELS`` lists those that have a name.

    - ``name``, ``summary``: What it is called, and what it is, in a few words for help pages.
    - ``needs_population``: Whether it must know how many people the file was sampled from.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs_population: ClassVar[bool] = True

    @abstractmethod
    def fit(self, sample: Sample) -> FittedModel:
        """Return the model fitted to a sample."""

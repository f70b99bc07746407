"""A finite mixture of products: what draws of the membership model leave to be used later."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pramble.risk.cells import CrossClassification
from pramble.risk.fit_criteria import FitCriteria
from pramble.risk.laws import ColumnLaw
from pramble.risk.loglinear import Fit
from pramble.risk.support import Codes
from pramble.values import Floats, read_only


@dataclass(frozen=True)
class MixtureFit(Fit):
    r"""Cell probabilities :math:`\sum_m w_m \prod_j T_{j, x_j, m}`, times the sample size n.

    Attributes
    ----------
    n : int
        Records of the sample.
    tables : (d, L, m) array
        The probability of each level of each key, in each component; 0 beyond the key's levels.
    weights : (m,) array
        Weights of the components; structural zeros make them sum to more than 1.
    """

    n: int
    tables: Floats
    weights: Floats

    def __post_init__(self) -> None:
        read_only(self.tables)
        read_only(self.weights)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        return self.n * cell_probabilities(cells, self.tables, self.weights)

    def released_means(self, cells: Codes, laws: Mapping[int, ColumnLaw]) -> Floats:
        """Return the mean released count of each cell: carry each component's tables."""
        tables = self.tables.copy()
        for axis, law in laws.items():
            size = len(law.diagonal)
            tables[axis, :size] = law.carry(tables[axis, :size], 0)
        return self.n * cell_probabilities(cells, tables, self.weights)

    def criteria(self, table: CrossClassification, fraction: float) -> FitCriteria | None:  # noqa: ARG002  # the criteria are for log-linear models
        """Return None: the criteria are for log-linear models."""
        return None


def cell_probabilities(cells: Codes, tables: Floats, weights: Floats) -> Floats:
    """Return the probability of each cell under a mixture of products."""
    from pramble.risk.membership_kernels import mixture_probabilities

    out = np.empty(len(cells))
    mixture_probabilities(cells, np.ascontiguousarray(tables), weights, out)
    return out

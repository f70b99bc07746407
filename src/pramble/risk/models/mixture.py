"""A finite mixture of products: what draws of the membership model leave to be used later."""

from collections.abc import Sequence

import numpy as np

from pramble.risk.models.base import CellMeans, Codes, Margin, Operators, Together
from pramble.risk.models.loglinear import single_axes
from pramble.values import Floats, value


@value(eq=False)
class MixtureMeans(CellMeans):
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

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Every key by itself."""
        return single_axes(len(self.tables))

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        return self.n * cell_probabilities(cells, self.tables, self.weights)

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        """Return the mean released count of each cell: each component's tables move."""
        tables = self.tables.copy()
        for axis, operator in operators.items():
            size = operator.shape[0]
            tables[axis, :size] = operator.apply(tables[axis, :size].T).T
        return MixtureMeans(self.n, tables, self.weights).means(cells)

    def over(self, keys: Sequence[Together]) -> "MixtureMeans":
        """Return the means over some keys alone: products of their tables."""
        tables = np.zeros((len(keys), max(key.count for key in keys), len(self.weights)))
        for place, key in enumerate(keys):
            table = np.ones((1, len(self.weights)))
            for axis, size in zip(key.axes, key.sizes, strict=True):
                table = (table[:, None] * self.tables[axis, :size]).reshape(-1, len(self.weights))
            tables[place, : key.count] = key.sums(table)
        return MixtureMeans(self.n, tables, self.weights)


def cell_probabilities(cells: Codes, tables: Floats, weights: Floats) -> Floats:
    """Return the probability of each cell under a mixture of products."""
    from pramble.risk.models.membership_kernels import mixture_probabilities

    out = np.empty(len(cells))
    codes = np.array(cells, dtype=np.int32)
    mixture_probabilities(codes, np.ascontiguousarray(tables), weights, out)
    return out

"""Log-linear Poisson models of the sample counts, over all possible cells."""

import math
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from pramble.data.table import Crosstab
from pramble.limits import MOST_CELLS
from pramble.risk.models.base import CellMeans, Codes, Margin, Operators, Sample, Together
from pramble.risk.models.criteria import FitCriteria, fit_criteria
from pramble.risk.models.listed import proportional_fit
from pramble.risk.models.support import possible_cells
from pramble.values import Floats, value

PIECE = 2**18


@value(eq=False)
class IndependentMeans(CellMeans):
    r"""Main effects only: :math:`\mu_k = n \prod_j n_{j,k_j}/n`, closed form and no grid."""

    n: int
    shares: tuple[Floats, ...]

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Every key by itself."""
        return single_axes(len(self.shares))

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        means = np.full(len(cells), float(self.n))
        for axis, share in enumerate(self.shares):
            means *= share[cells[:, axis]]
        return means

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        """Return the mean released count of each cell: each margin moves by itself."""
        released = tuple(
            operators[axis].apply(share) if axis in operators else share
            for axis, share in enumerate(self.shares)
        )
        return IndependentMeans(self.n, released).means(cells)

    def over(self, keys: Sequence[Together]) -> "IndependentMeans":
        """Return the means over some keys alone: products of their shares."""
        shares = []
        for key in keys:
            share = np.ones(1)
            for axis in key.axes:
                share = np.multiply.outer(share, self.shares[axis]).ravel()
            shares.append(key.sums(share))
        return IndependentMeans(self.n, tuple(shares))

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria | None:
        """Scan all cells as empty, a piece at a time, then put right the occupied ones."""
        if math.prod(table.shape) > MOST_CELLS:
            return None
        tail = len(self.shares)
        while tail and math.prod(len(share) for share in self.shares[tail - 1 :]) <= PIECE:
            tail -= 1
        piece = np.ones(1)
        for share in self.shares[tail:]:
            piece = np.multiply.outer(piece, share).ravel()
        zeros = np.zeros(len(piece))
        total = FitCriteria(0.0, 0.0, 0.0, 0.0)
        for head in product(*self.shares[:tail]):
            total += fit_criteria(zeros, self.n * math.prod(head) * piece, fraction)
        means = self.means(table.cells)
        occupied = fit_criteria(table.counts.astype(np.float64), means, fraction)
        empty = fit_criteria(np.zeros(len(means)), means, fraction)
        return FitCriteria(
            total.B1 + occupied.B1 - empty.B1, total.B2 + occupied.B2 - empty.B2, total.v1, total.v2
        )


def fit_independence(table: Crosstab) -> IndependentMeans:
    """Return the main-effects model in closed form."""
    shares = (table.array(axes=[axis]) / table.n for axis in range(len(table.columns)))
    return IndependentMeans(table.n, tuple(shares))


def fit_margins(sample: Sample, margins: Iterable[Margin]) -> CellMeans:
    """Return the log-linear model that reproduces the given margins."""
    generators = maximal(margins, dimension=len(sample.table.columns))
    if not sample.rules and all(len(margin) == 1 for margin in generators):
        return fit_independence(sample.table)
    cells = possible_cells(sample.table, generators, rules=sample.rules)
    return proportional_fit(sample.table, cells, margins=generators, clock=sample.clock)


def single_axes(dimension: int) -> tuple[Margin, ...]:
    """Return every axis by itself."""
    return tuple((axis,) for axis in range(dimension))


def maximal(margins: Iterable[Margin], *, dimension: int) -> tuple[Margin, ...]:
    """Return the margins that no other contains, with every axis in at least one.

    >>> maximal([(1, 0), (0,)], dimension=3)
    ((2,), (0, 1))
    """
    given = {tuple(sorted(set(margin))) for margin in margins} | set(single_axes(dimension))
    largest = [m for m in given if not any(set(m) < set(other) for other in given)]
    return tuple(sorted(largest, key=lambda margin: (len(margin), margin)))

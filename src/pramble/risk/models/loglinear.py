"""Log-linear Poisson models of the sample counts, over all possible cells."""

import math
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from pramble.data.crosstab import Crosstab, group
from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS
from pramble.mechanisms.operators.axes import apply_axes
from pramble.risk.models.base import CellMeans, Codes, Margin, Operators, Sample
from pramble.risk.models.criteria import FitCriteria, fit_criteria
from pramble.risk.models.proportional import proportional_fit
from pramble.risk.models.support import locate, possible_cells
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


@value(eq=False)
class ListedMeans(CellMeans):
    """Means over an explicit list of cells, from so many sweeps; all other cells have mean 0."""

    shape: tuple[int, ...]
    cells: Codes
    values: Floats
    generators: tuple[Margin, ...]
    sweeps: int
    deviation: float

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins that were fitted."""
        return self.generators

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        place = locate(self.cells, cells, self.shape)
        return np.where(place >= 0, self.values[place], 0.0)

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        r"""Return the mean released count of each cell.

        M is a Kronecker product, the identity on keys that are not randomised: cells are gathered
        into one array per combination of those keys, whose other axes the operators act on.
        """
        moving = sorted(operators)
        still = [axis for axis in range(len(self.shape)) if axis not in operators]
        both = np.concatenate([cells, self.cells])
        still_sizes = [self.shape[axis] for axis in still]
        member, _ = group(list(both[:, still].T), still_sizes, rows=len(both))
        blocks, wanted = np.unique(member[: len(cells)], return_inverse=True)
        sizes = (len(blocks), *(self.shape[axis] for axis in moving))
        refuse_large_block(sizes)
        place = np.searchsorted(blocks, member[len(cells) :])
        inside = blocks[np.minimum(place, len(blocks) - 1)] == member[len(cells) :]
        array = np.zeros(sizes)
        array[(place[inside], *self.cells[inside][:, moving].T)] = self.values[inside]
        array = apply_axes([operators[axis] for axis in moving], array)
        return np.asarray(array[(wanted, *cells[:, moving].T)], dtype=np.float64)

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria:
        """Return the criteria of fit, over the cells with a positive mean."""
        return fit_criteria(counts_over(self.cells, table), self.values, fraction)


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
    return fit_listed(sample, cells, margins=generators)


def fit_listed(
    sample: Sample, cells: Codes, *, margins: tuple[Margin, ...], start: Floats | None = None
) -> ListedMeans:
    """Return the log-linear model over some cells, which all others are structural zeros to."""
    found = proportional_fit(sample.table, cells, margins=margins, start=start, clock=sample.clock)
    return ListedMeans(
        sample.table.shape, cells, found.means, margins, found.sweeps, found.deviation
    )


def counts_over(cells: Codes, table: Crosstab) -> Floats:
    """Return the sample counts over a list of cells that holds every class."""
    counts = np.zeros(len(cells))
    counts[locate(cells, table.cells, table.shape)] = table.counts
    return counts


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


def refuse_large_block(sizes: Sequence[int]) -> None:
    """Raise when the released counts span too many cells."""
    if math.prod(sizes) > MOST_CELLS:
        raise InvalidInput(
            f"The released counts span {math.prod(sizes):,} cells, more than {MOST_CELLS:,}; "
            'use model="independence", which needs no grid, or randomise fewer keys at a time.'
        )

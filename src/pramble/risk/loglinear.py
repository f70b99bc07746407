"""Log-linear Poisson models of the sample counts, over all possible cells."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from pramble.errors import InvalidInput
from pramble.risk.cells import CrossClassification, group
from pramble.risk.fit_criteria import FitCriteria, fit_criteria
from pramble.risk.fitting import Progress, proportional_fit
from pramble.risk.laws import ColumnLaw
from pramble.risk.structural_zeros import Forbidden
from pramble.risk.support import Codes, Margin, locate, possible_cells
from pramble.values import Floats

LARGEST_SCAN = 50_000_000
LARGEST_BLOCK = 60_000_000
PIECE = 2**18


class Fit(ABC):
    r"""Fitted sample means :math:`\mu = \pi\lambda` of every cell."""

    @abstractmethod
    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""

    @abstractmethod
    def released_means(self, cells: Codes, laws: Mapping[int, ColumnLaw]) -> Floats:
        r"""Return the mean released counts :math:`\tilde\mu_j = \sum_k \mu_k M_{kj}`."""

    @abstractmethod
    def criteria(self, table: CrossClassification, fraction: float) -> FitCriteria | None:
        """Return the criteria of fit; None when there are too many cells to scan."""


@dataclass(frozen=True)
class IndependenceFit(Fit):
    r"""Main effects only: :math:`\mu_k = n \prod_j n_{j,k_j}/n`, closed form and no grid."""

    n: int
    shares: tuple[Floats, ...]

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        return self._product(self.shares, cells)

    def released_means(self, cells: Codes, laws: Mapping[int, ColumnLaw]) -> Floats:
        """Return the mean released count of each cell: carry each margin by itself."""
        carried = [
            laws[axis].carry(share, 0) if axis in laws else share
            for axis, share in enumerate(self.shares)
        ]
        return self._product(carried, cells)

    def criteria(self, table: CrossClassification, fraction: float) -> FitCriteria | None:
        """Scan all cells as empty, a piece at a time, then put right the occupied ones."""
        if table.cells > LARGEST_SCAN:
            return None
        tail = len(self.shares)
        while tail and math.prod(len(share) for share in self.shares[tail - 1 :]) <= PIECE:
            tail -= 1
        piece = _outer(self.shares[tail:])
        zeros = np.zeros(len(piece))
        total = FitCriteria(0.0, 0.0, 0.0, 0.0)
        for head in product(*self.shares[:tail]):
            total += fit_criteria(zeros, self.n * math.prod(head) * piece, fraction)
        means = self.means(table.classes)
        occupied = fit_criteria(table.counts.astype(np.float64), means, fraction)
        empty = fit_criteria(np.zeros(len(means)), means, fraction)
        return FitCriteria(
            total.B1 + occupied.B1 - empty.B1, total.B2 + occupied.B2 - empty.B2, total.v1, total.v2
        )

    def _product(self, shares: Sequence[Floats], cells: Codes) -> Floats:
        means = np.full(len(cells), float(self.n))
        for axis, share in enumerate(shares):
            means *= share[cells[:, axis]]
        return means


@dataclass(frozen=True)
class SupportFit(Fit):
    """Means over an explicit list of cells; all other cells have mean 0."""

    shape: tuple[int, ...]
    cells: Codes
    values: Floats
    margins: tuple[Margin, ...]
    sweeps: int
    deviation: float

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        place = locate(self.cells, cells, self.shape)
        return np.where(place >= 0, self.values[place], 0.0)

    def released_means(self, cells: Codes, laws: Mapping[int, ColumnLaw]) -> Floats:
        r"""Return the mean released count of each cell.

        M is a Kronecker product, the identity on keys that are not randomised: cells are gathered
        into one array per combination of those keys, and each randomised axis is carried in turn.
        """
        moving = sorted(laws)
        still = [axis for axis in range(len(self.shape)) if axis not in laws]
        both = np.concatenate([cells, self.cells])
        member, _ = group(list(both[:, still].T), [self.shape[axis] for axis in still])
        member = member if still else np.zeros(len(both), dtype=np.int64)
        blocks, wanted = np.unique(member[: len(cells)], return_inverse=True)
        sizes = (len(blocks), *(self.shape[axis] for axis in moving))
        _refuse_large_block(sizes)
        place = np.searchsorted(blocks, member[len(cells) :])
        inside = blocks[np.minimum(place, len(blocks) - 1)] == member[len(cells) :]
        array = np.zeros(sizes)
        array[(place[inside], *self.cells[inside][:, moving].T)] = self.values[inside]
        for position, axis in enumerate(moving, start=1):
            array = laws[axis].carry(array, position)
        return np.asarray(array[(wanted, *cells[:, moving].T)], dtype=np.float64)

    def criteria(self, table: CrossClassification, fraction: float) -> FitCriteria | None:
        """Return the criteria of fit, over the cells with a positive mean."""
        counts = np.zeros(len(self.cells))
        counts[locate(self.cells, table.classes, self.shape)] = table.counts
        return fit_criteria(counts, self.values, fraction)


def fit_independence(table: CrossClassification) -> IndependenceFit:
    """Return the main-effects model in closed form."""
    shares = tuple(table.margin([axis]) / table.n for axis in range(len(table.keys)))
    return IndependenceFit(table.n, shares)


def fit_margins(
    table: CrossClassification,
    margins: Iterable[Margin],
    *,
    rules: Sequence[Forbidden] = (),
    progress: Progress | None = None,
) -> Fit:
    """Return the log-linear model that reproduces the given margins."""
    generators = maximal(margins, dimension=len(table.keys))
    if not rules and all(len(margin) == 1 for margin in generators):
        return fit_independence(table)
    cells = possible_cells(table, generators, rules=rules)
    fitted = proportional_fit(table, cells, margins=generators, progress=progress)
    return SupportFit(table.shape, cells, fitted.means, generators, fitted.sweeps, fitted.deviation)


def two_way(dimension: int) -> tuple[Margin, ...]:
    """Return all pairs of axes."""
    return tuple(combinations(range(dimension), 2)) if dimension > 1 else ((0,),)


def maximal(margins: Iterable[Margin], *, dimension: int) -> tuple[Margin, ...]:
    """Return the margins that no other contains, with every axis in at least one.

    >>> maximal([(1, 0), (0,)], dimension=3)
    ((2,), (0, 1))
    """
    given = {tuple(sorted(set(margin))) for margin in margins} | {(a,) for a in range(dimension)}
    largest = [m for m in given if not any(set(m) < set(other) for other in given)]
    return tuple(sorted(largest, key=lambda margin: (len(margin), margin)))


def _outer(shares: Sequence[Floats]) -> Floats:
    table = np.ones(1)
    for share in shares:
        table = np.multiply.outer(table, share).ravel()
    return table


def _refuse_large_block(sizes: Sequence[int]) -> None:
    if math.prod(sizes) > LARGEST_BLOCK:
        raise InvalidInput(
            f"The released counts span {math.prod(sizes):,} cells, more than {LARGEST_BLOCK:,}; "
            'use model="independence", which needs no grid, or randomise fewer keys at a time.'
        )

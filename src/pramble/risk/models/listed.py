"""Means over an explicit list of cells, by iterative proportional fitting.

The cells are those that a log-linear model can give a positive mean: enumerated, never a whole
grid.
"""

import math
from collections.abc import Sequence

import numpy as np

from pramble.data.table import Crosstab, group, totals
from pramble.errors import InvalidInput, NotConverged
from pramble.information.proportional import fit_listed, margin_places
from pramble.information.structural_zeros import StructuralZero
from pramble.limits import MOST_CELLS, MOST_MODEL_BYTES
from pramble.mechanisms.operators.base import apply_axes
from pramble.risk.models.base import CellMeans, Codes, Margin, Operators, Together
from pramble.risk.models.diagnostics import FitCriteria, Intervals, fit_criteria
from pramble.risk.models.spread import (
    MOST_PARAMETERS,
    Spread,
    Uniques,
    covariance_of,
    intervals,
)
from pramble.values import Clock, Floats, Integers, value


def possible_cells(
    table: Crosstab,
    margins: Sequence[Margin],
    *,
    rules: Sequence[StructuralZero] = (),
    limit: int | None = None,
) -> Codes:
    """Return the codes of all cells whose every fitted margin is positive and no rule forbids.

    Keys are joined one by one; a partial cell is dropped as soon as an observed margin over the
    keys joined so far is 0, since its fitted mean is then 0 in every extension.

    Examples
    --------
    >>> from pramble.data.crosstab import crosstab
    >>> from pramble.data.open import open_records
    >>> table = crosstab(open_records({"a": [0, 0, 1], "b": [0, 1, 1]}), ["a", "b"])
    >>> possible_cells(table, [(0, 1)])
    array([[0, 0],
           [0, 1],
           [1, 1]], dtype=int32)
    """
    if limit is None:  # 4 bytes for each key and margin, and 24 for the means
        limit = MOST_MODEL_BYTES // (4 * len(table.columns) + 4 * len(margins) + 24)
    observed = {margin: table.array(axes=margin) > 0 for margin in margins}
    cells = np.zeros((1, 0), dtype=np.int32)
    for axis, size in enumerate(table.shape):
        _refuse_too_many(len(cells) * size, table, limit=limit)
        joined = np.tile(np.arange(size, dtype=np.int32), len(cells))
        cells = np.column_stack([np.repeat(cells, size, axis=0), joined])
        keep = np.ones(len(cells), dtype=bool)
        for margin, positive in observed.items():
            if max(margin) == axis:
                keep &= positive[tuple(cells[:, list(margin)].T)]
        for rule in rules:
            if max(rule.masks) == axis:
                keep &= ~rule.holds(cells)
        cells = cells[keep]
    return np.ascontiguousarray(cells)


def locate(cells: Codes, wanted: Codes, shape: Sequence[int]) -> Integers:
    """Return where each wanted cell stands among the cells; −1 where it does not.

    >>> cells = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> locate(cells, cells[::-1], (2, 2))
    array([1, 0])
    """
    both = np.concatenate([cells, wanted])
    member, _ = group(list(both.T), shape, rows=len(both))
    place = np.full(int(member.max(initial=0)) + 1, -1, dtype=np.int64)
    place[member[: len(cells)]] = np.arange(len(cells))
    return place[member[len(cells) :]]


def _refuse_too_many(found: int, table: Crosstab, *, limit: int) -> None:
    if found > limit:
        raise InvalidInput(
            f"The model spans more than the {limit:,} cells that memory is set aside for (of "
            f"{math.prod(table.shape):,} combinations of the key levels); use "
            'model="independence", which needs no grid, coarser levels, or fewer keys.'
        )


TOLERANCE = 1e-8
CLOSE = 0.01
SWEEPS = 2000


@value(eq=False)
class ListedMeans(CellMeans):
    """Means of some cells, from so many sweeps, with margins off so far; all others have mean 0.

    With a ``spread`` that is needed, cells vary around them.
    """

    shape: tuple[int, ...]
    cells: Codes
    values: Floats
    generators: tuple[Margin, ...]
    sweeps: int
    deviation: float
    spread: Spread | None = None

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins that were fitted."""
        return self.generators

    def means(self, cells: Codes) -> Floats:
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
        if math.prod(sizes) > MOST_CELLS:
            raise InvalidInput(
                f"The released counts span {math.prod(sizes):,} cells, more than {MOST_CELLS:,}; "
                'use model="independence", which needs no grid, or randomise fewer keys at a time.'
            )
        place = np.searchsorted(blocks, member[len(cells) :])
        inside = blocks[np.minimum(place, len(blocks) - 1)] == member[len(cells) :]
        array = np.zeros(sizes)
        array[(place[inside], *self.cells[inside][:, moving].T)] = self.values[inside]
        array = apply_axes([operators[axis] for axis in moving], array)
        return np.asarray(array[(wanted, *cells[:, moving].T)], dtype=np.float64)

    def over(self, keys: Sequence[Together]) -> "ListedMeans":
        """Return the means over some keys alone; the spread is that of cells with such means."""
        codes = np.stack([key.codes(self.cells) for key in keys], axis=1)
        inside = (codes >= 0).all(axis=1)
        shape = tuple(key.count for key in keys)
        member, first = group(list(codes[inside].T), list(shape), rows=int(inside.sum()))
        values = totals(member, self.values[inside], len(first))
        cells = codes[inside][first].astype(self.cells.dtype)
        return ListedMeans(shape, cells, values, (), self.sweeps, self.deviation, self.spread)

    def shapes(self, means: Floats) -> Floats | None:
        """Return the shapes of the spread, if it is needed."""
        return self.spread.shapes(means) if self.spread is not None and self.spread.needed else None

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria:
        """Return the criteria of fit, over the cells with a positive mean."""
        return fit_criteria(self.observed(table), self.values, fraction)

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:
        """Return intervals of τ1 and τ2, where a spread was fitted and margins are not too many."""
        sizes = [math.prod(self.shape[axis] for axis in margin) for margin in self.generators]
        if self.spread is None or sum(sizes) > MOST_PARAMETERS:
            return None
        alone = np.flatnonzero(table.counts == 1)
        chosen = locate(self.cells, table.cells[alone], self.shape)
        starts = np.cumsum([0, *sizes[:-1]])[:, None]
        places = margin_places(self.cells, self.generators, self.shape) + starts
        covariance = covariance_of(places, self.values, size=sum(sizes))
        uniques = Uniques(
            self.values[chosen],
            fraction[alone],
            np.ascontiguousarray(places[:, chosen]),
            covariance,
            self.spread,
        )
        return intervals(uniques)

    def observed(self, table: Crosstab) -> Floats:
        """Return the sample count of each cell."""
        counts = np.zeros(len(self.cells))
        counts[locate(self.cells, table.cells, table.shape)] = table.counts
        return counts


def proportional_fit(
    table: Crosstab,
    cells: Codes,
    *,
    margins: Sequence[Margin],
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    clock: Clock | None = None,
) -> ListedMeans:
    r"""Return the maximum likelihood means of a log-linear Poisson model over the cells.

    .. math:: \max_\mu \sum_k f_k \log\mu_k - \mu_k, \qquad
        \log\mu \in \operatorname{span}\{\text{indicators of the margins}\},

    whose solution reproduces every observed margin. Each sweep scales the means to one margin after
    the other; it ends when no margin cell is off by more than ``tolerance`` times n. Where the
    likelihood has its supremum only as some means tend to 0, sweeps close in slowly; after 2,000 a
    hundredth of a record is close enough.

    ``cells`` are the possible ones, all others structural zeros; ``start`` are means inside the
    model to start from.
    """
    totals = [table.array(axes=margin) for margin in margins]
    places = margin_places(cells, margins, table.shape)
    means = np.ones(len(cells)) if start is None else start.copy()
    allowed = tolerance * table.n
    swept = fit_listed(means, places, totals, close=allowed, sweeps=SWEEPS, clock=clock)
    if swept.deviation > max(allowed, CLOSE):
        raise NotConverged(
            f"The log-linear fit must reach its margins within {CLOSE} records; after {SWEEPS} "
            f"sweeps it is off by {swept.deviation:.3g}. Drop an interaction, or merge rare levels."
        )
    return ListedMeans(table.shape, cells, means, tuple(margins), swept.sweeps, swept.deviation)

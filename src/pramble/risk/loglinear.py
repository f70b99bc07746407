"""Log-linear Poisson models of the sample counts, over all possible cells.

By main effects in closed form; else over an explicit list of cells by iterative proportional
fitting: those that the model can give a positive mean, enumerated, never a whole grid. The margins
are all pairs of keys.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from pramble.data.crosstab import Crosstab, group, totals
from pramble.errors import InvalidInput, NotConverged
from pramble.information.proportional import fit_listed, margin_places
from pramble.information.structural_zeros import StructuralZero
from pramble.limits import MOST_CELLS, MOST_MODEL_BYTES
from pramble.mechanisms.operators.base import apply_axes
from pramble.risk.models import (
    CellMeans,
    Codes,
    FittedModel,
    Intervals,
    JointKey,
    Operators,
    Sample,
)
from pramble.risk.spread import (
    MOST_PARAMETERS,
    Spread,
    Uniques,
    fit_spread,
    margin_covariance,
    tau_intervals,
)
from pramble.values import Floats, Integers, frozen

# The keys of a fitted margin, by their place.
Margin = tuple[int, ...]


@frozen(eq=False)
class IndependentMeans(CellMeans):
    r"""Main effects only: :math:`\mu_k = n \prod_j n_{j,k_j}/n`, closed form and no grid."""

    n: int
    shares: tuple[Floats, ...]

    def means(self, cells: Codes) -> Floats:
        means = np.full(len(cells), float(self.n))
        for axis, share in enumerate(self.shares):
            means *= share[cells[:, axis]]
        return means

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        released = tuple(
            operators[axis].apply(share) if axis in operators else share
            for axis, share in enumerate(self.shares)
        )
        return IndependentMeans(self.n, released).means(cells)

    def over(self, keys: Sequence[JointKey]) -> "IndependentMeans":
        shares = []
        for key in keys:
            share = np.ones(1)
            for axis in key.axes:
                share = np.multiply.outer(share, self.shares[axis]).ravel()
            shares.append(key.sums(share))
        return IndependentMeans(self.n, tuple(shares))


def positive_cells(
    table: Crosstab,
    margins: Sequence[Margin],
    *,
    rules: Sequence[StructuralZero] = (),
) -> Codes:
    """Return the codes of all cells whose every fitted margin is positive and no rule forbids.

    Keys are joined one by one; a partial cell is dropped as soon as an observed margin over the
    keys joined so far is 0, since its fitted mean is then 0 in every extension.

    Examples
    --------
    >>> from pramble.data.crosstab import crosstab
    >>> from pramble.data.open import open_records
    >>> table = crosstab(open_records({"a": [0, 0, 1], "b": [0, 1, 1]}), ["a", "b"])
    >>> positive_cells(table, [(0, 1)])
    array([[0, 0],
           [0, 1],
           [1, 1]], dtype=int32)
    """
    # 4 bytes for each key and margin, and 24 for the means
    limit = MOST_MODEL_BYTES // (4 * len(table.columns) + 4 * len(margins) + 24)
    observed = {margin: table.array(axes=margin) > 0 for margin in margins}
    cells = np.zeros((1, 0), dtype=np.int32)
    for axis, size in enumerate(table.shape):
        if len(cells) * size > limit:
            raise InvalidInput(
                f"The model spans more than the {limit:,} cells that memory is set aside for (of "
                f"{math.prod(table.shape):,} combinations of the key levels); use "
                'model="independence", which needs no grid, coarser levels, or fewer keys.'
            )
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


# Margins are met to this share of n; where means tend to 0 sweeps close in slowly, and after so
# many of them a hundredth of a record is close enough.
TOLERANCE, SWEEPS, CLOSE = 1e-8, 2000, 0.01


@frozen(eq=False)
class ListedMeans(CellMeans):
    """Means of some cells, which may vary around them by a ``spread``; all others have mean 0."""

    shape: tuple[int, ...]
    cells: Codes
    values: Floats
    generators: tuple[Margin, ...]
    spread: Spread | None = None

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

    def over(self, keys: Sequence[JointKey]) -> "ListedMeans":
        codes = np.stack([key.codes(self.cells) for key in keys], axis=1)
        inside = (codes >= 0).all(axis=1)
        shape = tuple(key.count for key in keys)
        member, first = group(list(codes[inside].T), list(shape), rows=int(inside.sum()))
        values = totals(member, self.values[inside], len(first))
        cells = codes[inside][first].astype(self.cells.dtype)
        return ListedMeans(shape, cells, values, (), self.spread)

    def shapes(self, means: Floats) -> Floats | None:
        return self.spread.shapes(means) if self.spread is not None and self.spread.needed else None

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:
        sizes = [math.prod(self.shape[axis] for axis in margin) for margin in self.generators]
        if self.spread is None or sum(sizes) > MOST_PARAMETERS:
            return None
        alone = np.flatnonzero(table.counts == 1)
        chosen = locate(self.cells, table.cells[alone], self.shape)
        starts = np.cumsum([0, *sizes[:-1]])[:, None]
        places = margin_places(self.cells, self.generators, self.shape) + starts
        covariance = margin_covariance(places, self.values, size=sum(sizes))
        means = self.values[chosen]
        uniques = Uniques(means, fraction[alone], places[:, chosen], covariance, self.spread)
        return tau_intervals(uniques)

    def observed(self, table: Crosstab) -> Floats:
        counts = np.zeros(len(self.cells))
        counts[locate(self.cells, table.cells, table.shape)] = table.counts
        return counts


def fit_margins(sample: Sample, keys: int) -> CellMeans:
    r"""Return the fit that reproduces the margins of so many keys, or of all if there are fewer.

    .. math:: \max_\mu \sum_k f_k \log\mu_k - \mu_k, \qquad
        \log\mu \in \operatorname{span}\{\text{indicators of the margins}\}.
    """
    table = sample.table
    dimension = len(table.columns)
    margins = tuple(combinations(range(dimension), min(keys, dimension)))
    if not sample.rules and (keys == 1 or dimension == 1):
        shares = (table.array(axes=[axis]) / table.n for axis in range(dimension))
        return IndependentMeans(table.n, tuple(shares))
    cells = positive_cells(table, margins, rules=sample.rules)
    wanted = [table.array(axes=margin) for margin in margins]
    places = margin_places(cells, margins, table.shape)
    means = np.ones(len(cells))
    allowed = TOLERANCE * table.n
    swept = fit_listed(
        means, places, wanted, close=allowed, sweeps=SWEEPS, reporter=sample.reporter
    )
    if swept.deviation > max(allowed, CLOSE):
        raise NotConverged(
            f"The log-linear fit must reach its margins within {CLOSE} records; after {SWEEPS} "
            f"sweeps it is off by {swept.deviation:.3g}. Drop a key, or merge rare levels."
        )
    return ListedMeans(table.shape, cells, means, margins)


def fit_independence(sample: Sample) -> FittedModel:
    return FittedModel(fit_margins(sample, 1), "main effects alone")


def fit_two_way(sample: Sample) -> FittedModel:
    """Fit all pairs of keys, and let cells vary around what the pairs say.

    Two keys at a time are not the whole truth, and a model that underfits overstates the risk. So a
    random effect of cells (:mod:`pramble.risk.spread`) is fitted too, and taken where the
    likelihood asks for it.
    """
    means = fit_margins(sample, 2)
    if not isinstance(means, ListedMeans):
        return FittedModel(means, "all pairs of keys")
    spread = fit_spread(means.observed(sample.table), means.values)
    reason = "all pairs of keys"
    if spread.needed:
        reason += (
            "; cells vary more than the interactions explain (a random effect gains "
            f"{spread.gain:.1f} in log-likelihood and is taken)"
        )
    return FittedModel(replace(means, spread=spread), reason)

"""Log-linear Poisson models of the sample counts, over all possible cells.

By main effects in closed form; else over an explicit list of cells by iterative proportional
fitting: those that the model can give a positive mean, enumerated, never a whole grid. The margins
are all pairs of keys, those that the caller names, or found by a forward search.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from typing import ClassVar

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
    FitCriteria,
    FittedModel,
    Intervals,
    JointKey,
    Margin,
    Operators,
    RiskModel,
    Sample,
    fit_criteria,
)
from pramble.risk.spread import (
    MOST_PARAMETERS,
    Spread,
    Uniques,
    fit_spread,
    margin_covariance,
    tau_intervals,
)
from pramble.values import Clock, Floats, Integers, names_of, value

PIECE = 2**18


@value(eq=False)
class IndependentMeans(CellMeans):
    r"""Main effects only: :math:`\mu_k = n \prod_j n_{j,k_j}/n`, closed form and no grid."""

    n: int
    shares: tuple[Floats, ...]

    @property
    def margins(self) -> tuple[Margin, ...]:
        return single_axes(len(self.shares))

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

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria | None:
        if math.prod(table.shape) > MOST_CELLS:
            return None
        # All cells are scanned as if empty, in pieces; then the occupied ones are corrected.
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


def positive_cells(
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
    >>> positive_cells(table, [(0, 1)])
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

    def over(self, keys: Sequence[JointKey]) -> "ListedMeans":
        codes = np.stack([key.codes(self.cells) for key in keys], axis=1)
        inside = (codes >= 0).all(axis=1)
        shape = tuple(key.count for key in keys)
        member, first = group(list(codes[inside].T), list(shape), rows=int(inside.sum()))
        values = totals(member, self.values[inside], len(first))
        cells = codes[inside][first].astype(self.cells.dtype)
        return ListedMeans(shape, cells, values, (), self.sweeps, self.deviation, self.spread)

    def shapes(self, means: Floats) -> Floats | None:
        return self.spread.shapes(means) if self.spread is not None and self.spread.needed else None

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria:
        return fit_criteria(self.observed(table), self.values, fraction)

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:
        sizes = [math.prod(self.shape[axis] for axis in margin) for margin in self.generators]
        if self.spread is None or sum(sizes) > MOST_PARAMETERS:
            return None
        alone = np.flatnonzero(table.counts == 1)
        chosen = locate(self.cells, table.cells[alone], self.shape)
        starts = np.cumsum([0, *sizes[:-1]])[:, None]
        places = margin_places(self.cells, self.generators, self.shape) + starts
        covariance = margin_covariance(places, self.values, size=sum(sizes))
        uniques = Uniques(
            self.values[chosen],
            fraction[alone],
            np.ascontiguousarray(places[:, chosen]),
            covariance,
            self.spread,
        )
        return tau_intervals(uniques)

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


def fit_independence(table: Crosstab) -> IndependentMeans:
    """Return the main-effects model in closed form."""
    shares = (table.array(axes=[axis]) / table.n for axis in range(len(table.columns)))
    return IndependentMeans(table.n, tuple(shares))


def fit_margins(sample: Sample, margins: Iterable[Margin]) -> CellMeans:
    """Return the log-linear model that reproduces the given margins."""
    generators = maximal(margins, dimension=len(sample.table.columns))
    if not sample.rules and all(len(margin) == 1 for margin in generators):
        return fit_independence(sample.table)
    cells = positive_cells(sample.table, generators, rules=sample.rules)
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


@value
class MainEffects(RiskModel):
    """Keys are independent of each other, but for structural zeros."""

    name: ClassVar[str] = "independence"
    summary: ClassVar[str] = "main effects, in closed form, for any number of cells"

    def fit(self, sample: Sample) -> FittedModel:
        """Return the main effects."""
        return FittedModel(fit_margins(sample, ()), "main effects alone")


PAIRS = "all pairs of keys"


@value
class TwoWay(RiskModel):
    """Every pair of keys may interact, and cells may vary around what the pairs say.

    Two keys at a time are not the whole truth, and a model that underfits overstates the risk. So a
    random effect of cells (:mod:`pramble.risk.spread`) is fitted too, and taken where the
    likelihood asks for it.
    """

    name: ClassVar[str] = "two-way"
    summary: ClassVar[str] = (
        "all two-way interactions, with a random effect of cells where they do not suffice"
    )

    def fit(self, sample: Sample) -> FittedModel:
        table = sample.table
        means = fit_margins(sample, combinations(range(len(table.columns)), 2))
        if not isinstance(means, ListedMeans):
            return FittedModel(means, PAIRS)
        spread = fit_spread(means.observed(table), means.values)
        reason = PAIRS
        if spread.needed:
            reason += (
                "; cells vary more than the interactions explain (a random effect gains "
                f"{spread.gain:.1f} in log-likelihood and is taken)"
            )
        return FittedModel(replace(means, spread=spread), reason)


@value
class Margins(RiskModel):
    """The model that reproduces the margins named; other keys enter by their main effects."""

    named: tuple[str | tuple[str, ...], ...]
    name: ClassVar[str] = "margins"
    summary: ClassVar[str] = "those; keys in none of them enter by their main effects"

    def fit(self, sample: Sample) -> FittedModel:
        keys = sample.table.columns
        named = [names_of(margin) for margin in self.named]
        for name in chain.from_iterable(named):
            if name not in keys:
                raise InvalidInput(f"A margin names {name!r}, which is not among the keys {keys}.")
        axes = [tuple(keys.index(name) for name in margin) for margin in named]
        return FittedModel(fit_margins(sample, axes), "the margins that were named")


SMALL = 1.0
LARGEST_ORDER = 3
LOOSE = 1e-6


@value
class ForwardSearch(RiskModel):
    r"""A log-linear model with small criteria of fit.

    From independence, add at each step the interaction whose margin the model misses most: the
    largest :math:`G^2 - 2\,\mathrm{df}`, :math:`G^2 = 2\sum n \log(n/\mu)` over that margin; pairs
    first, then triples whose pairs are all in, as long as that is positive. Stop as soon as
    :math:`B_1/\sqrt{v_1}` and :math:`B_2/\sqrt{v_2}` are at most 1, or nothing is left to add, and
    take the model met on the way whose larger criterion is nearest to 0.
    """

    name: ClassVar[str] = "search"
    summary: ClassVar[str] = (
        "forward from independence until Skinner and Shlomo's criteria are small"
    )

    def fit(self, sample: Sample) -> FittedModel:
        step = best = first_step(sample)
        taken, why = 0, ""
        while not why:
            candidate = most_missed(sample.table, step)
            if max(step.criteria.standardised) <= SMALL:
                why = "the criteria are small"
            elif candidate is None:
                why = "no further interaction improves the fit"
            else:
                step = with_margin(sample, step, candidate)
                best = min(best, step, key=lambda one: one.misfit)
                taken += 1
                sample.clock.tell("searching", 0.9 * (1 - math.exp(-taken / 20)))
        z1, z2 = best.criteria.standardised
        means = best.means
        last = sample.clock.part(0.9, 0.1)
        return FittedModel(
            proportional_fit(
                sample.table, means.cells, margins=means.margins, start=means.values, clock=last
            ),
            f"{why}: B1/√v1 = {z1:.2f} and B2/√v2 = {z2:.2f}, after adding {taken} interactions to "
            "independence",
        )


@value(eq=False)
class Step:
    """A model on the way, and how well it fits."""

    means: ListedMeans
    criteria: FitCriteria

    @property
    def misfit(self) -> float:
        """The larger standardised criterion, without sign."""
        return max(abs(z) for z in self.criteria.standardised)


def first_step(sample: Sample) -> Step:
    """Return the model of independence, over all cells that are possible."""
    table = sample.table
    margins = maximal([], dimension=len(table.columns))
    cells = positive_cells(table, margins, rules=sample.rules)
    if sample.rules:
        means = proportional_fit(table, cells, margins=margins, tolerance=LOOSE)
    else:
        closed = fit_independence(table).means(cells)
        means = ListedMeans(table.shape, cells, closed, margins, 0, 0.0)
    return Step(means, means.criteria(table, sample.fraction))


def most_missed(table: Crosstab, step: Step) -> Margin | None:
    """Return the interaction with the largest G² − 2 df; None when none is positive."""
    for order in range(2, LARGEST_ORDER + 1):
        gains = {
            margin: margin_gain(table, step.means, margin)
            for margin in candidates(step.means.margins, len(table.columns), order)
        }
        if gains:
            margin = max(gains, key=lambda key: gains[key])
            if order == 2 or gains[margin] > 0:
                return margin
    return None


def candidates(margins: Sequence[Margin], dimension: int, order: int) -> list[Margin]:
    """Return the interactions of an order that can be added: all their parts are in."""

    def inside(part: Margin) -> bool:
        return any(set(part) <= set(margin) for margin in margins)

    return [
        margin
        for margin in combinations(range(dimension), order)
        if not inside(margin) and all(inside(part) for part in combinations(margin, order - 1))
    ]


def margin_gain(table: Crosstab, means: ListedMeans, margin: Margin) -> float:
    """Return G² − 2 df over a margin."""
    observed = table.array(axes=margin)
    index = np.ravel_multi_index(means.cells[:, list(margin)].T, observed.shape)
    fitted = np.bincount(index, weights=means.values, minlength=observed.size)
    seen = observed.ravel() > 0
    counts = observed.ravel()[seen]
    deviance = 2 * float((counts * np.log(counts / fitted[seen])).sum())
    freedom = math.prod(size - 1 for size in observed.shape)
    return deviance - 2.0 * float(freedom)


def with_margin(sample: Sample, step: Step, margin: Margin) -> Step:
    """Return the model with one interaction more."""
    table, before = sample.table, step.means
    keep = (table.array(axes=margin) > 0)[tuple(before.cells[:, list(margin)].T)]
    means = proportional_fit(
        table,
        np.ascontiguousarray(before.cells[keep]),
        margins=maximal([*before.margins, margin], dimension=len(table.columns)),
        start=before.values[keep],
        tolerance=LOOSE,
    )
    return Step(means, means.criteria(table, sample.fraction))

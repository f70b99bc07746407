"""Log-linear Poisson models of the sample counts, over all possible cells.

By main effects, by all pairs of keys, by margins that the caller names, or by a forward search.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS
from pramble.risk.models.base import (
    CellMeans,
    Codes,
    FittedModel,
    Margin,
    Operators,
    RiskModel,
    Sample,
    Together,
)
from pramble.risk.models.diagnostics import FitCriteria, fit_criteria
from pramble.risk.models.listed import ListedMeans, possible_cells, proportional_fit
from pramble.risk.models.spread import fit_spread
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


@value
class Independence(RiskModel):
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
    random effect of cells (:mod:`pramble.risk.models.spread`) is fitted too, and taken where the
    likelihood asks for it.
    """

    name: ClassVar[str] = "two-way"
    summary: ClassVar[str] = (
        "all two-way interactions, with a random effect of cells where they do not suffice"
    )

    def fit(self, sample: Sample) -> FittedModel:
        """Return the fit to all two-way margins, with the random effect of cells."""
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
        groups = [(margin,) if isinstance(margin, str) else tuple(margin) for margin in self.named]
        for name in (name for group in groups for name in group):
            if name not in keys:
                raise InvalidInput(f"A margin names {name!r}, which is not among the keys {keys}.")
        axes = [tuple(keys.index(name) for name in group) for group in groups]
        return FittedModel(fit_margins(sample, axes), "the margins that were named")


SMALL = 1.0
LARGEST_ORDER = 3
LOOSE = 1e-6


@value
class Search(RiskModel):
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
        """Return the model found, and why the search ended."""
        step = best = first_step(sample)
        taken, why = 0, ""
        while not why:
            candidate = most_missed(sample.table, step)
            if max(step.criteria.standardised) <= SMALL:
                why = "the criteria are small"
            elif candidate is None:
                why = "no further interaction improves the fit"
            else:
                step = add_margin(sample, step, candidate)
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
    cells = possible_cells(table, margins, rules=sample.rules)
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
            margin: gain(table, step.means, margin)
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


def gain(table: Crosstab, means: ListedMeans, margin: Margin) -> float:
    """Return G² − 2 df over a margin."""
    observed = table.array(axes=margin)
    index = np.ravel_multi_index(means.cells[:, list(margin)].T, observed.shape)
    fitted = np.bincount(index, weights=means.values, minlength=observed.size)
    seen = observed.ravel() > 0
    counts = observed.ravel()[seen]
    deviance = 2 * float((counts * np.log(counts / fitted[seen])).sum())
    freedom = math.prod(size - 1 for size in observed.shape)
    return deviance - 2.0 * float(freedom)


def add_margin(sample: Sample, step: Step, margin: Margin) -> Step:
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

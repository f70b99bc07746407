"""Forward search for a log-linear model that serves to estimate risk."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from pramble.data.table import Crosstab
from pramble.risk.models.base import FittedModel, Margin, RiskModel, Sample
from pramble.risk.models.criteria import FitCriteria
from pramble.risk.models.listed import ListedMeans, proportional_fit
from pramble.risk.models.loglinear import fit_independence, maximal
from pramble.risk.models.support import possible_cells
from pramble.values import value

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

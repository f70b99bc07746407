"""Forward search for a log-linear model that serves to estimate risk."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pramble.risk.cells import CrossClassification
from pramble.risk.fit_criteria import FitCriteria, fit_criteria
from pramble.risk.fitting import Progress, proportional_fit
from pramble.risk.loglinear import Fit, SupportFit, fit_independence, maximal
from pramble.risk.structural_zeros import Forbidden
from pramble.risk.support import Codes, Margin, locate, possible_cells
from pramble.values import Floats

SMALL = 1.0
LARGEST_ORDER = 3
LOOSE = 1e-6


@dataclass(frozen=True)
class Step:
    """A model on the way: its margins, the cells it spans, their means and counts."""

    margins: tuple[Margin, ...]
    cells: Codes
    means: Floats
    counts: Floats
    criteria: FitCriteria

    @property
    def misfit(self) -> float:
        """The larger standardised criterion, without sign."""
        return max(abs(z) for z in self.criteria.standardised)


def search_model(
    table: CrossClassification,
    *,
    fraction: float,
    rules: Sequence[Forbidden] = (),
    progress: Progress | None = None,
) -> tuple[Fit, str]:
    r"""Return a log-linear model with small criteria of fit, and why it was taken.

    From independence, add at each step the interaction whose margin the model misses most: the
    largest :math:`G^2 - 2\,\mathrm{df}`, :math:`G^2 = 2\sum n \log(n/\mu)` over that margin; pairs
    first, then triples whose pairs are all in, as long as that is positive. Stop as soon as
    :math:`B_1/\sqrt{v_1}` and :math:`B_2/\sqrt{v_2}` are at most 1, or nothing is left to add, and
    take the model met on the way whose larger criterion is nearest to 0.
    """
    step = best = _start(table, fraction=fraction, rules=rules)
    taken = 0
    reason = ""
    while not reason:
        z1, z2 = step.criteria.standardised
        if step.misfit < best.misfit:
            best = step
        candidate = _most_missed(table, step)
        if max(z1, z2) <= SMALL:
            reason = _stopped(best, "the criteria are small")
        elif candidate is None:
            reason = _stopped(best, "no further interaction improves the fit")
        else:
            step = _add(table, step, candidate, fraction=fraction)
            taken += 1
            if progress is not None:
                progress("searching", 1 - math.exp(-taken / 20))
    return _finish(table, best), f"{reason}, after adding {taken} interactions to independence"


def _start(table: CrossClassification, *, fraction: float, rules: Sequence[Forbidden]) -> Step:
    margins = maximal([], dimension=len(table.keys))
    cells = possible_cells(table, margins, rules=rules)
    if rules:
        means = proportional_fit(table, cells, margins=margins, tolerance=LOOSE).means
    else:
        means = fit_independence(table).means(cells)
    counts = np.zeros(len(cells))
    counts[locate(cells, table.classes, table.shape)] = table.counts
    return Step(margins, cells, means, counts, fit_criteria(counts, means, fraction))


def _most_missed(table: CrossClassification, step: Step) -> Margin | None:
    """Return the interaction with the largest G² − 2 df; None when none is positive."""
    for order in range(2, LARGEST_ORDER + 1):
        gains = {
            margin: _gain(table, step, margin) for margin in _candidates(step.margins, table, order)
        }
        if gains:
            margin = max(gains, key=lambda key: gains[key])
            if order == 2 or gains[margin] > 0:
                return margin
    return None


def _candidates(margins: Sequence[Margin], table: CrossClassification, order: int) -> list[Margin]:
    def inside(part: Margin) -> bool:
        return any(set(part) <= set(margin) for margin in margins)

    return [
        margin
        for margin in combinations(range(len(table.keys)), order)
        if not inside(margin) and all(inside(part) for part in combinations(margin, order - 1))
    ]


def _gain(table: CrossClassification, step: Step, margin: Margin) -> float:
    observed = table.margin(margin)
    index = np.ravel_multi_index(step.cells[:, list(margin)].T, observed.shape)
    fitted = np.bincount(index, weights=step.means, minlength=observed.size)
    seen = observed.ravel() > 0
    counts = observed.ravel()[seen]
    deviance = 2 * float((counts * np.log(counts / fitted[seen])).sum())
    freedom = math.prod(size - 1 for size in observed.shape)
    return deviance - 2.0 * float(freedom)


def _add(table: CrossClassification, step: Step, margin: Margin, *, fraction: float) -> Step:
    margins = maximal([*step.margins, margin], dimension=len(table.keys))
    positive = table.margin(margin) > 0
    keep = positive[tuple(step.cells[:, list(margin)].T)]
    cells, counts = np.ascontiguousarray(step.cells[keep]), step.counts[keep]
    means = proportional_fit(
        table, cells, margins=margins, start=step.means[keep], tolerance=LOOSE
    ).means
    return Step(margins, cells, means, counts, fit_criteria(counts, means, fraction))


def _finish(table: CrossClassification, step: Step) -> Fit:
    fitted = proportional_fit(table, step.cells, margins=step.margins, start=step.means)
    return SupportFit(
        table.shape, step.cells, fitted.means, step.margins, fitted.sweeps, fitted.deviation
    )


def _stopped(best: Step, why: str) -> str:
    z1, z2 = best.criteria.standardised
    return f"{why}: B1/√v1 = {z1:.2f} and B2/√v2 = {z2:.2f}"

r"""Tables from a survey: the variance of the sampling design in place of that of independent draws.

A record that was released as z moves the estimate of cell x by :math:`w_i (G_{zx} - p_x)/W`. With
strata and clusters these are summed over clusters (:mod:`pramble.estimation.survey`). With
replicate weights the table is estimated again with each of them, and

.. math:: V = c \sum_r (\hat p_r - \hat p)(\hat p_r - \hat p)^\top .

Both hold what randomisation adds: it is independent from record to record, and so from cluster to
cluster.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pramble.data.open import open_records
from pramble.errors import InvalidInput
from pramble.estimation.follow.result import Estimate
from pramble.estimation.inverse.intervals import errors_within
from pramble.estimation.inverse.layout import Layout
from pramble.estimation.inverse.likelihood import by_inverse
from pramble.estimation.inverse.moments import CellAnswers
from pramble.estimation.inverse.patterns import patterns_of
from pramble.estimation.inverse.sources import RecordSource
from pramble.estimation.inverse.tabulate import plan_of, tabulate
from pramble.estimation.survey import Sampled, Survey
from pramble.values import Floats, value

MOST_CELLS = 1500
"""Cells of a table with the variance of a survey design."""


@value(eq=False)
class SurveyAnswers:
    """What a table answers under a survey design (:mod:`pramble.estimation.inverse.moments`)."""

    base: CellAnswers
    matrix: Floats  # (K, K): the covariance of the cells, sampling and randomisation together

    @property
    def layout(self) -> Layout:
        return self.base.layout

    @property
    def p(self) -> Floats:
        return self.base.p

    @property
    def unbiased(self) -> Floats:
        return self.base.unbiased

    @property
    def squares(self) -> Floats:
        return self.base.squares

    @property
    def sampling(self) -> float:
        """Nothing: the covariance of the design has it."""
        return 0.0

    @property
    def width(self) -> int:
        return len(self.matrix)

    def randomised(self, w: Floats) -> Floats:
        return np.asarray(w @ self.matrix @ w.T)

    def products(self, w: Floats, other: Floats) -> Floats:
        return np.asarray(((w @ self.matrix) * other).sum(axis=1))

    def covariance(self) -> Floats:
        return self.matrix


def surveyed(
    e: Estimate, data: Any, plan: Any, *, sampled: Sampled, weights: Any, reading: Any
) -> Estimate:
    """Return an estimated table with the errors of a survey design."""
    answers = e.covariance_parts
    if not isinstance(answers, CellAnswers) or len(e.values) > MOST_CELLS:
        raise InvalidInput(
            f"strata=, clusters= and replicates= take tables of records with at most "
            f"{MOST_CELLS:,} cells."
        )
    by = list(answers.layout.by)
    if sampled.replicates:
        V = from_replicates(data, plan, by, answers, sampled=sampled, reading=reading)
    else:
        V = from_design(data, plan, by, answers, sampled=sampled, weights=weights, reading=reading)
    moments = answers.moments
    lower, upper = moments.intervals(
        answers.centre, level=e.level, variances=answers.layout.unflatten(np.diag(V).copy())
    )
    errors = np.sqrt(np.maximum(np.diag(V), 0.0))
    if e.method == "mle":
        errors = errors_within(e.values, errors, answers.layout.flatten(moments.noise()))
    return replace(
        e,
        standard_errors=errors,
        lower=answers.layout.flatten(lower),
        upper=answers.layout.flatten(upper),
        covariance_parts=SurveyAnswers(answers, V),
    )


def from_design(
    data: Any,
    plan: Any,
    by: Sequence[str],
    answers: CellAnswers,
    *,
    sampled: Sampled,
    weights: Any,
    reading: Any,
) -> Floats:
    """Return the covariance of the cells from strata and clusters, in the order of the table."""
    patterns = patterns_of(
        open_records(data, reading),
        plan_of(plan, by),
        by=by,
        beside=sampled.columns,
        weights=weights,
        missing=True,
    )
    source = RecordSource(patterns, Survey.of(patterns, sampled))
    p, size = answers.centre.reshape(-1), patterns.size
    assert len(p) == len(patterns.groups) * size, "both have the same cells"

    def deviations(some: slice) -> Floats:
        found = np.broadcast_to(-p, (some.stop - some.start, size, len(p))).copy()
        for g in range(some.start, some.stop):
            found[g - some.start, :, g * size : (g + 1) * size] += np.eye(size)
        return found

    whole = source.moments(deviations, len(p)).both / patterns.n**2
    order = answers.layout.order
    return np.asarray(whole[np.ix_(order, order)])


def from_replicates(
    data: Any, plan: Any, by: Sequence[str], answers: CellAnswers, *, sampled: Sampled, reading: Any
) -> Floats:
    """Return the covariance of the cells from replicate weights, in the order of the table."""
    moved = []
    for column in sampled.replicates:
        again = tabulate(data, plan, by=by, weights=column, reading=reading)
        p = by_inverse(again.axes, again.counts).p
        moved.append(answers.layout.flatten(p) - answers.unbiased)
    return np.asarray(sampled.scale * np.array(moved).T @ np.array(moved))

r"""Estimates of protected tables, and what these answer: linear queries and their covariance.

The noise of each part is independent, so that two queries w and v of the cells of a table T have
the covariance

.. math:: \sum_{A \subseteq T} \frac{1}{u_A} \frac{\langle P_A w_A, P_A v_A \rangle}
          {\prod_{j \in T \setminus A} n_j^2}
          = \sum_{B \subseteq T} \kappa_B \langle w_B, v_B \rangle, \qquad
          \kappa_B = \sum_{A \supseteq B} \frac{(-1)^{|A \setminus B|}}
          {u_A \prod_{j \in T \setminus A} n_j^2 \prod_{j \in A \setminus B} n_j} ,

in which :math:`w_B` are the sums of w over the columns that B lacks. The second form centres
nothing: it takes one product of the queries as they are, and further ones of their margins, which
are small.

Answers are shares. Where the number of records is measured too, :math:`\hat n = n + \eta`, a share
moves by :math:`-s\,\eta/n` with the total, to first order, and by :math:`\bar w\,\eta/n` with the
even table that the total is spread over: together that adds
:math:`(\bar w - s)(\bar v - t)\operatorname{Var}(\eta)/n^2` to the covariance of two shares s and
t. Counts are not divided by the total and have :math:`\bar w \bar v \operatorname{Var}(\eta)`.

**Weighted tables** answer for the population, in the same way: their total is noisy. With W the sum
of weights, sampling needs the squares :math:`s_c = \sum_{i \in c} w_i^2/W^2` of each cell, 1/n of
its share without weights. Their sum was measured; it is divided among the cells in proportion to
weighted counts times mean weights, of noisy counts drawn to the mean weight of all records by as
many of these as noise has.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, NotShown
from pramble.estimation.functionals.queries import parse_queries
from pramble.estimation.functionals.ratios import Ratios, of_ratios
from pramble.estimation.functionals.result import Estimate, Settings
from pramble.estimation.records.channel_tables import refuse_large_table
from pramble.estimation.records.intervals import errors_within, nothing_known, unified_interval
from pramble.estimation.records.moments import covariance_of
from pramble.estimation.records.signed import Function, Moments
from pramble.estimation.records.tabulate import Layout
from pramble.estimation.tables.modelled import (
    ModelledAnswers,
    layout_of,
    measured_within,
    modelled_answers,
    positive_total,
    total_variance,
)
from pramble.estimation.tables.nearest import nearest_cells
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.values import Floats, frozen, names_of


@frozen(eq=False)
class TableAnswers:
    """What a protected table answers (:mod:`pramble.estimation.records.moments`)."""

    layout: Layout
    shape: tuple[int, ...]
    factors: dict[tuple[int, ...], float]  # by margin, as axes: the κ above, in people
    p: Floats  # (K,): fitted shares of the cells
    unbiased: Floats
    n: float  # Number of records
    total_variance: float  # Variance of the noise of that number
    sampling: float  # The share of the sampling variance that counts
    unit: float = 1.0  # What one of n counts for
    ratios: Floats | None = None  # With weights: the squares s for each unit of share

    @property
    def squares(self) -> Floats:
        return np.maximum(self.p, 0.0) * (1 / self.n if self.ratios is None else self.ratios)

    @property
    def width(self) -> int:
        return len(self.p)

    @property
    def even(self) -> Floats:
        """The shares that the cells have when the records are spread evenly."""
        return np.full(len(self.p), 1 / len(self.p))

    @property
    def cell_sampling(self) -> Floats:
        """The share of the binomial variance of each cell that sampling adds."""
        if self.ratios is None:
            return np.full(len(self.p), self.sampling)
        p = np.clip(self.p, 0.0, 1 - EDGE)
        others = (self.squares.sum() - p * self.ratios) / (1 - p)
        return np.asarray(self.sampling * self.n * ((1 - p) * self.ratios + p * others))

    @cached_property
    def cell_variances(self) -> Floats:
        held = sum(self.factors.values())  # a cell is one cell in each of its margins
        moved = 1 / len(self.p) - self.p
        return np.asarray((held + self.total_variance * moved**2) / self.n**2)

    def margins(self, w: Floats) -> Iterator[tuple[float, Floats]]:
        """Yield κ and the sums (Q, cells) of queries (Q, K), for each margin.

        What one record more in the noisy total adds comes last, times n.
        """
        axes = tuple(range(len(self.shape)))
        found = {axes: w.reshape(len(w), *self.shape)}
        for margin in sorted(self.factors, key=len, reverse=True):
            if margin not in found:
                gone = max(set(axes) - set(margin))
                finer = found[tuple(sorted((*margin, gone)))]
                found[margin] = finer.sum(axis=1 + gone, keepdims=True)
            yield self.factors[margin], found[margin].reshape(len(w), -1)
        yield self.total_variance, (w.mean(axis=1) - w @ self.p)[:, None]

    def randomised(self, w: Floats) -> Floats:
        found = sum(factor * (sums @ sums.T) for factor, sums in self.margins(w))
        return np.asarray(found / self.n**2)

    def products(self, w: Floats, other: Floats) -> Floats:
        pairs = zip(self.margins(w), self.margins(other), strict=True)
        found = sum(factor * (one * two).sum(axis=1) for (factor, one), (_, two) in pairs)
        return np.asarray(found / self.n**2)

    def covariance(self) -> Floats:
        """Return the covariance of the cells, without the products of as many queries."""
        p, s, axes = self.p, self.squares, list(range(len(self.shape)))
        moved, cross = 1 / len(p) - p, np.outer(p, s)
        sampled = np.diag(s) - cross - cross.T + np.outer(p, p) * s.sum()
        noise = self.total_variance * np.outer(moved, moved)
        pairs: Any = noise.reshape(self.shape * 2)
        for margin, factor in self.factors.items():
            # pairs of cells that are one in this margin
            other = [axis if axis in margin else axis + len(axes) for axis in axes]
            alike = np.einsum(pairs, [*axes, *other], list(dict.fromkeys([*axes, *other])))
            alike += factor
        return np.asarray(noise / self.n**2 + self.sampling * sampled)


@frozen(eq=False)
class TableSource:
    """The signed weights of a measured table, whose cells they are."""

    answers: TableAnswers

    @property
    def n(self) -> float:
        return self.answers.n

    @property
    def counts(self) -> Floats:
        return np.array([self.n])

    def chunks(self, width: int) -> Iterator[slice]:
        del width
        yield slice(0, 1)

    def weights(self, some: slice) -> Floats:
        del some
        return self.n * self.answers.unbiased[None, :]

    def moments(self, function: Function, width: int) -> Moments:
        del width
        w = np.ascontiguousarray(function(slice(0, 1))[0].T)
        both, alone = (covariance_of(replace(self.answers, sampling=f), w) for f in (1.0, 0.0))
        return Moments(self.n**2 * both, self.n**2 * alone)


# Measured tables that a refusal lists.
SHOWN = 6

# Shares that are no farther from one, or sums that are no larger, are not divided by.
EDGE, SMALLEST = 1e-12, 1e-300

# What a table answers, measured or modelled.
AnyAnswers = TableAnswers | ModelledAnswers

# What takes records, and what to do instead.
REFUSED = {
    "plan": "plan= does not go with protected tables: they bring their own.",
    "counts": "counts=True goes with counts of released values; protected tables are counts of the "
    "file already. Leave it out, and take .counts() of the estimate for numbers of records.",
    "weights": "weights= goes with records, and with estimate(…) of weighted tables.",
    "mean": "mean= needs a column of numbers next to the tables, and protected tables have none. "
    "Measure the column in bands; then estimate(…).distribution(column), or .mean(column, scores) "
    "with a number for each band, gives its means.",
    "total": "total= needs a column of numbers next to the tables, and protected tables have none. "
    "Measure the column in bands; a mean, times the number of records, is then a total.",
    "reading": "reading= goes with files; protected tables are read already.",
    "survey": "survey= with strata, clusters or replicates needs records, and protected tables "
    "hold none. State how many times they multiply sampling variances, "
    "survey={'design_effect': 1.5}; covers='randomisation' leaves sampling out.",
}


def refuse_records(**given: Any) -> None:
    for name, wanted in given.items():
        if wanted is not None and wanted is not False and not (name in REFUSED and wanted == ()):
            raise InvalidInput(REFUSED[name])


def table_estimate(
    measured: Measured,
    settings: Settings,
    *,
    by: Sequence[str] | str | None,
    query: Any = None,
    weights: str | None = None,
) -> Estimate:
    own = measured if weights is None else measured.of_weights(weights).sums
    plan = own.plan
    names = checked_columns(plan, by)
    is_measured = plan.is_measured(names)
    rests_on = () if is_measured else measured_within(plan, names)
    if is_measured:
        answers: AnyAnswers = table_answers(measured, names, settings, weights=weights)
    else:
        modelled = modelled_answers(own, names, settings)
        if weights is not None:  # as of so many records of one weight as the squares say
            many = modelled.n * squares_together(measured)
            modelled = replace(modelled, sampled=modelled.sampled * many, unit=unit_of(measured))
        answers = modelled
    if query is None:
        found = estimate_of_cells(answers, settings)
    else:
        found = estimate_of_queries(answers, settings, query)
    notes = (*found.notes, *notes_of(measured, settings, weights=weights))
    return replace(found, n=float(measured.total), notes=notes, rests_on=rests_on)


def table_answers(
    measured: Measured,
    by: Sequence[str] | str | None,
    settings: Settings,
    *,
    weights: str | None = None,
) -> TableAnswers:
    own = measured if weights is None else measured.of_weights(weights).sums
    plan = own.plan
    names = checked_columns(plan, by)
    refuse_large_table(plan.shape(names), names)
    if not plan.is_measured(names):
        raise not_measured(plan, names)
    n = float(own.total)
    unbiased = own.table(names).ravel() / positive_total(n)
    fitted = nearest_cells(own, names) if settings.method == "mle" else unbiased
    size, factors = plan.sizes, {}
    for margin in subsets(names):
        beyond, total = tuple(name for name in names if name not in margin), 0.0
        for more in subsets(beyond):
            part = plan.ordered((*margin, *more))
            if part:
                beside = math.prod(size[name] for name in beyond if name not in more)
                lines = math.prod(-size[name] for name in more)
                total += 1 / (plan.precision[part] * beside**2 * lines)
        factors[tuple(names.index(name) for name in margin)] = total
    return TableAnswers(
        layout=layout_of(plan, names),
        shape=plan.shape(names),
        factors=factors,
        p=fitted,
        unbiased=unbiased,
        n=n,
        total_variance=total_variance(plan),
        sampling=settings.sampling_share(measured.total),
        unit=1.0 if weights is None else unit_of(measured),
        ratios=None if weights is None else square_ratios(measured, names, fitted),
    )


def unit_of(measured: Measured) -> float:
    return 1.0 if measured.plan.weights is None else float(measured.plan.weights.unit)


def squares_together(measured: Measured) -> float:
    """Return the sum of squared weights, of weights that sum to one; it is at least 1/n."""
    own = measured.weighted
    assert own is not None, "asked for where there are weights"
    total, most = positive_total(float(own.sums.total)), float(own.weights.most)
    return max(min(own.squares * most / total**2, most / total), 1 / positive_total(measured.total))


def square_ratios(measured: Measured, names: Columns, shares: Floats) -> Floats:
    """Return the squared weights of each cell for each unit of its weighted share."""
    own, p = measured.weighted, np.maximum(shares, 0.0)
    assert own is not None, "asked for where there are weights"
    rows = nearest_cells(measured, names) * measured.total
    many = math.sqrt(measured.plan.cell_variance(measured.plan.ordered(names)))
    means = (p * own.sums.total + many * own.sums.total / measured.total) / (rows + many)
    means = np.clip(means, 0.0, float(own.weights.most))
    return np.asarray(means * squares_together(measured) / max(float(p @ means), SMALLEST))


def checked_columns(plan: TablePlan, by: Sequence[str] | str | None) -> Columns:
    names = names_of(by or ())
    if by is None and len(plan.tables) == 1:
        return plan.tables[0]
    unknown = [name for name in names if name not in plan.labels]
    if not names or len(set(names)) != len(names) or unknown:
        raise InvalidInput(
            f"by= must name one or more different columns of the protected tables, "
            f"{', '.join(map(repr, plan.columns))}; found {by!r}."
        )
    return tuple(names)


def not_measured(plan: TablePlan, names: Columns) -> NotShown:
    tables = sorted(plan.tables, key=lambda table: -len(set(table) & set(names)))
    most = len(set(tables[0]) & set(names))
    within = dict.fromkeys(
        tuple(name for name in table if name in names)
        for table in tables
        if len(set(table) & set(names)) == most
    )
    near = [" × ".join(some) for some in within]
    listed = ", ".join(near[:SHOWN]) + (", …" if len(near) > SHOWN else "")
    return NotShown(
        f"No measured table holds {' × '.join(names)} together. Tables of some of these columns "
        f"that were measured: {listed}. Release with tables=[{names!r}, …] to have this one. "
        "pramble.estimate(…) models it without interactions beyond the measured ones, and so do "
        "complete records from pramble.synthesize(…)."
    )


def estimate_of_cells(answers: AnyAnswers, settings: Settings) -> Estimate:
    p, f, n = answers.p, answers.cell_sampling, answers.n
    noise = answers.cell_variances

    def variance(mu: Floats) -> Floats:
        return np.asarray(noise + f * mu * (1 - mu) / n)

    lower, upper = unified_interval(answers.unbiased, variance, level=settings.level)
    errors = np.sqrt(variance(np.clip(p, 0.0, 1.0)))
    if settings.method == "mle":
        errors = errors_within(p, errors, np.sqrt(noise))
        lower, upper = np.minimum(lower, p), np.maximum(upper, p)
    notes = nothing_known(lower, upper, "cells")
    cells = answers.layout.labels()
    return settings.estimate(
        p, errors, (lower, upper), cells=cells, n=n, covariance_parts=answers, notes=notes
    )


def estimate_of_queries(answers: AnyAnswers, settings: Settings, query: Any) -> Estimate:
    """Return answers to queries: ratios to the sum of all cells."""
    from scipy.sparse import csr_array

    names, weights = parse_queries(query, answers.layout)
    top = csr_array(weights.reshape(len(names), -1))
    ratios = Ratios(answers, top, csr_array(np.ones(top.shape)))
    table = estimate_of_cells(answers, settings)
    return of_ratios(table, ratios, {"query": names}, quantity="estimate")


def notes_of(measured: Measured, settings: Settings, *, weights: str | None = None) -> list[str]:
    """Say what to know of noisy totals, and where a person may have several rows."""
    plan, notes = measured.plan, []
    if weights is not None:
        own, unit = measured.of_weights(weights).sums, unit_of(measured)
        error = unit * math.sqrt(total_variance(own.plan))
        notes.append(
            f"Weighted by {weights}, which sums to {unit * own.total:,.0f} ± {error:,.2g}; the "
            f"records weigh as much as {1 / squares_together(measured):,.0f} of one weight."
        )
    elif measured.weighted is not None:
        column = measured.weighted.column
        notes.append(f"Not weighted: of the records. weights={column!r} is for the population.")
    if plan.total_is_public:
        return notes
    error = math.sqrt(total_variance(plan))
    notes.append(f"The number of records is noisy too: {measured.total:,} ± {error:.2g}.")
    if settings.covers == "both" and plan.rows_per_person > 1:
        notes.append(
            f"Sampling errors take records for independent; a person may have "
            f"{plan.rows_per_person} of them, which can multiply sampling variances by as much."
        )
    return notes

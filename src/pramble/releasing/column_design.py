"""Designs of columns one by one: a mechanism for each, within the budget."""

import math
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import Table, as_distribution
from pramble.information.fisher import estimation_variance
from pramble.information.measures import entropy, mutual_information
from pramble.information.structural_zeros import Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.outcome import ColumnOutcome
from pramble.privacy.certificate import certify, distance_sentence
from pramble.privacy.gaussian import float_above, float_below
from pramble.privacy.promise import LocalPromise
from pramble.releasing.design import (
    INFINITE_COST,
    ReleaseDesign,
    categories_by_column,
)
from pramble.releasing.distances import alpha_per_unit, distance_of_column
from pramble.releasing.priors import (
    PRIOR_SHARE,
    Prior,
    confidential_prior,
    draws_of,
    private_prior,
    public_prior,
)
from pramble.releasing.scan import CountedColumn, FileCounts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.design import design
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.result import Design, most_information
from pramble.values import Floats, frozen

# How near to its bound a design is brought, and the effort after which it is taken as it is.
TOLERANCE, EFFORT = 1e-6, 60.0

# Categories up to which all matrices are searched for a bound, and for how long: it is only shown.
MOST_BOUNDED, BOUND_EFFORT = 40, 1.0

# Categories up to which the variance of an estimate is computed, by a matrix of their size.
MOST_VALUED = 400

# Two-way tables up to which all are valued: those of twenty columns.
MOST_PAIRS = 190


@frozen(eq=False)
class ColumnDesign:
    """A counted column with its prior, its part of α and its mechanism."""

    column: CountedColumn
    prior: Prior
    alpha: float
    mechanism: Mechanism
    notes: tuple[str, ...] = ()
    distance: Distance | None = None

    @property
    def per_unit(self) -> float:
        """α per unit of distance: the column's α is that of the categories farthest apart."""
        assert self.distance is not None, "asked of columns with one"
        return alpha_per_unit(self.alpha, self.distance)

    @property
    def variance(self) -> float:
        """The estimation variance; infinite if the mechanism merges categories."""
        if len(self.column.labels) > MOST_VALUED:
            return math.nan
        found = estimation_variance(self.prior.probabilities, self.mechanism)
        return found if found < INFINITE_COST else math.inf


@frozen(eq=False)
class ColumnReleaseDesign(ReleaseDesign):
    """A matrix for each column, designed one by one: their α add up."""

    parts: tuple[ColumnDesign, ...]

    @cached_property
    def plan(self) -> Plan:
        return Plan({part.column.name: part.mechanism for part in self.parts})

    @property
    def priors(self) -> tuple[Prior, ...]:
        return tuple(part.prior for part in self.parts)

    @property
    def confidential(self) -> tuple[str, ...]:
        return tuple(p.column.name for p in self.parts if p.prior.source == "confidential")

    @property
    def warnings(self) -> tuple[str, ...]:
        merged = ", ".join(part.column.name for part in self.parts if math.isinf(part.variance))
        lost = (
            f"The mechanism of {merged} merges categories: their frequencies cannot be estimated "
            "from the release."
        )
        notes = (f"{part.column.name}: {note}" for part in self.parts for note in part.notes)
        return (*([lost] if merged else []), *notes)

    def notes(self) -> list[str]:
        return [
            "Each record is protected on its own; alpha adds up over the randomised columns.",
            *(
                f"{part.column.name}: {distance_sentence(part.distance, part.per_unit)}"
                for part in self.parts
                if part.distance is not None
            ),
        ]

    def entry(self) -> dict[str, Any]:
        return {"kind": "columns", "parts": [part_entry(part) for part in self.parts]}

    @cached_property
    def wanted(self) -> tuple[Table, ...]:
        """The pairs of columns that readers will look at; single columns if these are many."""
        labels = self.labels
        pairs = [
            (one, two)
            for one, two in combinations(labels, 2)
            if len(labels[one]) * len(labels[two]) <= MOST_WANTED_CELLS
        ]
        if pairs and len(pairs) <= MOST_PAIRS:
            return tuple(pairs)
        return tuple((name,) for name in labels)

    def figures(self) -> dict[str, Any]:
        return {"columns": tuple(column_outcome(part) for part in self.parts)}


def part_entry(design: ColumnDesign) -> dict[str, Any]:
    """Return what the manifest says of one column; no confidential probabilities."""
    spec, prior = design.column.spec, design.prior
    shown = list(prior.probabilities) if prior.source != "confidential" else None
    entry = {
        "column": spec.name,
        "alpha": design.alpha,
        "family": spec.family,
        "objective": spec.objective,
        "invariant": spec.invariant,
        "prior": prior.origin() | ({} if shown is None else {"probabilities": shown}),
    }
    if design.distance is not None:
        entry["distance"] = {"alpha": design.per_unit, **design.distance.to_json()}
    return entry


def column_outcome(design: ColumnDesign) -> ColumnOutcome:
    """Return a column's figures that are known before anything is written."""
    p, mechanism, column = design.prior.probabilities, design.mechanism, design.column
    by_distance = ""
    if design.distance is not None:
        by_distance = distance_sentence(design.distance, design.per_unit)
    return ColumnOutcome(
        name=column.name,
        categories=column.labels,
        mechanism=mechanism,
        certificate=certify(mechanism),
        family=column.spec.family,
        objective=column.spec.objective,
        invariant=column.spec.invariant,
        alpha=design.alpha,
        alpha_prior=float_above(design.prior.spent),
        prior=p,
        prior_source=design.prior.source,
        prior_detail=design.prior.detail,
        entropy=entropy(p),
        information=mutual_information(p, mechanism),
        information_bound=most_possible(np.array(p), design.alpha),
        estimation_variance=design.variance,
        change_expected=float(1 - np.asarray(p) @ mechanism.operator.stay()),
        before=column.counts,
        by_distance=by_distance,
    )


def most_possible(p: Floats, alpha: float) -> float:
    """Return a proven bound on the information of any matrix for these categories at this α."""
    if not 2 < len(p) <= MOST_BOUNDED:
        return most_information(p, alpha)
    return design(p, alpha, family="general", tolerance=1e-3, effort=BOUND_EFFORT).ceiling


def design_column(column: CountedColumn, prior: Prior, *, alpha: float) -> ColumnDesign:
    if not column.needs_prior:
        return ColumnDesign(column, prior, alpha, randomized_response(column.labels, alpha))
    best = solved(column, prior, alpha=alpha, objective=column.spec.objective)
    found = ColumnDesign(column, prior, alpha, best.mechanism, best.notes, best.distance)
    if not math.isinf(found.variance):
        return found
    return estimable(column, prior, alpha=alpha, most=best.information)


def solved(
    column: CountedColumn, prior: Prior, *, alpha: float, objective: ObjectiveName
) -> Design:
    spec = column.spec
    metric = None if spec.distance is None else distance_of_column(spec, column.labels)
    try:
        return design(
            prior.probabilities,
            alpha if metric is None else alpha_per_unit(alpha, metric),
            distance=metric,
            family="general" if spec.family == "general" else "uniform",
            objective=objective,
            categories=column.labels,
            invariant=spec.invariant,
            tolerance=TOLERANCE,
            effort=EFFORT,
        )
    except InvalidInput as error:
        raise InvalidPlan(f"Column {column.name!r} has no such design: {error}") from None


def estimable(column: CountedColumn, prior: Prior, *, alpha: float, most: float) -> ColumnDesign:
    """Return a mechanism by which all categories are estimable, where the best one merges some.

    It is the design for estimation among all matrices, and randomised response in the paper's
    family.
    """
    mechanism: Mechanism = randomized_response(column.labels, alpha)
    distance = None
    if column.spec.family == "general":
        best = solved(column, prior, alpha=alpha, objective="estimation")
        mechanism, distance = best.mechanism, best.distance
    information = mutual_information(prior.probabilities, mechanism)
    note = (
        f"The matrix with the most information ({most:.4g} nats) merges categories, so that their "
        f"frequencies could not be estimated; another one was taken ({information:.4g} nats)."
    )
    return ColumnDesign(column, prior, alpha, mechanism, (note,), distance)


def design_release_of_columns(
    spec: ReleaseSpec, found: FileCounts, *, confidential_allowed: bool = False, effort: Any = None
) -> ColumnReleaseDesign:
    r"""Design every column within the budget.

    Private priors are drawn first, each with its part of α; what is left is split over the
    mechanisms. A person of :math:`k` rows has :math:`k` values in each column, and moves
    :math:`2k` counts of its histogram: every part is a record's, :math:`\alpha/k` in all, and what
    is spent on a person is :math:`k` times their exact sum, which is checked against the total.

    A prior counted on the confidential file is used as it is only where that is allowed.
    """
    del effort  # each column has its own
    columns, rows_per_person = found.columns, found.rows_per_person
    base = base_shares(spec, spec.local_limit.alpha / rows_per_person)
    prior_parts = {
        column.name: PRIOR_SHARE * base[column.name]
        if column.spec.prior == "private" and column.needs_prior
        else Fraction(0)
        for column in columns
    }
    priors = {
        column.name: prior_of(
            column,
            prior_parts[column.name],
            rows=found.rows,
            confidential_allowed=confidential_allowed,
            key=found.key,
        )
        for column in columns
    }
    designs = tuple(
        design_column(
            column,
            priors[column.name],
            alpha=float_below(base[column.name] - priors[column.name].spent),
        )
        for column in columns
    )
    parts = [*(d.prior.spent for d in designs), *(Fraction(d.alpha) for d in designs)]
    spent = LocalPromise(sum(parts, Fraction(0))).of_rows(rows_per_person)
    labels = categories_by_column(columns)
    margins = {(d.column.name,): np.array(d.prior.probabilities) for d in designs}
    distribution = as_distribution(margins, {name: len(own) for name, own in labels.items()})
    return ColumnReleaseDesign(columns, spent, as_possible(None, labels), distribution, designs)


def base_shares(spec: ReleaseSpec, total: Fraction) -> dict[str, Fraction]:
    """Return each column's part of the total, prior included; they sum to it exactly.

    Columns are randomised independently, so their α add up.
    """
    if spec.alpha is not None:
        return {column.name: total / len(spec.columns) for column in spec.columns}
    own = {column.name: Fraction(column.alpha or 0) for column in spec.columns}
    whole = sum(own.values(), Fraction(0))
    return {name: total * alpha / whole for name, alpha in own.items()}


def prior_of(
    column: CountedColumn,
    part: Fraction,
    *,
    rows: int,
    confidential_allowed: bool,
    key: bytes | None = None,
) -> Prior:
    """Return the prior that a column's plan asks for; uniform where the design needs none."""
    spec = column.spec
    table: Table = (column.name,)
    counts, possible = {table: column.counted}, Possible({column.name: len(column.labels)})
    if spec.prior == "confidential" and column.needs_prior:
        return confidential_prior(
            counts, rows=rows, possible=possible, allowed=confidential_allowed
        )
    if spec.prior_file is not None:
        return public_prior(spec.prior_file, column.name, categories=column.labels)
    if spec.prior_source == "public":
        given = {table: np.array(spec.prior)}
        return Prior(given, "public", Fraction(0), "Probabilities given in the plan, public.")
    if part:
        draws = draws_of(key, counts, part, {column.name: column.labels})
        return private_prior(counts, part, rows=rows, possible=possible, randbelow=draws)
    even = np.full(len(column.labels), 1 / len(column.labels))
    detail = "Every category counted as equally likely."
    return Prior({table: even}, "uniform", Fraction(0), detail)

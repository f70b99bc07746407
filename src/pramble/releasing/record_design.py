"""The plan for records of a release: its prior, its budget, and what it will cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import Table, TableDistribution, as_distribution
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.column_labels import EMPTY
from pramble.mechanisms.plan import Plan
from pramble.outcome import RecordOutcome
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.gaussian import float_above, float_below
from pramble.privacy.promise import LocalPromise
from pramble.releasing.design import (
    ReleaseDesign,
    categories_by_column,
    columns_without_table,
    possible_records,
    requested_tables,
)
from pramble.releasing.distances import ColumnMetric, column_metrics, promise_keywords, sentences_of
from pramble.releasing.priors import (
    EVEN,
    PRIOR_SHARE,
    Prior,
    confidential_prior,
    draws_of,
    precise_tables,
    private_prior,
    public_tables,
    restricted,
)
from pramble.releasing.scan import FileCounts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.record.costs import plan_costs
from pramble.solvers.record.design_record import design_record
from pramble.solvers.record.problem import RecordDesign
from pramble.values import Integers, frozen

# How much work the search for a plan may take; None leaves it to the search.
EFFORT: float | None = None


@frozen(eq=False)
class RecordReleaseDesign(ReleaseDesign):
    """A plan for whole records with its prior.

    ``costs`` are those of each wanted table for an analyst: n times the summed variance of its
    cells at the prior, as `pramble.estimate` attains it.
    """

    design: RecordDesign
    prior: Prior
    costs: Mapping[Table, float]
    warnings: tuple[str, ...] = ()
    metrics: Mapping[str, ColumnMetric] = field(default_factory=dict)  # promises by distance

    @property
    def plan(self) -> Plan:
        return self.design.plan

    @property
    def wanted(self) -> tuple[Table, ...]:
        return tuple(self.costs)

    def known_costs(self) -> Mapping[Table, float]:
        return self.costs

    @property
    def priors(self) -> tuple[Prior, ...]:
        return (self.prior,)

    @property
    def confidential(self) -> tuple[str, ...]:
        return self.plan.columns if self.prior.source == "confidential" else ()

    @property
    def proof(self) -> CentralGuarantee | None:
        return self.design.central

    def notes(self) -> list[str]:
        blank = (
            "A record shows the columns of one branch of the plan, drawn at random; its other "
            "randomised columns are blank, which says nothing of it."
        )
        return [
            "Each record is protected as a whole: alpha is of all randomised columns together.",
            *([blank] if self.plan.is_split else []),
            *sentences_of(self.metrics),
        ]

    def entry(self) -> dict[str, Any]:
        shown = self.prior.tables if self.prior.source != "confidential" else {}
        tables = [
            {"columns": list(names), "probabilities": table.reshape(-1).tolist()}
            for names, table in shown.items()
        ]
        distances = [
            {
                "column": name,
                "categories": list(self.labels[name]),
                "alpha": one.alpha,
                **one.distance.to_json(),
            }
            for name, one in self.metrics.items()
        ]
        return {
            "kind": "records",
            "objective": self.design.objective,
            "alpha": self.design.alpha,
            "prior": {**self.prior.origin(), "tables": tables},
            **({"distances": distances} if distances else {}),
        }

    def figures(self) -> dict[str, Any]:
        record = RecordOutcome(
            plan=self.plan,
            certificate=self.design.certificate,
            objective=self.design.objective,
            alpha=self.design.alpha,
            alpha_prior=float_above(self.prior.spent),
            prior_source=self.prior.source,
            prior_detail=self.prior.detail,
            columns=self.frequencies(),
            by_distance=tuple(sentences_of(self.metrics)),
        )
        return {"record": record}


def tables_at_hand(
    spec: ReleaseSpec, labels: Mapping[str, Sequence[Any]]
) -> tuple[tuple[Table, ...], list[str]]:
    """Return the wanted tables that a plan can be best for, and a note on those that are too large.

    Of tables that were named, none may be too large; others give way to their single columns.
    """

    def cells(table: Table) -> int:
        return math.prod(len(labels[name]) for name in table)

    tables = requested_tables(spec, list(labels))
    affordable = [table for table in tables if cells(table) <= MOST_WANTED_CELLS]
    large = [table for table in tables if table not in affordable]
    if not large:
        return tables, []
    left = columns_without_table(affordable, list(labels))
    wide = next((name for name in left if len(labels[name]) > MOST_WANTED_CELLS), None)
    if wide is not None or not isinstance(spec.tables, int):
        what = f"Column {wide!r}" if wide is not None else f"The table {' × '.join(large[0])}"
        raise InvalidPlan(
            f"{what} has more than {MOST_WANTED_CELLS:,} cells, which no plan for records is best "
            'for. Merge categories, want other tables, or take design = "columns".'
        )
    note = (
        f"{len(large)} of the {len(tables)} tables of {spec.tables} columns have more than "
        f"{MOST_WANTED_CELLS:,} cells and were left out of the design, {' × '.join(large[0])} "
        "among them: merge categories to have them."
    )
    return (*affordable, *((name,) for name in left)), [note]


def design_release_of_records(
    spec: ReleaseSpec, found: FileCounts, *, confidential_allowed: bool, effort: float | None = None
) -> RecordReleaseDesign:
    r"""Design the plan for records within the budget.

    A person of :math:`k` rows spends k times what a record does, so that a record's prior and plan
    have :math:`\alpha/k` in all. A plan that keeps a central promise does not depend on the
    distribution of the records, so that nothing of the file is used; a public prior serves to say
    what tables will cost.
    """
    labels = categories_by_column(found.columns)
    tables, notes = tables_at_hand(spec, labels)
    possible = possible_records(spec, labels)
    options = {
        "possible": possible,
        "tables": tables,
        "objective": spec.objective,
        "effort": EFFORT if effort is None else effort,
    }
    if spec.central is not None:
        return design_for_readers(spec, found, notes=notes, **options)
    total = spec.local_limit.alpha / found.rows_per_person
    prior = record_prior(
        spec, found, tables=tables, total=total, possible=possible,
        allowed=confidential_allowed,
    )  # fmt: skip
    # Rounded down, so that the exact sum with the prior never passes the total.
    alpha = float_below(total - prior.spent)
    sizes = {name: len(own) for name, own in labels.items()}
    distribution = as_distribution(prior.tables or None, sizes)
    if possible.tables:  # without the cells that cannot occur
        margins = {table: distribution.margin(table) for table in tables}
        distribution = as_distribution(restricted(margins, possible), sizes)
    empty = [name for name, own in labels.items() if any(label in EMPTY for label in own)]
    metrics = column_metrics(spec.columns, labels, alpha)
    best = design_record(
        labels,
        **promise_keywords(metrics, alpha),
        prior=distribution.tables if isinstance(distribution, TableDistribution) else None,
        whole=spec.whole or bool(empty),  # a blank would look like an empty cell
        **options,
    )
    # Distances were given in units of α; the promise between any two records is α itself.
    best = replace(best, alpha=alpha, distance=None)
    assert best.certificate.satisfies(alpha), "the farthest records are α apart"
    costs = plan_costs(best.plan, labels, distribution, tables=tables, possible=possible)
    if empty and not spec.whole:
        notes.append(
            f"Empty cells are a category of {', '.join(empty)}, which nobody could tell from a "
            'blank, so every record keeps all its columns. Give them a label (missing = "none") '
            "for a plan that costs less."
        )
    spent = LocalPromise(Fraction(alpha) + prior.spent).of_rows(found.rows_per_person)
    return RecordReleaseDesign(
        found.columns, spent, possible, distribution, best, prior, costs, tuple(notes), metrics
    )


def design_for_readers(
    spec: ReleaseSpec, found: FileCounts, *, notes: Sequence[str], **options: Any
) -> RecordReleaseDesign:
    """Return the plan for records that keeps a central promise."""
    labels, possible = categories_by_column(found.columns), options["possible"]
    prior = EVEN
    if spec.columns[0].prior_source == "public":
        prior = public_tables(spec.columns, labels, options["tables"], possible=possible)
    elif spec.columns[0].prior_source == "confidential":
        raise InvalidPlan("A central plan needs no prior; take the confidential one away.")
    try:
        best = design_record(
            labels,
            central=(spec.limit.shown, spec.delta),
            rows=max(found.rows, 1),
            rows_per_person=found.rows_per_person,
            prior=dict(prior.tables) or None,
            whole=True,
            **options,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    sizes = {name: len(own) for name, own in labels.items()}
    distribution = as_distribution(dict(prior.tables) or None, sizes)
    spent = best.certificate.promise.of_rows(found.rows_per_person)
    return RecordReleaseDesign(
        found.columns, spent, possible, distribution, best, prior, dict(best.costs), tuple(notes)
    )


def record_prior(
    spec: ReleaseSpec,
    found: FileCounts,
    *,
    tables: Sequence[Table],
    total: Fraction,
    possible: Possible,
    allowed: bool,
) -> Prior:
    source = spec.columns[0].prior
    labels = categories_by_column(found.columns)
    if source == "public":
        return public_tables(spec.columns, labels, tables, possible=possible)
    counted: dict[Table, Integers] = {(one.name,): one.counted for one in found.columns}
    counted |= found.tables
    singles = [(column.name,) for column in found.columns]
    wanted = tables if all(table in counted for table in tables) else singles
    if source == "confidential":
        counts = {table: counted[table] for table in wanted}
        return confidential_prior(counts, rows=found.rows, possible=possible, allowed=allowed)
    sizes = {name: len(own) for name, own in labels.items()}
    # Of one column of two categories the best plan, randomised response, is that of every prior.
    if source == "uniform" or list(sizes.values()) == [2]:
        return EVEN
    epsilon = PRIOR_SHARE * total
    rows = found.rows // found.rows_per_person or 1
    chosen = {t: counted[t] for t in precise_tables(wanted, sizes, epsilon, rows=rows)}
    if not chosen:
        return EVEN
    draws = draws_of(found.key, chosen, epsilon, labels)
    return private_prior(chosen, epsilon, rows=found.rows, possible=possible, randbelow=draws)

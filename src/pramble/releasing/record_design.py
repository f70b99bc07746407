"""The plan for records of a release: its prior, its budget, and what it will cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import (
    RecordDistribution,
    Table,
    TableDistribution,
    as_distribution,
    as_tables,
)
from pramble.information.structural_zeros import Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.column_labels import EMPTY
from pramble.mechanisms.plan import Plan
from pramble.privacy.guarantee import RecordPrivacy, float_below
from pramble.releasing.design import ReleaseDesign, Valuation, several_rows
from pramble.releasing.distances import Apart, asked_of_record, columns_apart, sentences_of
from pramble.releasing.priors import origin
from pramble.releasing.record_priors import (
    EVEN,
    RecordPrior,
    confidential_tables,
    private_tables,
    public_tables,
    restricted,
    tables_worth,
)
from pramble.releasing.scan import Counted, Counts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.record.costs import plan_costs
from pramble.solvers.record.design_record import design_record
from pramble.solvers.record.problem import RecordDesign
from pramble.values import Integers, value

EFFORT: float | None = None
"""How much work the search for a plan may take; None leaves it to the search."""


@value(eq=False)
class RecordsDesign(ReleaseDesign):
    """A plan for whole records with its prior, and what each wanted table will cost an analyst.

    Attributes
    ----------
    design : RecordDesign
    prior : RecordPrior
    distribution : RecordDistribution
        What the plan was designed for.
    table_costs : mapping from table to float
        n times the summed variance of its cells at the prior, as `pramble.estimate` attains it.
    remarks : tuple of str
    apart : mapping from column to Apart
        What is promised by distance, where something is.
    """

    design: RecordDesign
    prior: RecordPrior
    distribution: RecordDistribution
    table_costs: Mapping[Table, float]
    remarks: tuple[str, ...] = ()
    apart: Mapping[str, Apart] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.design.plan

    @property
    def priors(self) -> tuple[RecordPrior, ...]:
        return (self.prior,)

    @property
    def confidential(self) -> tuple[str, ...]:
        return self.plan.columns if self.prior.source == "confidential" else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.remarks

    def notes(self) -> list[str]:
        blank = (
            "A record shows the columns of one branch of the plan, drawn at random; its other "
            "randomised columns are blank, which says nothing of it."
        )
        return [
            "Each record is protected as a whole: alpha is of all randomised columns together.",
            *([blank] if self.plan.is_split else []),
            *several_rows(self.spent.rows),
            *sentences_of(self.apart),
        ]

    def entry(self) -> dict[str, Any]:
        shown = self.prior.tables if self.prior.source != "confidential" else {}
        return {
            "kind": "records",
            "objective": self.design.objective,
            "alpha": self.design.alpha,
            "prior": {
                **origin(self.prior),
                "tables": [
                    {"columns": list(names), "probabilities": table.reshape(-1).tolist()}
                    for names, table in shown.items()
                ],
            },
            **({"distances": self.distances()} if self.apart else {}),
        }

    def distances(self) -> list[dict[str, Any]]:
        return [
            {
                "column": name,
                "categories": list(self.labels[name]),
                "alpha": one.alpha,
                **one.distance.to_json(),
            }
            for name, one in self.apart.items()
        ]

    def valuation(self, rows: int) -> Valuation:
        tables = tuple(self.table_costs)
        return Valuation(self.labels, self.distribution, self.possible, tables, rows)

    def costs(self) -> Mapping[Table, float]:
        return self.table_costs


def labels_of(columns: Sequence[Counted]) -> dict[str, tuple[Any, ...]]:
    return {column.name: column.labels for column in columns}


def wanted_tables(spec: ReleaseSpec, names: Sequence[str]) -> tuple[Table, ...]:
    """Return the tables that a plan is to be best for; of fewer columns where there are fewer.

    A column that no named table has is wanted alone: a plan must say what is done to it.
    """
    asked = spec.tables
    try:
        tables = as_tables(min(asked, len(names)) if isinstance(asked, int) else asked, names)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    return (*tables, *((name,) for name in without(tables, names)))


def without(tables: Sequence[Table], names: Sequence[str]) -> list[str]:
    return [name for name in names if not any(name in table for table in tables)]


def tables_at_hand(
    spec: ReleaseSpec, labels: Mapping[str, Sequence[Any]]
) -> tuple[tuple[Table, ...], list[str]]:
    """Return the wanted tables that a plan can be best for, and a note on those that are too large.

    Of tables that were named, none may be too large; others give way to their single columns.
    """

    def cells(table: Table) -> int:
        return math.prod(len(labels[name]) for name in table)

    tables = wanted_tables(spec, list(labels))
    kept = [table for table in tables if cells(table) <= MOST_WANTED_CELLS]
    large = [table for table in tables if table not in kept]
    if not large:
        return tables, []
    left = without(kept, list(labels))
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
    return (*kept, *((name,) for name in left)), [note]


def design_of_record(
    spec: ReleaseSpec, found: Counts, *, confidential_allowed: bool, effort: float | None = None
) -> RecordsDesign:
    r"""Design the plan for records within the budget.

    A person of :math:`k` rows spends k times what a record does, so that a record's prior and plan
    have :math:`\alpha/k` in all.
    """
    labels = labels_of(found.columns)
    tables, large = tables_at_hand(spec, labels)
    total = spec.local_limit.alpha / found.rows_per_person
    try:
        possible = as_possible(rules_of(spec), labels)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    prior = record_prior(
        spec, found, tables=tables, total=total, possible=possible,
        allowed=confidential_allowed,
    )  # fmt: skip
    alpha = float_below(total - prior.spent)
    law = law_of(prior, labels, tables, possible=possible)
    empty, apart = with_empty_cells(labels), columns_apart(spec.columns, labels, alpha)
    best = design_record(
        labels,
        **asked_of_record(apart, alpha),
        prior=law.tables if isinstance(law, TableDistribution) else None,
        possible=possible,
        tables=tables,
        objective=spec.objective,
        whole=keeps_whole(spec, labels),
        effort=EFFORT if effort is None else effort,
    )
    best = replace(best, alpha=alpha, distance=None)
    assert best.certificate.satisfies(alpha), "the farthest records are α apart"
    costs = plan_costs(best.plan, labels, law, tables=tables, possible=possible)
    notes = (*large, *([kept_whole(empty)] if empty and not spec.whole else []))
    spent = RecordPrivacy(Fraction(alpha) + prior.spent).of_rows(found.rows_per_person)
    return RecordsDesign(found.columns, spent, possible, best, prior, law, costs, notes, apart)


def design_for_readers(
    spec: ReleaseSpec, found: Counts, *, effort: float | None = None
) -> RecordsDesign:
    """Return the plan for records that keeps a central promise.

    The design does not depend on the law of the records, so that nothing of the file is used; a
    public prior serves to say what tables will cost.
    """
    labels = labels_of(found.columns)
    tables, large = tables_at_hand(spec, labels)
    try:
        possible = as_possible(rules_of(spec), labels)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    prior = EVEN
    if spec.columns[0].prior_source == "public":
        prior = public_tables(spec.columns, labels, tables, possible=possible)
    elif spec.columns[0].prior_source == "confidential":
        raise InvalidPlan("A central plan needs no prior; take the confidential one away.")

    sizes = {name: len(own) for name, own in labels.items()}
    try:
        best = design_record(
            labels,
            central=(spec.limit.shown, spec.delta),
            rows=max(found.rows, 1),
            rows_per_person=found.rows_per_person,
            prior=dict(prior.tables) or None,
            possible=possible,
            tables=tables,
            objective=spec.objective,
            whole=True,
            effort=EFFORT if effort is None else effort,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    distribution = as_distribution(dict(prior.tables) or None, sizes)
    spent = best.certificate.guarantee.of_rows(found.rows_per_person)
    return RecordsDesign(
        found.columns, spent, possible, best, prior, distribution, dict(best.costs),
        remarks=tuple(large),
    )  # fmt: skip


def law_of(
    prior: RecordPrior,
    labels: Mapping[str, Sequence[Any]],
    tables: Sequence[Table],
    *,
    possible: Possible,
) -> RecordDistribution:
    """Return the law of records of a prior, without the cells that cannot occur."""
    law = as_distribution(prior.tables or None, {name: len(own) for name, own in labels.items()})
    if not possible.tables:
        return law
    return as_distribution(restricted({t: law.margin(t) for t in tables}, possible), law.sizes)


def needs_no_prior(labels: Mapping[str, Sequence[Any]]) -> bool:
    """Whether the best plan is the same for every prior: randomised response of two categories."""
    return len(labels) == 1 and len(next(iter(labels.values()))) == 2


def rules_of(spec: ReleaseSpec) -> list[dict[str, Any]] | None:
    rules = [
        {word: part for word, part in rule.items() if word != "repair"} for rule in spec.possible
    ]
    return rules or None


def with_empty_cells(labels: Mapping[str, Sequence[Any]]) -> list[str]:
    return [name for name, own in labels.items() if any(label in EMPTY for label in own)]


def keeps_whole(spec: ReleaseSpec, labels: Mapping[str, Sequence[Any]]) -> bool:
    """Whether every record keeps all its columns: as asked, or since blanks could not be told."""
    return spec.whole or bool(with_empty_cells(labels))


def kept_whole(empty: Sequence[str]) -> str:
    return (
        f"Empty cells are a category of {', '.join(empty)}, which nobody could tell from a blank, "
        'so every record keeps all its columns. Give them a label (missing = "none") for a plan '
        "that costs less."
    )


def counts_of(found: Counts) -> dict[Table, Integers]:
    singles: dict[Table, Integers] = {(column.name,): column.counted for column in found.columns}
    return {**singles, **found.tables}


def record_prior(
    spec: ReleaseSpec,
    found: Counts,
    *,
    tables: Sequence[Table],
    total: Fraction,
    possible: Possible,
    allowed: bool,
) -> RecordPrior:
    source = spec.columns[0].prior
    labels = labels_of(found.columns)
    if source == "public":
        return public_tables(spec.columns, labels, tables, possible=possible)
    counted = counts_of(found)
    singles = [(column.name,) for column in found.columns]
    whole = all(table in counted for table in tables)
    if source == "confidential":
        wanted = tables if whole else singles
        return confidential_tables(
            {table: counted[table] for table in wanted},
            rows=found.rows,
            possible=possible,
            allowed=allowed,
        )
    if source == "uniform" or needs_no_prior(labels):
        return EVEN
    epsilon = Fraction(spec.prior_share) * total
    sizes = {name: len(own) for name, own in labels.items()}
    rows = found.rows // found.rows_per_person or 1
    chosen = tables_worth(tables if whole else singles, sizes, epsilon, rows=rows)
    if not chosen:
        return EVEN
    return private_tables(
        {table: counted[table] for table in chosen}, epsilon, rows=found.rows, possible=possible
    )

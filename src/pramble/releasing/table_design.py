"""Designs of releases of protected tables: which tables are measured, and with how much noise."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import Table, as_distribution
from pramble.mechanisms.table_plan import TablePlan
from pramble.outcome import ProtectedOutcome
from pramble.privacy.gaussian import float_below
from pramble.privacy.promise import no_local_promise
from pramble.privacy.table_privacy import TableGuarantee
from pramble.releasing.design import (
    ReleaseDesign,
    categories_by_column,
    possible_records,
    requested_tables,
)
from pramble.releasing.scan import FileCounts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.tables.design_tables import (
    TableDesign,
    design_for_people,
    design_of_chosen,
    design_tables,
    gaussian_budget,
)
from pramble.values import frozen

ABOUT_TABLES = (
    "The tables hold noise; they agree with each other and may have negative cells. Estimates and "
    "intervals come from them (pramble.estimate)."
)
ABOUT_RECORDS = (
    "The complete records were drawn from the tables alone: open and count those. What was not "
    "measured together is modelled in them, without interactions beyond those measured."
)
ABOUT_WEIGHTS = (
    "Weighted tables are protected too: estimates with weights are for the population, those "
    "without for the file. The complete records carry a weight that fits the weighted tables."
)


# Share of μ² that noisy counts of people by their rows get: all errors grow by 1.6 %.
OF_PEOPLE = Fraction(1, 32)


def tolerable_loss(alone: TableDesign) -> float:
    """Return how many people may have more rows than are used, before one more row is worth it.

    A further row of each person adds the noise of one row to every table: as many people, summed
    over the cells of a table on average, as this. It brings back one row of everybody who has more.
    """
    plan = alone.plan
    errors = [plan.cells(table) * own for table, own in alone.deviations.items()]
    return math.sqrt(2 / math.pi) * sum(errors) / len(errors)


def table_outcomes(plan: TablePlan, rows: int) -> tuple[TableOutcome, ...]:
    """Return what readers get of the wanted tables, and of single columns."""
    found = []
    for table in dict.fromkeys([*plan.tables, *((name,) for name in plan.columns)]):
        # Cells are taken as equally likely; the noise is the same whatever the records are.
        cells, noise = plan.cells(table), plan.cell_variance(table)
        cost = 1 - 1 / cells + cells * noise / max(rows, 1)
        wanted = table in plan.tables
        found.append(TableOutcome(table, cells, cost, rows, wanted, math.sqrt(noise)))
    return tuple(found)


@frozen(eq=False)
class TableReleaseDesign(ReleaseDesign):
    """Which tables of a file are measured, and how."""

    design: TableDesign

    @property
    def plan(self) -> TablePlan:
        return self.design.plan

    @property
    def wanted(self) -> tuple[Table, ...]:
        return self.plan.tables

    @property
    def proof(self) -> TableGuarantee:
        return self.design.guarantee

    @property
    def nulls(self) -> Mapping[str, Any]:
        """What an empty cell of each column counts as, where that is a label."""
        found = {column.name: column.spec.null_label for column in self.columns}
        return {name: label for name, label in found.items() if label is not None}

    def notes(self) -> list[str]:
        weighted = [] if self.plan.weights is None else [ABOUT_WEIGHTS]
        return [ABOUT_TABLES, ABOUT_RECORDS, *weighted]

    def entry(self) -> dict[str, Any]:
        figures = {"value": self.design.value, "bound": self.design.bound}
        return {"kind": "tables", "objective": self.design.objective, **figures}

    def figures(self) -> dict[str, Any]:
        chosen = None
        if self.plan.choice is not None:
            chosen = tuple(" × ".join(table) for table in self.plan.chosen)
        protected = ProtectedOutcome(
            tables=len(self.plan.tables),
            noise=self.design.typical,
            gap=self.design.gap,
            worst=self.design.guarantee.worst,
            columns=self.frequencies(),
            chosen=chosen,
        )
        return {"protected": protected}

    def accuracy(self, rows: int) -> tuple[TableOutcome, ...]:
        return table_outcomes(self.plan, rows)

    def with_tables_of(self, plan: TablePlan) -> "TableReleaseDesign":
        """Return the design with the tables that were chosen when the file was measured."""
        if plan.choice is None:
            return self
        return replace(self, design=design_of_chosen(plan, self.design.epsilon))


def design_release_of_tables(
    spec: ReleaseSpec,
    found: FileCounts,
    *,
    confidential_allowed: bool = False,
    effort: float | None = None,
) -> TableReleaseDesign:
    """Return the tables with the least noise that keep the central promise.

    Nothing of the file is used but its categories, where the plan declares none.
    """
    del confidential_allowed, effort  # what every designer takes: there is no prior, no search
    labels = categories_by_column(found.columns)
    limit = spec.central
    assert limit is not None, "tables go with a central promise"
    possible = possible_records(spec, labels)
    wanted = "auto" if spec.tables == "auto" else requested_tables(spec, list(labels))
    options: Any = {
        "tables": wanted,
        "objective": spec.objective,
        "largest_weight": spec.largest_weight,
    }
    try:
        rows, precision = found.rows_per_person, None
        if found.people is not None and spec.rows_per_person is None:
            precision = float_below(gaussian_budget(limit, spec.delta) * OF_PEOPLE / 2)
            alone = design_tables(labels, limit, spec.delta, **options)
            rows = found.people.choose_rows(precision, least=tolerable_loss(alone))
        design = design_for_people(
            labels,
            limit,
            spec.delta,
            rows_per_person=rows,
            people_precision=precision,
            **options,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    assert math.isfinite(design.guarantee.epsilon), "a design keeps its promise"
    spent = no_local_promise(rows)
    even = as_distribution(None, {name: len(own) for name, own in labels.items()})
    return TableReleaseDesign(found.columns, spent, possible, even, design)

"""The protected tables of a release: which, how noisy, and at what promise."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import Table, as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.guarantee import no_local_promise
from pramble.releasing.design import ReleaseDesign, Valuation
from pramble.releasing.record_design import labels_of, rules_of, wanted_tables
from pramble.releasing.scan import Counts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.tables.design_tables import TableDesign, design_of_chosen, design_tables
from pramble.values import value

ABOUT_TABLES = (
    "The tables hold noise; they agree with each other and may have negative cells. Estimates and "
    "intervals come from them (pramble.estimate)."
)
ABOUT_RECORDS = (
    "The complete records were drawn from the tables alone: open and count those. What was not "
    "measured together is modelled in them, without interactions beyond those measured."
)


@value(eq=False)
class TablesDesign(ReleaseDesign):
    """Which tables of a file are measured, and how.

    Attributes
    ----------
    design : TableDesign
    """

    design: TableDesign

    @property
    def plan(self) -> TablePlan:
        """What is measured."""
        return self.design.plan

    @property
    def nulls(self) -> Mapping[str, Any]:
        """What an empty cell of each column counts as, where that is a label."""
        found = {column.name: column.spec.missing for column in self.columns}
        return {name: label for name, label in found.items() if label not in (None, True)}

    def notes(self) -> list[str]:
        """Return what a reader of protected tables must know, one sentence each."""
        several = self.spent.rows
        rest = [f"Of a person with more than {several} rows a random {several} were counted."]
        return [ABOUT_TABLES, ABOUT_RECORDS, *(rest if several > 1 else [])]

    def entry(self) -> dict[str, Any]:
        """Return what the manifest says of the design."""
        figures = {"value": self.design.value, "bound": self.design.bound}
        return {"kind": "tables", "objective": self.design.objective, **figures}

    def valuation(self, rows: int) -> Valuation:
        """Return what tables of so many rows are valued on."""
        labels = self.labels
        law = as_distribution(None, {name: len(own) for name, own in labels.items()})
        return Valuation(labels, law, self.possible, self.plan.tables, rows)

    def accuracy(self, rows: int) -> tuple[TableOutcome, ...]:
        """Return what readers will get of protected tables, and of single columns."""
        plan = self.plan
        singles: list[Table] = [(name,) for name in plan.columns]
        return tuple(
            TableOutcome(
                table,
                plan.cells(table),
                cost_of(plan, table, rows=rows),
                rows,
                wanted=table in plan.tables,
                noise=math.sqrt(plan.cell_variance(table)),
            )
            for table in dict.fromkeys([*plan.tables, *singles])
        )


def with_tables_of(protected: TablesDesign, plan: TablePlan) -> TablesDesign:
    """Return the design with the tables that were chosen when the file was measured."""
    if plan.choice is None:
        return protected
    return replace(protected, design=design_of_chosen(plan, protected.design.epsilon))


def cost_of(plan: TablePlan, table: Table, *, rows: int) -> float:
    """Return n times the summed variance of the shares of a table, sampling included.

    For equally likely cells; the noise is the same whatever the records are.
    """
    cells = plan.cells(table)
    return 1 - 1 / cells + cells * plan.cell_variance(table) / max(rows, 1)


def design_of_tables(spec: ReleaseSpec, found: Counts) -> TablesDesign:
    """Return the tables with the least noise that keep the central promise.

    Nothing of the file is used but its categories, where the plan declares none.
    """
    labels = labels_of(found.columns)
    limit = spec.central
    assert limit is not None, "tables go with a central promise"
    try:
        possible = as_possible(rules_of(spec), labels)
        design = design_tables(
            labels,
            limit,
            spec.delta,
            tables="auto" if spec.tables == "auto" else wanted_tables(spec, list(labels)),
            rows_per_person=found.rows_per_person,
            objective=spec.objective,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    assert math.isfinite(design.guarantee.epsilon), "a design keeps its promise"
    spent = no_local_promise(found.rows_per_person)
    return TablesDesign(found.columns, spent, possible, design)

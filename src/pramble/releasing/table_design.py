"""The protected tables of a release: which, how noisy, and at what promise."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Possible, as_possible
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.record_design import labels_of, rules_of, wanted_tables
from pramble.releasing.scan import Counted, Counts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.tables.design_tables import design_tables, valued
from pramble.solvers.tables.result import TableDesign
from pramble.values import value


@value(eq=False)
class ProtectedDesign:
    """Which tables of a file are measured, and how.

    Attributes
    ----------
    columns : tuple of Counted
    design : TableDesign
    possible : Possible
        Which records can occur.
    notes : tuple of str
    """

    columns: tuple[Counted, ...]
    design: TableDesign
    possible: Possible
    notes: tuple[str, ...] = ()

    @property
    def plan(self) -> TablePlan:
        """What is measured."""
        return self.design.plan

    @property
    def labels(self) -> dict[str, tuple[Any, ...]]:
        """The categories of each column."""
        return labels_of(self.columns)

    @property
    def nulls(self) -> Mapping[str, Any]:
        """What an empty cell of each column counts as, where that is a label."""
        found = {column.name: column.spec.missing for column in self.columns}
        return {name: label for name, label in found.items() if label not in (None, True)}


def with_tables_of(protected: ProtectedDesign, plan: TablePlan) -> ProtectedDesign:
    """Return the design with the tables that were chosen when the file was measured."""
    if plan.choice is None:
        return protected
    return replace(protected, design=valued(plan, protected.design.epsilon))


def cost_of(plan: TablePlan, table: Table, *, rows: int) -> float:
    """Return n times the summed variance of the shares of a table, sampling included.

    For equally likely cells; the noise is the same whatever the records are.
    """
    cells = plan.cells(table)
    return 1 - 1 / cells + cells * plan.cell_variance(table) / max(rows, 1)


def design_of_tables(spec: ReleaseSpec, found: Counts) -> ProtectedDesign:
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
    return ProtectedDesign(found.columns, design, possible)

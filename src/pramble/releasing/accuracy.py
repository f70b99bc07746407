"""What an analyst will get of each table of a release, however it was designed."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import RecordDistribution, Table, as_distribution
from pramble.information.structural_zeros import Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.plan import Plan
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import rules_of
from pramble.releasing.table_design import ProtectedDesign, cost_of
from pramble.solvers.record.costs import plan_costs
from pramble.values import value

MOST_PAIRS = 190
"""Two-way tables up to which all are valued where columns are designed one by one."""
LOST = 1e12
"""A cost above this is that of a matrix whose equal rows differ by rounding alone."""


@value(eq=False)
class Ground:
    """What tables of a release are valued on.

    Attributes
    ----------
    labels : dict from column to its categories
    law : RecordDistribution
        Of the records, at the prior of the design.
    possible : Possible
        Which cells can occur.
    wanted : tuple of tables
        Those that the plan was to be best for; all that readers will look at.
    rows : int
    """

    labels: dict[str, tuple[Any, ...]]
    law: RecordDistribution
    possible: Possible
    wanted: tuple[Table, ...]
    rows: int

    def cells(self, table: Table) -> int:
        """Return the number of possible cells of a table."""
        return int(self.possible.mask(table).sum())

    def costs(self, plan: Plan, tables: Sequence[Table]) -> dict[Table, float]:
        """Return n times the summed variance of each of some tables."""
        found = plan_costs(plan, self.labels, self.law, tables=tables, possible=self.possible)
        return {table: cost if cost < LOST else math.inf for table, cost in found.items()}

    def outcomes(self, costs: dict[Table, float]) -> tuple[TableOutcome, ...]:
        """Return tables with what they will be worth."""
        return tuple(
            TableOutcome(table, self.cells(table), cost, self.rows, table in self.wanted)
            for table, cost in costs.items()
        )


def ground_of(job: Prepared) -> Ground:
    """Return what the tables of a release are valued on."""
    record, protected = job.record, job.protected
    if protected is not None:
        law = as_distribution(None, {name: len(own) for name, own in protected.labels.items()})
        return Ground(protected.labels, law, protected.possible, protected.plan.tables, job.rows)
    if record is not None:
        possible = as_possible(rules_of(job.spec), record.labels)
        return Ground(record.labels, record.law, possible, record.tables, job.rows)
    labels = {design.column.name: design.column.labels for design in job.designs}
    margins = {(d.column.name,): np.array(d.prior.probabilities) for d in job.designs}
    law = as_distribution(margins, {name: len(own) for name, own in labels.items()})
    return Ground(labels, law, as_possible(None, labels), wanted_of(labels), job.rows)


def wanted_of(labels: dict[str, tuple[Any, ...]]) -> tuple[Table, ...]:
    """Return the pairs of columns that readers will look at; single columns if these are many."""
    pairs = [
        (one, two)
        for one, two in combinations(labels, 2)
        if len(labels[one]) * len(labels[two]) <= MOST_WANTED_CELLS
    ]
    if pairs and len(pairs) <= MOST_PAIRS:
        return tuple(pairs)
    return tuple((name,) for name in labels)


def table_outcomes(job: Prepared) -> tuple[TableOutcome, ...]:
    """Return what readers will get of the wanted tables, and of single columns."""
    if job.protected is not None:
        return outcomes_of_tables(job.protected, rows=job.rows)
    ground = ground_of(job)
    singles: list[Table] = [
        (name,) for name, own in ground.labels.items() if len(own) <= MOST_WANTED_CELLS
    ]
    if job.record is not None:
        costs = dict(job.record.costs)
        rest = [table for table in singles if table not in costs]
    else:
        costs = {}
        rest = list(dict.fromkeys((*singles, *ground.wanted)))
    return ground.outcomes(costs | (ground.costs(job.plan, rest) if rest else {}))


def outcomes_of_tables(protected: ProtectedDesign, *, rows: int) -> tuple[TableOutcome, ...]:
    """Return what readers will get of protected tables, and of single columns."""
    plan = protected.plan
    singles: list[Table] = [(name,) for name in plan.columns]
    tables = dict.fromkeys([*plan.tables, *singles])
    return tuple(
        TableOutcome(
            table,
            plan.cells(table),
            cost_of(plan, table, rows=rows),
            rows,
            wanted=table in plan.tables,
            noise=math.sqrt(plan.cell_variance(table)),
        )
        for table in tables
    )

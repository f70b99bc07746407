"""What every designer of a release returns: the plan, what it spends, what readers get of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import RecordDistribution, Table
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.priors import Prior
from pramble.releasing.record_priors import RecordPrior
from pramble.releasing.scan import Counted
from pramble.solvers.record.costs import plan_costs
from pramble.values import value

LOST = 1e12
"""A cost above this is that of a matrix whose equal rows differ by rounding alone."""


@value(eq=False)
class Valuation:
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
        return int(self.possible.mask(table).sum())

    def costs(self, plan: Plan, tables: Sequence[Table]) -> dict[Table, float]:
        found = plan_costs(plan, self.labels, self.law, tables=tables, possible=self.possible)
        return {table: cost if cost < LOST else math.inf for table, cost in found.items()}

    def outcomes(self, costs: dict[Table, float]) -> tuple[TableOutcome, ...]:
        return tuple(
            TableOutcome(table, self.cells(table), cost, self.rows, table in self.wanted)
            for table, cost in costs.items()
        )


def several_rows(rows: int) -> list[str]:
    if rows == 1:
        return []
    sentence = (
        f"A person has at most {rows} rows; alpha of a person is so many times that of a record, "
        "priors included."
    )
    return [sentence]


@value(eq=False)
class ReleaseDesign:
    """What is released of a file, and why.

    Attributes
    ----------
    columns : tuple of Counted
        The protected columns.
    spent : RecordPrivacy
        What priors and mechanisms spend on a person together, towards everybody.
    possible : Possible
        Which records can occur.
    """

    columns: tuple[Counted, ...]
    spent: RecordPrivacy
    possible: Possible

    @property
    def labels(self) -> dict[str, tuple[Any, ...]]:
        return {column.name: column.labels for column in self.columns}

    @property
    def plan(self) -> Plan | TablePlan:
        """What is done to a record, or measured of the file."""
        raise NotImplementedError

    @property
    def priors(self) -> tuple[Prior | RecordPrior, ...]:
        """What the design was made for, with where it came from and what it spent."""
        return ()

    @property
    def confidential(self) -> tuple[str, ...]:
        """Columns whose prior was counted on the confidential file: the plan may reveal it."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the curator must know of the design, one sentence each."""
        return ()

    def notes(self) -> list[str]:
        """Return what readers must know of how records are protected, one sentence each."""
        raise NotImplementedError

    def entry(self) -> dict[str, Any]:
        """Return what the manifest says of the design; no confidential probabilities."""
        raise NotImplementedError

    def valuation(self, rows: int) -> Valuation:
        raise NotImplementedError

    def costs(self) -> Mapping[Table, float]:
        """Return what is known already: n times the summed variance of some tables."""
        return {}

    def accuracy(self, rows: int) -> tuple[TableOutcome, ...]:
        """Return what readers will get of the wanted tables, and of single columns."""
        ground, known = self.valuation(rows), dict(self.costs())
        singles: list[Table] = [
            (name,) for name, own in ground.labels.items() if len(own) <= MOST_WANTED_CELLS
        ]
        asked = singles if known else [*singles, *ground.wanted]
        rest = [table for table in dict.fromkeys(asked) if table not in known]
        assert isinstance(self.plan, Plan), "protected tables are valued by their noise"
        return ground.outcomes(known | (ground.costs(self.plan, rest) if rest else {}))

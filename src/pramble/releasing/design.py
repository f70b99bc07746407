"""What every designer of a release returns: the plan, what it spends, what readers get of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pramble.data.crosstab import Crosstab
from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import (
    RecordDistribution,
    Table,
    as_tables,
)
from pramble.information.structural_zeros import Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.outcome import FrequencyOutcome, RiskOutcome
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.promise import LocalPromise
from pramble.privacy.table_privacy import TableGuarantee
from pramble.releasing.priors import Prior
from pramble.releasing.scan import CountedColumn
from pramble.releasing.spec.settings import SEEN
from pramble.releasing.spec.spec import ReleaseSpec, RiskSpec
from pramble.risk.assess import assess
from pramble.solvers.record.costs import plan_costs
from pramble.values import frozen

# A cost above this is that of a matrix whose equal rows differ by rounding alone.
INFINITE_COST = 1e12


@frozen(eq=False)
class Valuation:
    """What tables of a release are valued on.

    ``distribution`` is that of the records at the prior of the design, ``possible`` says which
    cells can occur, and ``wanted`` are the tables that readers will look at.
    """

    labels: dict[str, tuple[Any, ...]]
    distribution: RecordDistribution
    possible: Possible
    wanted: tuple[Table, ...]
    rows: int

    def costs(self, plan: Plan, tables: Sequence[Table]) -> dict[Table, float]:
        """Return n times the summed variance of each of some tables."""
        found = plan_costs(
            plan, self.labels, self.distribution, tables=tables, possible=self.possible
        )
        return {table: cost if cost < INFINITE_COST else math.inf for table, cost in found.items()}

    def outcomes(self, costs: dict[Table, float]) -> tuple[TableOutcome, ...]:
        return tuple(
            TableOutcome(
                table, int(self.possible.mask(table).sum()), cost, self.rows, table in self.wanted
            )
            for table, cost in costs.items()
        )


@frozen(eq=False)
class ReleaseDesign:
    """What is released of a file, and why."""

    columns: tuple[CountedColumn, ...]  # the protected ones
    spent: LocalPromise  # on a person by priors and mechanisms together, against everybody
    possible: Possible  # which records can occur
    distribution: RecordDistribution  # of the records, at the prior of the design

    @property
    def plan(self) -> Plan | TablePlan:
        """What is done to a record, or measured of the file."""
        raise NotImplementedError

    @property
    def wanted(self) -> tuple[Table, ...]:
        """The tables that readers will look at."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return what readers must know of how records are protected, one sentence each."""
        raise NotImplementedError

    def entry(self) -> dict[str, Any]:
        """Return what the manifest says of the design; no confidential probabilities."""
        raise NotImplementedError

    def figures(self) -> dict[str, Any]:
        """Return the part of the outcome that is known before anything is written."""
        raise NotImplementedError

    @property
    def priors(self) -> tuple[Prior, ...]:
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

    @property
    def proof(self) -> CentralGuarantee | TableGuarantee | None:
        """What the design itself proves against readers of the release."""
        return None

    def known_costs(self) -> Mapping[Table, float]:
        """Return n times the summed variance of the tables that the search has valued."""
        return {}

    @property
    def labels(self) -> dict[str, tuple[Any, ...]]:
        """The categories of each column."""
        return {column.name: column.labels for column in self.columns}

    def frequencies(self) -> tuple[FrequencyOutcome, ...]:
        """Return how often each category occurs in the confidential file."""
        return tuple(
            FrequencyOutcome(column.name, column.labels, before=column.counts)
            for column in self.columns
        )

    def valuation(self, rows: int) -> Valuation:
        return Valuation(self.labels, self.distribution, self.possible, self.wanted, rows)

    def accuracy(self, rows: int) -> tuple[TableOutcome, ...]:
        """Return what readers will get of the wanted tables, and of single columns."""
        ground, known = self.valuation(rows), dict(self.known_costs())
        singles: list[Table] = [
            (name,) for name, own in ground.labels.items() if len(own) <= MOST_WANTED_CELLS
        ]
        # The search has valued the wanted tables already, single columns perhaps not.
        asked = singles if known else [*singles, *ground.wanted]
        rest = [table for table in dict.fromkeys(asked) if table not in known]
        assert isinstance(self.plan, Plan), "protected tables are valued by their noise"
        return ground.outcomes(known | (ground.costs(self.plan, rest) if rest else {}))


def categories_by_column(columns: Sequence[CountedColumn]) -> dict[str, tuple[Any, ...]]:
    return {column.name: column.labels for column in columns}


def rules_of(spec: ReleaseSpec) -> list[dict[str, Any]] | None:
    """Return the rules of what is possible: without repairs, and where they came from."""
    rules = [
        {word: part for word, part in rule.items() if word not in ("repair", SEEN)}
        for rule in spec.possible
    ]
    return rules or None


def possible_records(spec: ReleaseSpec, labels: Mapping[str, Sequence[Any]]) -> Possible:
    """Return which records can occur by the rules of a plan."""
    try:
        return as_possible(rules_of(spec), labels)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None


def requested_tables(spec: ReleaseSpec, names: Sequence[str]) -> tuple[Table, ...]:
    """Return the tables that a plan is to be best for; of fewer columns where there are fewer.

    A column that no named table has is wanted alone: a plan must say what is done to it.
    """
    asked = spec.tables
    try:
        tables = as_tables(min(asked, len(names)) if isinstance(asked, int) else asked, names)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    return (*tables, *((name,) for name in columns_without_table(tables, names)))


def columns_without_table(tables: Sequence[Table], names: Sequence[str]) -> list[str]:
    return [name for name in names if not any(name in table for table in tables)]


def risk_figures(table: Crosstab, risk: RiskSpec, *, plan: Plan) -> RiskOutcome:
    """Return the risk of the file before and after randomising, under one model."""
    keys = list(risk.keys)
    before = assess(table, keys, population_size=risk.population_size, model="two-way")
    after: Any = before
    if set(plan.columns) & set(keys):
        # What bears on the keys: single columns, or the whole.
        own = {name: plan[name] for name in plan.columns if name in keys and plan.is_simple}
        after = before.after(own or plan)
    return RiskOutcome(
        keys=risk.keys,
        model=before.model,
        population_size=risk.population_size,
        sample_uniques=before.sample_uniques,
        tau1_before=before.tau1,
        tau2_before=before.tau2,
        tau1_after=after.tau1,
        tau2_after=after.tau2,
        classes=(before.below(3), before.below(5)),
    )

"""What one promise proposes: designs of single columns, or one plan for several."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from pramble.data.table import Crosstab
from pramble.information.error import typical_error
from pramble.information.fisher import estimation_variance
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.plan import Plan
from pramble.risk.after.branches import seen_branches
from pramble.risk.after.readings import shares_over
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.result import Design
from pramble.values import value


class Proposal(Protocol):
    """A plan with what it keeps and how well it can be estimated from."""

    @property
    def designs(self) -> Mapping[str, Any]:
        """The designs, by what they are for."""

    @property
    def plan(self) -> Plan:
        """What is done to a record."""

    @property
    def informations(self) -> Mapping[str, float]:
        """Mutual information between true and released values, in nats, by design."""

    @property
    def whole(self) -> float:
        """The entropy that the information is a share of."""

    def error(self, n: int) -> float:
        """Return the standard error of a typical cell of the worst wanted table."""


@value(eq=False)
class ByColumn:
    """A design for each column."""

    designs: Mapping[str, Design]

    @property
    def plan(self) -> Plan:
        """The mechanisms, by column."""
        return Plan({name: design.mechanism for name, design in self.designs.items()})

    @property
    def informations(self) -> dict[str, float]:
        """The information of each column."""
        return {name: design.information for name, design in self.designs.items()}

    @property
    def whole(self) -> float:
        """The sum of the columns' entropies."""
        return sum(entropy(design.prior) for design in self.designs.values())

    def error(self, n: int) -> float:
        """Return the standard error of a typical category of the worst column.

        Asymptotic, for the maximum likelihood estimate from n released records; infinite when a
        column is not identifiable.
        """
        return max(
            typical_error(
                estimation_variance(design.prior, design.mechanism),
                cells=len(design.prior),
                rows=n,
            )
            for design in self.designs.values()
        )


@value(eq=False)
class ByRecord:
    """One plan for several columns, and the file's counts by the keys."""

    design: RecordDesign
    table: Crosstab

    @property
    def designs(self) -> dict[str, RecordDesign]:
        """The one design, by its columns."""
        return {", ".join(self.design.plan.columns): self.design}

    @property
    def plan(self) -> Plan:
        """What is done to a record."""
        return self.design.plan

    @cached_property
    def informations(self) -> dict[str, float]:
        """The information about the record, over branches and blocks."""
        found = sum(
            seen.share * mutual_information(shares_over(seen.table, name, m.labels.values), m)
            for seen in seen_branches(self.plan, self.table)
            for name, m in seen.mechanisms.items()
        )
        return dict.fromkeys(self.designs, float(found))

    @cached_property
    def whole(self) -> float:
        """The sum of the columns' entropies."""
        axes = [axis for axis, name in enumerate(self.table.columns) if name in self.plan.columns]
        return sum(entropy(self.table.array(axes=[axis]) / self.table.n) for axis in axes)

    def error(self, n: int) -> float:
        """Return the same for the wanted table that is worst."""
        found = self.design.columns()
        return float(max(found["standard_error"])) / math.sqrt(n)

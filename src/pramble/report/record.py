"""What a release of records promises and shows, as plain data: its plan, tables and columns."""

import math
from dataclasses import replace
from typing import Any

from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.privacy.certificate import Certificate
from pramble.values import value

Numbers = tuple[float, ...]
HALF_WIDTH = 1.96
"""Standard errors on either side of an estimate that make a 95 % interval."""


@value
class TableOutcome:
    """What an analyst will get of a table.

    Attributes
    ----------
    columns : tuple of str
    cells : int
        Number of its possible cells.
    cost : float
        n times the summed variance of its cells' estimated shares, at the prior of the design.
    rows : int
        The number n of records.
    """

    columns: tuple[str, ...]
    cells: int
    cost: float
    rows: int

    @property
    def error(self) -> float:
        """The root mean square standard error of a cell's estimated share."""
        return math.sqrt(self.cost / (self.cells * max(self.rows, 1)))

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of such a cell."""
        return HALF_WIDTH * self.error

    @property
    def typical(self) -> float:
        """The share of a typical cell: all cells together, divided by their number."""
        return 1 / self.cells

    @property
    def useless(self) -> bool:
        """Whether the interval of a typical cell is wider than the cell."""
        return not 2 * self.half_width <= self.typical

    @property
    def smallest_group(self) -> float:
        """How many records a cell needs for its interval to be within half of it, ± 50 %."""
        return 2 * self.half_width * self.rows


@value
class FrequencyOutcome:
    """The categories of one column: in the file, and as an analyst estimates them.

    Attributes
    ----------
    name, categories : str, tuple
    before : tuple or None
        Counts in the confidential file (raw figures; None in what may be published).
    estimate, lower, upper : tuple or None
        The analyst's estimate from the release alone, and its 95 % interval; None in a dry run.
    """

    name: str
    categories: tuple[Any, ...]
    before: tuple[int, ...] | None = None
    estimate: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None

    @property
    def after(self) -> None:
        """Released values are not counted at face value: most of them are blank."""


@value(eq=False)
class RecordOutcome:
    """The plan of a release of records.

    Attributes
    ----------
    plan, certificate
        What is done to a record, and its certificate.
    objective : str
        What it is best for.
    alpha, alpha_prior : float
        Part of α given to the plan, and part spent on its prior.
    prior_source, prior_detail : str
    tables : tuple of TableOutcome
        The wanted tables; empty in what may be published when the prior is confidential.
    columns : tuple of FrequencyOutcome
    loss : float or None
        By how much the tables would cost less with a plan that knew the file's own frequencies, as
        a share of what they cost (a raw figure).
    """

    plan: Plan | Views
    certificate: Certificate
    objective: str
    alpha: float
    alpha_prior: float
    prior_source: str
    prior_detail: str
    tables: tuple[TableOutcome, ...]
    columns: tuple[FrequencyOutcome, ...]
    loss: float | None = None

    @property
    def views(self) -> int:
        """How many views there are; none in a release of one file."""
        return len(self.plan) if isinstance(self.plan, Views) else 0

    @property
    def branches(self) -> int:
        """In how many ways a record may be treated, in one file."""
        return 1 if isinstance(self.plan, Views) else len(self.plan.branches)

    @property
    def useless(self) -> tuple[TableOutcome, ...]:
        """The tables that will be noise."""
        return tuple(table for table in self.tables if table.useless)

    def without_raw(self) -> "RecordOutcome":
        """Return a copy without figures that were counted on the confidential file."""
        return replace(
            self,
            columns=tuple(replace(column, before=None) for column in self.columns),
            tables=() if self.prior_source == "confidential" else self.tables,
            loss=None,
        )

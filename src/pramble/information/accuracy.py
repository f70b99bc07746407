"""What the tables of a release will be worth to its readers, and what they are good for."""

import math
from collections.abc import Sequence

from pramble import numbers
from pramble.information.fisher import HALF_WIDTH, typical_error
from pramble.values import frozen


@frozen
class TableOutcome:
    r"""What an analyst will get of a table: the one yardstick of every release.

    The error of a table is the root mean square of the standard errors of its cells' estimated
    shares, :math:`\sqrt{C/(Kn)}` with C the cost and K the number of cells. A typical cell, one of
    :math:`n/K` records, has the 95 % interval of 1.96 times that on either side.

    Attributes
    ----------
    columns : tuple of str
    cells : int
        Number of its possible cells.
    cost : float
        n times the summed variance of its cells' estimated shares, at the prior of the design.
    rows : int
        The number n of records.
    wanted : bool
        Whether the plan was to be best for it.
    noise : float
        The standard deviation of the noise in a cell of a protected table, in people; not a number
        where records are randomised.
    """

    columns: tuple[str, ...]
    cells: int
    cost: float
    rows: int
    wanted: bool = True
    noise: float = math.nan

    @property
    def error(self) -> float:
        """The root mean square standard error of a cell's estimated share."""
        return typical_error(self.cost, cells=self.cells, rows=self.rows)

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

    @property
    def name(self) -> str:
        return " × ".join(self.columns)

    @property
    def text(self) -> str:
        if self.half_width >= 1:  # wider than any share can be wrong
            return "cannot be told"
        return f"± {numbers.points(self.half_width)} points"


@frozen
class Verdict:
    """What a release is good for, in words.

    Attributes
    ----------
    typical : TableOutcome
        The wanted table that is in the middle by its interval.
    good, bad : str
        What readers may use the release for, and what not; empty if there is nothing to say.
    """

    typical: TableOutcome
    good: str
    bad: str

    @property
    def headline(self) -> str:
        return "none" if math.isinf(self.typical.cost) else self.typical.text

    @property
    def about(self) -> str:
        if math.isinf(self.typical.cost):
            return "of the typical wanted table can be told"
        return (
            f"95 % interval of a typical cell of {self.typical.name} ({self.typical.cells:,} cells)"
        )

    @property
    def is_noise(self) -> bool:
        return not self.good


def worst_first(tables: Sequence[TableOutcome]) -> list[TableOutcome]:
    return sorted(tables, key=lambda table: -table.half_width / table.typical)


KINDS = {1: "single columns", 2: "two-way tables", 3: "three-way tables"}
# Useless tables that a sentence names.
NAMED = 3


def verdict_of(tables: Sequence[TableOutcome]) -> Verdict:
    """Return what tables are good for: down to which groups, and which of them are noise."""
    wanted = [table for table in tables if table.wanted] or list(tables)
    middle = sorted(wanted, key=lambda table: table.half_width)[len(wanted) // 2]
    good, bad = [], []
    for size in sorted({len(table.columns) for table in tables}):
        own = [table for table in tables if len(table.columns) == size]
        kind = KINDS.get(size, f"tables of {size} columns")
        useful = [table for table in own if not table.useless]
        lost = worst_first([table for table in own if table.useless])
        if useful:
            group = max(table.smallest_group for table in useful)
            which = kind if not lost else f"{len(useful)} of the {len(own)} {kind}"
            good.append(f"{which} down to groups of about {numbers.rounded(group)} records")
        if lost and not useful:
            bad.append(kind)
        elif lost:
            names = ", ".join(table.name for table in lost[:NAMED])
            bad.append(names + (f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""))
    return Verdict(
        middle,
        f"Good for {'; '.join(good)}." if good else "",
        f"Not for {'; '.join(bad)}: the interval of a typical cell is wider than the cell."
        if bad
        else "",
    )

"""What a design of tables is: a plan, how noisy each table gets, and how we know."""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.information.distributions import Table
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.certificate import certify
from pramble.privacy.guarantee import epsilon_above
from pramble.privacy.table_privacy import TableGuarantee, table_guarantee
from pramble.shown import Display, Grid, number, shortened
from pramble.values import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 1 + Fraction(1, 10**6)
"""Designs are found to this precision: noise is asked for that is smaller by so much."""


@value(eq=False, repr=False)
class TableDesign(Display, Tidy):
    r"""The answer of :func:`~pramble.design_tables`.

    Attributes
    ----------
    plan : TablePlan
        The precision of every part of the wanted tables.
    epsilon, delta : float
        What was asked for.
    objective : str
    value : float
        The variance of the noise summed over all cells of the wanted tables, each table weighted by
        its importance. For relative errors: the variance in shares of the squared mean count of a
        cell, averaged over the cells of a table and summed over tables, for a file of one record
        (of n records, divide by n²). For the largest error: the largest variance of a cell, times
        the importance of its table.
    bound : float
        Proven: no linear mechanism with Gaussian noise of this promise has less.
    deviations : mapping from table to float
        The standard deviation of the noise in a cell of each wanted table, in people.
    guarantee : TableGuarantee
        What is proven of the plan.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": 2, "age": 5, "town": 9}, 1.0, 1e-6, tables=2)
    >>> d
    Design of 3 tables at ε = 1, δ = 1e-06: noise of ± 8.63 people a cell
    ----------------------------------
                cells  people a cell ±
    ----------------------------------
    sex × age      10            11.12
    sex × town     18            9.549
    age × town     45             7.54
    ----------------------------------
    No linear Gaussian mechanism has more than ... % less noise variance.
    """

    plan: TablePlan
    epsilon: float
    delta: float
    objective: str
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """How far value and bound are apart, as a share of the value."""
        return abs(self.bound - self.value) / self.value

    @cached_property
    def deviations(self) -> Mapping[Table, float]:
        """The standard deviation of the noise in a cell of each wanted table, in people."""
        return {table: math.sqrt(own) for table, own in self.plan.variances.items()}

    @cached_property
    def guarantee(self) -> TableGuarantee:
        """What is proven of the plan."""
        return table_guarantee(self.plan)

    @property
    def typical(self) -> float:
        """The root mean square of the noise over the cells of all wanted tables, in people."""
        plan = self.plan
        cells = sum(plan.cells(table) for table in plan.tables)
        total = sum(plan.cells(table) * own**2 for table, own in self.deviations.items())
        return math.sqrt(total / cells)

    def epsilon_for(self, people: float) -> float:
        """Return the smallest ε at which these tables have at most so much noise, in people.

        That is of ``typical``, at the same δ. Noise falls as μ grows, for all tables alike.

        Examples
        --------
        >>> import pramble
        >>> columns = {"sex": 2, "age": 5, "town": 9}
        >>> epsilon = pramble.design_tables(columns, 1.0, 1e-6).epsilon_for(20)
        >>> round(epsilon, 2), pramble.design_tables(columns, epsilon, 1e-6).typical <= 20
        (0.41, True)
        """
        if not 0 < people < math.inf:
            raise InvalidInput(f"people must be a positive number; found {people!r}.")
        proven = self.guarantee
        times = Fraction(self.typical) / Fraction(people) * MARGIN
        return epsilon_above(self.delta, proven.mu_squared * times**2)

    def plot(self) -> "Figure":
        """Return a figure of the noise in a cell of each wanted table."""
        return self.plan.plot()

    def columns(self) -> dict[str, list[Any]]:
        """Return the wanted tables as plain lists, with the noise in a cell of each."""
        return {
            "table": [" × ".join(table) for table in self.deviations],
            "cells": [self.plan.cells(table) for table in self.deviations],
            "deviation": list(self.deviations.values()),
        }

    def shown(self) -> Grid:
        """Return a line for each wanted table."""
        rows = [
            [name, f"{cells:,}", number(deviation, 4)]
            for name, cells, deviation in zip(*self.columns().values(), strict=True)
        ]
        several = "table" if len(rows) == 1 else "tables"
        return Grid(
            f"Design of {len(rows):,} {several} at ε = {self.epsilon:g}, δ = {self.delta:g}: "
            f"noise of ± {self.typical:.3g} people a cell",
            ["", "cells", "people a cell ±"],
            shortened(rows),
            below=f"No linear Gaussian mechanism has more than {100 * self.gap:.2g} % less noise "
            "variance.",
        )


@certify.register
def _(design: TableDesign, *, distance: Any = None) -> Any:
    """Certify the plan of a design."""
    return certify(design.plan, distance=distance)

"""What a design of a record is: a plan, what it costs, and how we know."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pramble.data.frames import Tidy
from pramble.information.distributions import Table
from pramble.information.fisher import HALF_WIDTH, typical_error
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.plan import Plan
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.certificate import Certificate, certify
from pramble.shown import Display, Grid, number, shortened
from pramble.values import value
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@value(eq=False, repr=False)
class RecordDesign(Display, Tidy):
    r"""The answer of :func:`~pramble.design_record`.

    Attributes
    ----------
    plan : Plan
        What is done to a record.
    alpha : float
        What was asked for, of the whole record; for a central promise, the α that the plan has
        besides.
    objective : str
    value : float
        Estimation: the sum over the wanted tables of n times the summed asymptotic variance of
        their cells, sampling included. Information: nats about the whole record.
    bound : float
        A proven bound on the value of any plan, or any other mechanism on the record.
    costs : mapping from table to float
        The part of the value of each wanted table.
    notes : tuple of str
    information : float
        Nats about the whole record; of blocks side by side at least so many.
    central : CentralGuarantee or None
        What is proven of the shuffled file, where a central promise was asked for.
    distance : mapping from column to Distance, or None
        Where α is per unit of distance, summed over the columns.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_record({"a": 2, "b": 2}, 1.0, tables=1)
    >>> sorted(d.costs), d.gap < 0.5, d.certificate.satisfies(1.0)
    ([('a',), ('b',)], True, True)
    """

    plan: Plan
    alpha: float
    objective: str
    value: float
    bound: float
    costs: Mapping[Table, float]
    notes: tuple[str, ...] = ()
    information: float = 0.0
    central: CentralGuarantee | None = None
    distance: Mapping[str, Distance] | None = None

    @property
    def gap(self) -> float:
        """How far value and bound are apart, as a share of the value."""
        return abs(self.bound - self.value) / abs(self.value) if self.value else 0.0

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the plan, of the whole record; by distance, per unit."""
        return certify(self.plan, distance=self.distance)

    def columns(self) -> dict[str, list[Any]]:
        """Return the wanted tables as plain lists: their cells, cost, and what it means.

        ``standard_error`` is that of a typical cell of a table estimated from one record; divide
        it by the root of the number of records.
        """
        sizes = {name: len(own.labels) for name, own in self.plan.column_labels().items()}
        cells = [math.prod(sizes[name] for name in table) for table in self.costs]
        costs = list(self.costs.values())
        return {
            "table": [" × ".join(table) for table in self.costs],
            "cells": cells,
            "cost": costs,
            "standard_error": [
                typical_error(cost, cells=size) for cost, size in zip(costs, cells, strict=True)
            ],
        }

    def shown(self) -> Grid:
        """Return a line for each wanted table, and what the plan is worth as a whole."""
        rows = [
            [table, f"{cells:,}", number(cost), f"± {number(100 * HALF_WIDTH * error / 100, 3)}"]
            for table, cells, cost, error in zip(*self.columns().values(), strict=True)
        ]
        promise = "" if self.central is None else f", central ε = {self.central.epsilon:.4g}"
        promise += "" if self.distance is None else " per unit of distance"
        branches = several(len(self.plan.branches), "branch")
        kind = "nats" if self.objective == "information" else "n × summed variance"
        return Grid(
            f"RecordDesign: {branches}, α = {number(self.alpha)}{promise}",
            ["table", "cells", "n × variance", "points at 10,000 records"],
            shortened(rows),
            notes=self.notes,
            below=f"In all {number(self.value, 6)} ({kind}), proven bound "
            f"{number(self.bound, 6)}. ± points: 95 % of a typical cell.",
        )

    def plot(self) -> "Figure":
        """Return a figure of the plan: which columns each part shows."""
        return self.plan.plot()

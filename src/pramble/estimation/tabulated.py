"""The one form of whatever is handed to an estimation: sums over released cells."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pramble.data.table import Crosstab, Powers, totals
from pramble.errors import InvalidData
from pramble.estimation.layout import Layout
from pramble.estimation.stacked import StackedOperator
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import Inverting
from pramble.mechanisms.plan import Block
from pramble.values import Floats, Integers, value

WEIGHTED: tuple[Powers, ...] = ((1, 0), (2, 0))
MEASURED: tuple[Powers, ...] = (*WEIGHTED, (1, 1), (2, 1), (2, 2))


@value(eq=False)
class Tabulated:
    r"""Sums over the released cells of a table.

    Attributes
    ----------
    layout : Layout
    axes : tuple of operators
        What was done to the cells: one operator for each block, or one for all branches.
    sums : mapping from (a, b) to (R, T1, …, Tk) arrays
        :math:`\sum_i w_i^a y_i^b` over the records of each released cell, with weights w (1
        without weights) and a measure y.
    n : float
        Number of records.
    mechanisms : mapping from columns to Mechanism
        The mechanism of each axis, where each axis is one block.
    weighted : bool
        Whether weights were given.
    backend : str
        The frame library to answer in.
    finer : (StackedOperator, array) or None
        Operator and counts of a finer table, whose cells are those of this one, each with all
        combinations of further columns: the likelihood is then that of the finer one.
    """

    layout: Layout
    axes: tuple[Inverting, ...]
    sums: Mapping[Powers, Floats]
    n: float
    mechanisms: Mapping[Block, Mechanism]
    weighted: bool = False
    backend: str = "pyarrow"
    finer: tuple[StackedOperator, Floats] | None = None

    @property
    def counts(self) -> Floats:
        """Counts of records, or sums of their weights."""
        return self.sums[1, 0]

    @property
    def squared_weights(self) -> Floats | None:
        """Sums of squared weights, of weights that sum to one; None without weights."""
        return self.sums[2, 0] / self.counts.sum() ** 2 if self.weighted else None


def powers_for(weights: Any, measure: str | None) -> tuple[Powers, ...]:
    """Return the sums of powers that an estimate needs."""
    if measure is not None:
        return MEASURED
    return () if weights is None else WEIGHTED


def sums_over(table: Crosstab, place: Integers, shape: tuple[int, ...]) -> dict[Powers, Floats]:
    """Return counts and sums of a cross-tabulation as arrays, its cells at the places given."""
    size = int(np.prod(shape))

    def array_of(values: Any) -> Floats:
        return totals(place, values, size).reshape(shape)

    sums = {powers: array_of(values) for powers, values in table.sums.items()}
    sums = sums or {(1, 0): array_of(table.counts)}
    refuse_no_weight(sums[1, 0])
    return sums


def refuse_no_weight(sums: Floats) -> None:
    """Raise when all weights are zero."""
    if not sums.any():
        raise InvalidData("Weights must not be negative, nor all zero.")

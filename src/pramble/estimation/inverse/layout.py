"""The layout of a table: cells of the randomised columns, sparse over the untouched ones.

The one form of whatever is handed to an estimation: sums over released cells.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, Powers, crosstab, refuse_empty, totals
from pramble.data.labels import Label, Labels
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.inverse.stacked import StackedOperator
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import Inverting
from pramble.mechanisms.plan import Block
from pramble.values import Floats, Integers, value

NO_GROUPS = np.zeros((1, 0), dtype=np.int64)


@value(eq=False)
class Layout:
    """Which columns make a table, and in what order its cells stand."""

    by: tuple[str, ...]  # The columns, in the caller's order
    cells: Mapping[str, Integers]  # (K,): the code of its label in each cell of a group
    categories: Mapping[str, Sequence[Label]]  # by randomised column
    levels: Mapping[str, Sequence[Label]]  # by untouched column
    # (R, number of untouched columns): codes of the combinations of untouched labels that occur
    groups: Integers

    @property
    def size(self) -> int:
        return next((len(codes) for codes in self.cells.values()), 1)

    @cached_property
    def codes(self) -> dict[str, Integers]:
        """For every column the code of its label in each cell, groups first."""
        untouched = {
            name: np.repeat(self.groups[:, j], self.size) for j, name in enumerate(self.levels)
        }
        return untouched | {
            name: np.tile(own, len(self.groups)) for name, own in self.cells.items()
        }

    @cached_property
    def order(self) -> Integers:
        return np.asarray(np.lexsort([self.codes[name] for name in reversed(self.by)]))

    def order_of(self, name: str) -> Sequence[Label]:
        return self.levels[name] if name in self.levels else self.categories[name]

    def flatten(self, cells: Floats) -> Floats:
        """Return an (R, …) array of all cells as a vector in the order of the table."""
        return np.asarray(cells.reshape(-1)[self.order])

    def unflatten(self, vector: Floats) -> Floats:
        """Return a vector in the order of the table as an (R, K) array."""
        cells = np.empty_like(vector)
        cells[self.order] = vector
        return cells.reshape(len(self.groups), self.size)

    def labels(self) -> dict[str, list[Label]]:
        answer = {}
        for name in self.by:
            known = self.order_of(name)
            answer[name] = [known[code] for code in self.codes[name][self.order].tolist()]
        return answer


def groups_of(table: Crosstab, untouched: int) -> tuple[Integers, Integers]:
    """Return the combinations of the first columns that occur, and which one each cell is in.

    The cells of a cross-tabulation are in lexicographic order.
    """
    prefix = table.cells[:, :untouched]
    fresh = np.r_[True, (prefix[1:] != prefix[:-1]).any(axis=1)]
    return prefix[fresh], np.cumsum(fresh) - 1


def refuse_many(shape: Sequence[int], by: Sequence[str], *, most: int = MOST_CELLS) -> None:
    if math.prod(shape) > most:
        raise InvalidInput(
            f"A table must have at most {most:,} cells; {', '.join(by)} make "
            f"{math.prod(shape):,}. Take fewer columns at a time."
        )


WEIGHTED: tuple[Powers, ...] = ((1, 0), (2, 0))
MEASURED: tuple[Powers, ...] = (*WEIGHTED, (1, 1), (2, 1), (2, 2))


@value(eq=False)
class Tabulated:
    r"""Sums over the released cells of a table."""

    layout: Layout
    # What was done to the cells: one operator for each block, or one for all branches
    axes: tuple[Inverting, ...]
    # (a, b): \sum_i w_i^a y_i^b over the records of each released cell, with weights w (1 without
    # weights) and a measure y
    sums: Mapping[Powers, Floats]
    n: float  # Number of records
    # by columns: the mechanism of each axis, where each axis is one block
    mechanisms: Mapping[Block, Mechanism]
    weighted: bool = False  # Whether weights were given
    backend: str = "pyarrow"  # The frame library to answer in
    # Operator and counts of a finer table, whose cells are those of this one,
    # each with all combinations of further columns: the likelihood is then that of the finer one
    finer: tuple[StackedOperator, Floats] | None = None

    @property
    def counts(self) -> Floats:
        return self.sums[1, 0]

    @property
    def stated(self) -> dict[str, Any]:
        """What an estimate states of the records."""
        return {"n": self.n, "backend": self.backend}

    @property
    def squared_weights(self) -> Floats | None:
        """Sums of squared weights, of weights that sum to one; None without weights."""
        return self.sums[2, 0] / self.counts.sum() ** 2 if self.weighted else None


def count_released(
    records: Records,
    untouched: Sequence[str],
    labels: Mapping[str, Labels],
    *,
    weights: Any,
    measure: str | None,
    presence: Sequence[str] = (),
) -> Crosstab:
    """Return released cells by untouched columns and by those whose released labels are given."""
    powers: tuple[Powers, ...] = () if weights is None else WEIGHTED
    found = crosstab(
        records,
        [*untouched, *labels],
        labels=labels,
        weights=weights,
        measure=measure,
        powers=powers if measure is None else MEASURED,
        presence=presence,
    )
    refuse_empty(found, records.name)
    return found


def sums_over(table: Crosstab, place: Integers, shape: tuple[int, ...]) -> dict[Powers, Floats]:
    given: Mapping[Powers, Any] = table.sums or {(1, 0): table.counts}
    size = math.prod(shape)
    sums = {powers: totals(place, own, size).reshape(shape) for powers, own in given.items()}
    refuse_no_weight(sums[1, 0])
    return sums


def refuse_no_weight(sums: Floats) -> None:
    if not sums.any():
        raise InvalidData("Weights must not be negative, nor all zero.")

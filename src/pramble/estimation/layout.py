"""The layout of a table: one axis per randomised column, sparse over the untouched ones."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from pramble.data.labels import Label
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.axes import category_shape
from pramble.mechanisms.operators.base import MechanismOperator
from pramble.mechanisms.operators.product import axes_of
from pramble.values import Floats, Integers, value

NO_GROUPS = np.zeros((1, 0), dtype=np.int64)


@value(eq=False)
class Layout:
    """Which columns make a table, and in what order its cells stand.

    Attributes
    ----------
    by : tuple of str
        The columns, in the caller's order.
    randomised : mapping from column to Mechanism
    levels : mapping from untouched column to its labels
    groups : (R, number of untouched columns) array
        Codes of the combinations of untouched labels that occur.
    """

    by: tuple[str, ...]
    randomised: Mapping[str, Mechanism]
    levels: Mapping[str, tuple[Label, ...]]
    groups: Integers

    @cached_property
    def axes(self) -> tuple[MechanismOperator, ...]:
        """The operators of the randomised columns, one per axis."""
        return tuple(axis for m in self.randomised.values() for axis in axes_of(m))

    @cached_property
    def codes(self) -> dict[str, Integers]:
        """For every column the code of its label in each cell, groups first."""
        inner = [m.shape[0] for m in self.randomised.values()]
        cells = math.prod(inner)
        grid = np.unravel_index(np.arange(cells), inner) if inner else ()
        answer = {name: np.repeat(self.groups[:, j], cells) for j, name in enumerate(self.levels)}
        for name, codes in zip(self.randomised, grid, strict=True):
            answer[name] = np.tile(codes, len(self.groups))
        return answer

    @cached_property
    def order(self) -> Integers:
        """The permutation that sorts the cells by the columns as the caller named them."""
        return np.asarray(np.lexsort([self.codes[name] for name in reversed(self.by)]))

    def flatten(self, cells: Floats) -> Floats:
        """Return an (R, S1, …, Sk) array as a vector in the order of the table."""
        return np.asarray(cells.reshape(-1)[self.order])

    def unflatten(self, vector: Floats) -> Floats:
        """Return a vector in the order of the table as an (R, S1, …, Sk) array."""
        cells = np.empty_like(vector)
        cells[self.order] = vector
        return cells.reshape(len(self.groups), *category_shape(self.axes))

    def labels(self) -> dict[str, list[Label]]:
        """Return the label of every cell, column by column."""
        answer = {}
        for name in self.by:
            known = self.levels[name] if name in self.levels else self.randomised[name].categories
            answer[name] = [known[code] for code in self.codes[name][self.order].tolist()]
        return answer


def layout_of(
    table: Crosstab, randomised: Mapping[str, Mechanism], *, by: Sequence[str]
) -> tuple[Layout, Integers]:
    """Return the layout of a cross-tabulation, and where each of its cells stands in the array.

    The untouched columns come first in the cross-tabulation, whose cells are in lexicographic
    order.
    """
    untouched = len(table.columns) - len(randomised)
    prefix = table.cells[:, :untouched]
    fresh = np.r_[True, (prefix[1:] != prefix[:-1]).any(axis=1)]
    levels = dict(zip(table.columns[:untouched], table.levels, strict=False))
    layout = Layout(tuple(by), dict(randomised), levels, prefix[fresh])
    shape = (len(layout.groups), *(m.shape[1] for m in randomised.values()))
    if math.prod(shape) > MOST_CELLS:
        raise InvalidInput(
            f"A table must have at most {MOST_CELLS:,} cells; {', '.join(by)} make "
            f"{math.prod(shape):,}. Take fewer columns at a time."
        )
    codes = table.cells[:, untouched:].T
    return layout, np.asarray(np.ravel_multi_index((np.cumsum(fresh) - 1, *codes), shape))

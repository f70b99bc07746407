"""The layout of a table: cells of the randomised columns, sparse over the untouched ones."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from pramble.data.labels import Label
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput
from pramble.limits import MOST_CELLS
from pramble.values import Floats, Integers, value

NO_GROUPS = np.zeros((1, 0), dtype=np.int64)


@value(eq=False)
class Layout:
    """Which columns make a table, and in what order its cells stand.

    Attributes
    ----------
    by : tuple of str
        The columns, in the caller's order.
    cells : mapping from randomised column to (K,) array
        The code of its label in each cell of a group.
    categories : mapping from randomised column to its labels
    levels : mapping from untouched column to its labels
    groups : (R, number of untouched columns) array
        Codes of the combinations of untouched labels that occur.
    """

    by: tuple[str, ...]
    cells: Mapping[str, Integers]
    categories: Mapping[str, Sequence[Label]]
    levels: Mapping[str, Sequence[Label]]
    groups: Integers

    @property
    def size(self) -> int:
        """Number of cells of a group."""
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
        """The permutation that sorts the cells by the columns as the caller named them."""
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
        """Return the label of every cell, column by column."""
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
    """Refuse a table whose cells cannot be held together."""
    if math.prod(shape) > most:
        raise InvalidInput(
            f"A table must have at most {most:,} cells; {', '.join(by)} make "
            f"{math.prod(shape):,}. Take fewer columns at a time."
        )

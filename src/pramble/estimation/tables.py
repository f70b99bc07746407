"""Cross-classify a frame: counts with one axis per randomised column, sparse over the others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.counts import distinct, encode
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.axes import category_shape, output_shape
from pramble.mechanisms.operators.base import MechanismOperator
from pramble.mechanisms.operators.product import axes_of
from pramble.values import Floats

Codes = NDArray[np.int64]

MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Layout:
    """Which columns make a table, and in what order its cells stand.

    Attributes
    ----------
    by : names of the columns, in the caller's order
    randomised : mechanism of every randomised column
    levels : labels of every untouched column, sorted
    groups : (R, number of untouched columns) codes of the combinations that occur
    """

    by: tuple[str, ...]
    randomised: dict[str, Mechanism]
    levels: dict[str, tuple[Any, ...]]
    groups: Codes

    @cached_property
    def axes(self) -> tuple[MechanismOperator, ...]:
        """One operator per randomised column."""
        return tuple(axis for m in self.randomised.values() for axis in axes_of(m))

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """For every column the code of its label in each cell, groups first."""
        inner = [m.shape[0] for m in self.randomised.values()]
        cells = math.prod(inner)
        grid = np.unravel_index(np.arange(cells), inner) if inner else ()
        answer = {name: np.repeat(self.groups[:, j], cells) for j, name in enumerate(self.levels)}
        for name, codes in zip(self.randomised, grid, strict=True):
            answer[name] = np.tile(codes, len(self.groups))
        return answer

    @cached_property
    def order(self) -> Codes:
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

    def labels(self) -> dict[str, list[Any]]:
        """Return the label of every cell, column by column."""
        answer = {}
        for name in self.by:
            known = self.levels[name] if name in self.levels else self.randomised[name].categories
            answer[name] = [known[code] for code in self.codes[name][self.order].tolist()]
        return answer


@dataclass(frozen=True)
class Table:
    """A layout with, for every record, the released cell it falls in."""

    layout: Layout
    cell: Codes
    shape: tuple[int, ...]

    def sums(self, values: Floats | None = None) -> Floats:
        """Return the sum of ``values`` (by default 1) over the records of each released cell."""
        flat = np.bincount(self.cell, values, minlength=math.prod(self.shape))
        return np.asarray(flat, dtype=np.float64).reshape(self.shape)


def cross_classify(
    columns: Mapping[str, Any], plan: Mapping[str, Mechanism], *, by: Sequence[str]
) -> Table:
    """Return the table of some columns of a frame."""
    randomised = {name: plan[name] for name in by if name in plan}
    untouched = [name for name in by if name not in plan]
    levels, group, groups = combine_untouched(columns, untouched)
    codes = [encode(columns[name], m.outputs, column=name) for name, m in randomised.items()]
    rows = len(codes[0]) if codes else len(group)
    if not rows:
        raise InvalidData("A release must have at least one row; found none.")
    if not untouched:
        group, groups = np.zeros(rows, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    layout = Layout(tuple(by), randomised, levels, groups)
    shape = (len(groups), *(m.shape[1] for m in randomised.values()))
    refuse_huge(shape, by)
    cell = np.ravel_multi_index((group, *codes), shape)
    return Table(layout, cell, (len(groups), *output_shape(layout.axes)))


def combine_untouched(
    columns: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, tuple[Any, ...]], Codes, Codes]:
    """Return sorted levels, the group of each record, and the codes of the groups that occur."""
    levels: dict[str, tuple[Any, ...]] = {}
    coded: list[Codes] = []
    for name in names:
        codes, labels = distinct(columns[name])
        order = sorted(range(len(labels)), key=lambda i: sort_key(labels[i]))
        rank = np.empty(len(labels), dtype=np.int64)
        rank[order] = np.arange(len(labels))
        levels[name] = tuple(labels[i] for i in order)
        coded.append(rank[codes])
    if not coded:
        return levels, np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    sizes = [len(levels[name]) for name in names]
    refuse_huge(sizes, names, most=2**62)
    occurring, group = np.unique(np.ravel_multi_index(coded, sizes), return_inverse=True)
    return levels, group.ravel(), np.column_stack(np.unravel_index(occurring, sizes))


def sort_key(label: Any) -> tuple[str, Any]:
    """Return a key that sorts labels of several types; null comes first."""
    if label is None:
        return "", 0
    return type(label).__name__, label


def refuse_huge(shape: Sequence[int], by: Sequence[str], *, most: int = MOST_CELLS) -> None:
    """Raise when a table would not fit."""
    if math.prod(shape) > most:
        raise InvalidInput(
            f"A table must have at most {most:,} cells; {', '.join(by)} make "
            f"{math.prod(shape):,}. Take fewer columns at a time."
        )

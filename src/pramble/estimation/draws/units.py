"""Columns that are drawn together: all of them where they have few combinations, else some."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramble.estimation.draws.released import Factors, Released
from pramble.values import Integers, value

MOST_TOGETHER = 2_000_000
"""Patterns times combinations up to which all columns are drawn together."""

MOST_UNIT = 32
"""Combinations of the columns of a unit otherwise."""


@value(eq=False)
class Units:
    """Sets of columns, by place, that are drawn together; see the kernel for the arrays."""

    moves: Integers
    ends: Integers
    strides: Integers
    widths: Integers
    columns: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def touched(self, factors: Factors) -> NDArray[np.bool_]:
        found = np.zeros((len(self), len(factors.columns)), dtype=np.bool_)
        for u, own in enumerate(self.columns):
            found[u] = [bool(set(own) & set(columns)) for columns in factors.columns]
        return found


def units_of(release: Released) -> Units:
    shape = release.shape
    if len(release.counts) * math.prod(shape) <= MOST_TOGETHER:
        return laid_out([list(range(len(shape)))], shape)
    names = list(release.labels)
    tied = [[names.index(name) for name in table] for table, _ in release.possible.tables]
    return laid_out(gathered_columns(shape, tied), shape)


def gathered_columns(shape: Sequence[int], tied: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return sets of columns with few combinations each; tied ones stay together where they can.

    A column that only moves together with another, since other cells cannot occur, would be stuck.

    >>> gathered_columns((4, 4, 5, 2), [(0, 2)])
    [[0, 2], [1, 3]]
    """
    found: list[list[int]] = []
    for columns in [*tied, *([axis] for axis in range(len(shape)))]:
        fresh = [axis for axis in columns if not any(axis in own for own in found)]
        room = [
            own for own in found if math.prod(shape[axis] for axis in [*own, *fresh]) <= MOST_UNIT
        ]
        if fresh and room and len(columns) == 1:
            room[0].extend(fresh)
        elif fresh:
            found.append(fresh)
    return found


def laid_out(units: Sequence[Sequence[int]], shape: Sequence[int]) -> Units:
    """Return the moves of some units among all combinations, the last column running fastest."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    moves = [
        sum(
            np.indices([shape[axis] for axis in own])[i].ravel() * strides[axis]
            for i, axis in enumerate(own)
        )
        for own in units
    ]
    wide = max(map(len, units))
    steps, widths = (np.zeros((len(units), wide), dtype=np.int64) for _ in range(2))
    for u, own in enumerate(units):
        steps[u, : len(own)] = [strides[axis] for axis in own]
        widths[u, : len(own)] = [shape[axis] for axis in own]
    ends = np.cumsum([0, *(len(own) for own in moves)]).astype(np.int64)
    return Units(
        np.concatenate(moves).astype(np.int64), ends, steps, widths, tuple(map(tuple, units))
    )

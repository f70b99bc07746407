r"""Alias tables in integers.

A row of :math:`T` weights with sum :math:`2^B` is laid into :math:`K = 2^k \ge T` cells that hold
:math:`2^{B-k}` units each, at most two outputs to a cell: cell :math:`c` belongs to output
:math:`c` below its threshold :math:`t_c` and to the output :math:`a_c` from there on. Because K is
a power of two, :math:`B` random bits name a unit exactly: the top :math:`k` bits the cell, the rest
the unit in it. Output z is then drawn with weight exactly :math:`w_z`; nothing is rounded and
nothing is rejected.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from pramble.values import Integers, value


@value
class Width:
    """How many bits the first word of a row has, and how many more settle a tie."""

    word: int
    extra: int

    @property
    def bits(self) -> int:
        return self.word + self.extra


FULL = Width(word=32, extra=21)


def index_bits(outputs: int) -> int:
    """Return the smallest k ≥ 1 with :math:`2^k` at least the number of outputs."""
    return max(1, (outputs - 1).bit_length())


def fill_row(weights: Integers, capacity: int, threshold: Integers, other: Integers) -> None:
    """Lay one row of weights into cells of ``capacity`` units (Walker; here in integers).

    On return cell c belongs to output c below ``threshold[c]`` and to ``other[c]`` from there on.
    A full cell has threshold 0 and itself as the other, so every threshold is below the capacity.
    """
    cells = len(threshold)
    left = np.zeros(cells, dtype=np.int64)
    left[: len(weights)] = weights
    scanty = np.empty(cells, dtype=np.int64)
    ample = np.empty(cells, dtype=np.int64)
    few = many = 0
    for cell in range(cells):
        threshold[cell] = 0
        other[cell] = cell
        if left[cell] < capacity:
            scanty[few] = cell
            few += 1
        else:
            ample[many] = cell
            many += 1
    while few:
        few -= 1
        cell = scanty[few]
        donor = ample[many - 1]
        threshold[cell] = left[cell]
        other[cell] = donor
        left[donor] -= capacity - left[cell]
        if left[donor] < capacity:
            many -= 1
            scanty[few] = donor
            few += 1


# So many cells are filled by Python in the time in which compiled code is loaded.
FILLED_BY_PYTHON = 1 << 19

_filled = [0]


@lru_cache(maxsize=1)
def compiled_fill_row() -> Any:
    from pramble.compiled import compiled

    return compiled(fill_row)


def alias_rows(weights: Integers, *, width: Width = FULL) -> tuple[Integers, Integers]:
    """Return thresholds and other outputs, each of shape (S, 2**k)."""
    S, T = weights.shape
    k = index_bits(T)
    threshold = np.empty((S, 1 << k), dtype=np.int64)
    other = np.empty((S, 1 << k), dtype=np.int64)
    fill: Any = fill_row
    _filled[0] += threshold.size
    if _filled[0] > FILLED_BY_PYTHON:
        fill = compiled_fill_row()
    for row in range(S):
        fill(weights[row], 1 << (width.bits - k), threshold[row], other[row])
    return threshold, other

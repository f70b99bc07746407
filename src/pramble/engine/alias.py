r"""Alias tables in integers.

A row of :math:`T` weights with sum :math:`2^B` is laid into :math:`K = 2^k \ge T` cells that hold
:math:`2^{B-k}` units each, at most two outputs to a cell: cell :math:`c` belongs to output
:math:`c` below its threshold :math:`t_c` and to the output :math:`a_c` from there on. Because K is
a power of two, :math:`B` random bits name a unit exactly: the top :math:`k` bits the cell, the rest
the unit in it. Output z is then drawn with weight exactly :math:`w_z`; nothing is rounded and
nothing is rejected.
"""

import numpy as np

from pramble.engine.cells import fill_row
from pramble.values import Integers, value

COMPILED_ABOVE = 1 << 19
"""So many cells are filled by Python in the time in which compiled code is loaded."""

_filled = [0]


@value
class Width:
    """How many bits the first word of a row has, and how many more settle a tie."""

    word: int
    extra: int

    @property
    def bits(self) -> int:
        """The weights are over ``2**bits``."""
        return self.word + self.extra


FULL = Width(word=32, extra=21)


def index_bits(outputs: int) -> int:
    """Return the smallest k ≥ 1 with :math:`2^k` at least the number of outputs."""
    return max(1, (outputs - 1).bit_length())


def fill_rows(weights: Integers, capacity: int, threshold: Integers, other: Integers) -> None:
    """Lay every row; see :func:`fill_row`."""
    for row in range(len(weights)):
        fill_row(weights[row], capacity, threshold[row], other[row])


def alias_rows(weights: Integers, *, width: Width = FULL) -> tuple[Integers, Integers]:
    """Return thresholds and other outputs, each of shape (S, 2**k)."""
    S, T = weights.shape
    k = index_bits(T)
    threshold = np.empty((S, 1 << k), dtype=np.int64)
    other = np.empty((S, 1 << k), dtype=np.int64)
    fill = fill_rows
    _filled[0] += threshold.size
    if _filled[0] > COMPILED_ABOVE:
        from pramble.engine.kernels import fill_rows_compiled as fill
    fill(weights, 1 << (width.bits - k), threshold, other)
    return threshold, other

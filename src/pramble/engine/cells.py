"""One row of weights into alias cells: the loop that Python runs and numba compiles."""

import numpy as np

from pramble.values import Integers


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

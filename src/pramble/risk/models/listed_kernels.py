"""Compiled inner loops of iterative proportional fitting."""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def sweep(means: Any, index: Any, targets: Any, starts: Any) -> float:
    """Scale ``means`` to each margin in turn; return the largest deviation met on the way.

    The factor of one margin is applied while the next margin is summed, so each margin costs one
    pass over the cells.
    """
    margins, cells = index.shape
    largest = 0.0
    width = 0
    for m in range(margins):
        width = max(width, starts[m + 1] - starts[m])
    sums = np.zeros(width)
    factors = np.ones(width)
    for k in range(cells):
        sums[index[0, k]] += means[k]
    for m in range(margins):
        start = starts[m]
        for s in range(starts[m + 1] - start):
            largest = max(largest, abs(sums[s] - targets[start + s]))
            factors[s] = targets[start + s] / sums[s] if sums[s] > 0 else 0.0
        sums[:] = 0.0
        if m + 1 < margins:
            for k in range(cells):
                scaled = means[k] * factors[index[m, k]]
                means[k] = scaled
                sums[index[m + 1, k]] += scaled
        else:
            for k in range(cells):
                means[k] *= factors[index[m, k]]
    return largest


@compiled
def add_products(places: Any, means: Any, matrix: Any) -> None:
    """Add ``means[k]`` at all pairs of ``places[:, k]``, in the lower triangle.

    Places grow along the first axis.
    """
    margins, cells = places.shape
    for k in range(cells):
        for a in range(margins):
            for b in range(a + 1):
                matrix[places[a, k], places[b, k]] += means[k]


@compiled
def quadratic_forms(places: Any, matrix: Any, out: Any) -> None:
    """Fill ``out[k]`` with the sum of a symmetric matrix over all pairs of ``places[:, k]``."""
    margins, cells = places.shape
    for k in range(cells):
        total = 0.0
        for a in range(margins):
            total += matrix[places[a, k], places[a, k]]
            for b in range(a):
                total += 2.0 * matrix[places[a, k], places[b, k]]
        out[k] = total

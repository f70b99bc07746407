"""Compiled inner loops of the accuracy of log-linear fits."""

from typing import Any

from pramble.compiled import compiled


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

"""Compiled inner loops of iterative proportional fitting."""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def sweep(means: Any, index: Any, targets: Any, starts: Any, slack: Any, logs: Any) -> float:
    """Scale ``means`` to each margin in turn; return the largest deviation met on the way.

    The factor of one margin is applied while the next margin is summed, so each margin costs one
    pass over the cells. A cell of a margin with slack s is scaled to its target less s times the
    logarithm of all its factors so far, which ``logs`` holds.
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
            place = start + s
            wanted = targets[place] - slack[place] * logs[place]
            largest = max(largest, abs(sums[s] - wanted))
            if slack[place] > 0 and sums[s] > 0:
                step = log_factor(sums[s], wanted, slack[place])
                logs[place] += step
                factors[s] = np.exp(step)
            else:
                factors[s] = wanted / sums[s] if sums[s] > 0 else 0.0
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
def log_factor(found: float, wanted: float, slack: float) -> float:
    """Return the root x of ``found * exp(x) + slack * x == wanted``.

    The left side is convex and grows, so Newton's steps from a point above the root fall onto it.
    """
    x = np.log(wanted / found) if wanted > found else 0.0
    for _ in range(50):
        grown = found * np.exp(x)
        step = (grown + slack * x - wanted) / (grown + slack)
        x -= step
        if abs(step) < 1e-12 * (1 + abs(x)):
            break
    return x


@compiled
def add_margin(cells: Any, high: Any, low: Any, sums: Any) -> None:
    for i in range(len(high)):
        base = high[i]
        for j in range(len(low)):
            sums[base + low[j]] += cells[i, j]


@compiled
def scale_margin(cells: Any, high: Any, low: Any, factors: Any) -> None:
    for i in range(len(high)):
        base = high[i]
        for j in range(len(low)):
            cells[i, j] *= factors[base + low[j]]

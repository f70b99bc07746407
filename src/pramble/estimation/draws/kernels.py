"""Compiled inner loops of drawing records."""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def systematic(cells: Any, start: float, places: Any) -> None:
    """Fill ``places`` with cells, each as often as expected, rounded down or up.

    The cells are laid end to end, each as long as its expected number, and one is taken at
    ``start`` in [0, 1) and at every unit after it.
    """
    rows = len(places)
    taken, end, last = 0, 0.0, 0
    for k in range(len(cells)):
        if cells[k] > 0:
            last = k
            end += cells[k] * rows
            while taken < rows and start + taken < end:
                places[taken] = k
                taken += 1
    for i in range(taken, rows):
        places[i] = last


@compiled
def walk(
    codes: Any,
    sizes: Any,
    starts: Any,
    members: Any,
    strides: Any,
    counts: Any,
    targets: Any,
    tight: Any,
    greedy: bool,  # noqa: FBT001 (compiled functions take no keywords)
    rng: Any,
) -> int:
    """Propose a new value for every column of every record; return how many were taken.

    A move changes the sum of tight (count − target)² / 2 by d, and is taken with probability
    min(1, exp(−d)); if ``greedy``, only where d is below zero. The place of a record in table t is
    ``starts[t]`` and the sum of its codes times ``strides[t]``; ``members[j]`` are the tables of
    column j, −1 beyond them. A cell where ``tight`` is NaN neither takes nor gives records.
    """
    rows, columns = codes.shape
    places = np.zeros(len(starts), dtype=np.int64)
    moved = 0
    for i in range(rows):
        places[:] = starts
        for j in range(columns):
            for k in range(members.shape[1]):
                t = members[j, k]
                if t < 0:
                    break
                places[t] += strides[t, j] * codes[i, j]
        for j in range(columns):
            if sizes[j] < 2:
                continue
            step = 1 + int(rng.random() * (sizes[j] - 1))
            new = (codes[i, j] + step) % sizes[j]
            by = new - codes[i, j]
            change = 0.0
            for k in range(members.shape[1]):
                t = members[j, k]
                if t < 0:
                    break
                old = places[t]
                to = old + by * strides[t, j]
                change += (counts[to] - targets[to] + 0.5) * tight[to]
                change -= (counts[old] - targets[old] - 0.5) * tight[old]
            if change < 0 or (not greedy and rng.random() < np.exp(-change)):
                for k in range(members.shape[1]):
                    t = members[j, k]
                    if t < 0:
                        break
                    counts[places[t]] -= 1
                    places[t] += by * strides[t, j]
                    counts[places[t]] += 1
                codes[i, j] = new
                moved += 1
    return moved

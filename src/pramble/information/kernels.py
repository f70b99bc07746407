"""Compiled inner loops over tables: iterative proportional fitting, and drawing records."""

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


@compiled
def draw_originals(
    distribution: Any,
    group_of: Any,
    counts: Any,
    entries: Any,
    starts: Any,
    sizes: Any,
    onto: Any,
    shown: Any,
    outputs: Any,
    moves: Any,
    ends: Any,
    strides: Any,
    widths: Any,
    touched: Any,
    levels: Any,
    places: Any,
) -> None:
    """Draw the original of every record, unit of columns after unit, given all that it shows.

    Records stand by pattern, ``counts`` of each. Unit u has the places ``moves[ends[u]:ends[u+1]]``
    relative to those of its first cell, and ``strides`` and ``widths`` of its columns, zero beyond
    them; a factor that it has not ``touched`` is the same in all its cells. ``levels`` are uniform
    on [0, 1), one for each record and unit. ``places`` holds the cells that records are in, and is
    overwritten. Where one unit holds all columns, all records of a pattern are drawn alike.
    """
    units = len(ends) - 1
    steps = np.zeros(np.max(ends[1:] - ends[:-1]))
    record = 0
    for p in range(len(counts)):
        g = group_of[p]
        fresh = True
        for _ in range(counts[p]):
            for u in range(units):
                base = places[record]
                for j in range(strides.shape[1]):
                    if widths[u, j] > 0:
                        base -= places[record] // strides[u, j] % widths[u, j] * strides[u, j]
                size = ends[u + 1] - ends[u]
                if fresh or units > 1:
                    total = 0.0
                    for c in range(size):
                        k = base + moves[ends[u] + c]
                        chance = distribution[g, k]
                        for j in range(shown.shape[1]):
                            f = shown[p, j]
                            if f < 0 or chance == 0.0:
                                break
                            if not touched[u, f]:
                                continue
                            if onto[f, k] < 0:
                                chance = 0.0
                            else:
                                chance *= entries[starts[f] + outputs[p, j] * sizes[f] + onto[f, k]]
                        total += chance
                        steps[c] = total
                    fresh = False
                if steps[size - 1] > 0.0:
                    level = levels[record, u] * steps[size - 1]
                    low, high = 0, size - 1
                    while low < high:
                        middle = (low + high) // 2
                        if steps[middle] > level:
                            high = middle
                        else:
                            low = middle + 1
                    places[record] = base + moves[ends[u] + low]
            record += 1

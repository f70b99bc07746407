"""Compiled branch and bound over high sets; imported on first use."""

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.kernels import compiled, gain
from pramble.values import Floats, Integers


@compiled
def relax(
    first: int,
    mass: float,
    cost: float,
    p: Floats,
    w: Floats,
    target: Floats,
    group: Integers,
    closed: Integers,
    a1: float,
    slope: float,
) -> float:
    """Return the fractional maximum over items ``first``, …, in order, closed groups left out.

    Item i is taken whole while the mass stays below ``target[i]``, where the marginal gain of mass
    equals the item's price; the first that would pass its target is taken in part, and ends it.
    """
    for i in range(first, len(p)):
        if closed[group[i]]:
            continue
        if mass >= target[i]:
            break
        if mass + p[i] <= target[i]:
            mass += p[i]
            cost += w[i]
            continue
        cost += w[i] * (target[i] - mass) / p[i]
        mass = target[i]
        break
    return gain(mass, a1, slope) - cost


@compiled
def relax_by_sums(
    first: int,
    mass: float,
    cost: float,
    p: Floats,
    w: Floats,
    target: Floats,
    sum_p: Floats,
    sum_w: Floats,
    a1: float,
    slope: float,
) -> float:
    """Return the same when no two items have equal mass, by bisection on prefix sums."""
    low, high = first, len(p)
    while low < high:
        middle = (low + high) // 2
        if mass + (sum_p[middle + 1] - sum_p[first]) <= target[middle]:
            low = middle + 1
        else:
            high = middle
    cost += sum_w[low] - sum_w[first]
    mass += sum_p[low] - sum_p[first]
    if low < len(p) and mass < target[low]:
        cost += w[low] * (target[low] - mass) / p[low]
        mass = target[low]
    return gain(mass, a1, slope) - cost


@compiled
def branch_and_bound(
    p: Floats,
    w: Floats,
    target: Floats,
    group: Integers,
    groups: int,
    a1: float,
    slope: float,
    start_cost: float,
    slack: float,
    most_nodes: int,
    found: NDArray[np.bool_],
) -> tuple[float, float, int, int]:
    """Maximise φ(p(A)) − w(A) over sets A of items sorted by w/p, p > 0.

    Returns the best value, a bound on every value, how many sets stand in ``found`` (a ring that
    keeps the last improvements), and the nodes visited. Of items with equal p only the cheapest
    can be in a best set, so leaving one out closes the rest of its group.
    """
    n, keep = len(p), len(found)
    sum_p, sum_w = np.zeros(n + 1), np.zeros(n + 1)
    sum_p[1:], sum_w[1:] = np.cumsum(p), np.cumsum(w)
    # closed[g]: whether group g is closed; closer[i]: the group that leaving out item i closed
    closed = np.zeros(groups, dtype=np.int64)
    closer = np.full(n, -1, dtype=np.int64)
    chosen = np.zeros(n, dtype=np.int64)
    masses, costs = np.zeros(n + 1), np.zeros(n + 1)
    costs[0] = start_cost
    tied = groups < n
    best = -start_cost
    passed, count, nodes, depth, i = best, 1, 0, 0, 0
    found[0, :] = False
    while True:
        # go down: take item after item while the relaxation promises more than the best
        while i < n:
            if tied and closed[group[i]]:
                i += 1
                continue
            nodes += 1
            if tied:
                bound = relax(
                    i, masses[depth], costs[depth], p, w, target, group, closed, a1, slope
                )
            else:
                bound = relax_by_sums(
                    i, masses[depth], costs[depth], p, w, target, sum_p, sum_w, a1, slope
                )
            if bound <= best + slack or nodes > most_nodes:
                # the subtree is left out; its relaxation stays part of the bound
                passed = max(passed, bound)
                break
            chosen[depth] = i
            masses[depth + 1] = masses[depth] + p[i]
            costs[depth + 1] = costs[depth] + w[i]
            depth += 1
            i += 1
            value = gain(masses[depth], a1, slope) - costs[depth]
            if value > best:
                best = value
                row = count % keep
                found[row, :] = False
                for j in range(depth):
                    found[row, chosen[j]] = True
                count += 1
        if depth == 0:
            break
        # go back: leave out the item taken last, and try the ones after it
        depth -= 1
        last = chosen[depth]
        i = last + 1
        if tied:
            # what was closed below the item opens again; leaving it out closes its own group
            for j in range(i, n):
                if closer[j] >= 0:
                    closed[closer[j]] = 0
                    closer[j] = -1
            closer[last] = group[last]
            closed[group[last]] = 1
    return best, max(best, passed), count, nodes

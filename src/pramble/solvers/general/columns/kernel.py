"""Compiled branch and bound over high sets; imported on first use."""

from typing import NamedTuple

import numpy as np

from pramble.compiled import compiled
from pramble.solvers.general.kernels import gain
from pramble.solvers.general.patterns import Sets
from pramble.values import Floats, Integers


class Items(NamedTuple):
    """Items sorted by price w/p, with the mass where the marginal gain meets each price.

    Items of equal mass form a ``group``; ``sum_p`` and ``sum_w`` are sums of the items before.
    """

    p: Floats
    w: Floats
    target: Floats
    group: Integers
    sum_p: Floats
    sum_w: Floats
    a1: float
    slope: float


@compiled
def relax(items: Items, first: int, mass: float, cost: float, closed: Integers) -> float:
    """Return the fractional maximum over items ``first``, …, in order, closed groups left out.

    Item i is taken whole while the mass stays below ``target[i]``, where the marginal gain of mass
    equals the item's price; the first that would pass its target is taken in part, and ends it.
    """
    for i in range(first, len(items.p)):
        if closed[items.group[i]]:
            continue
        if mass >= items.target[i]:
            break
        if mass + items.p[i] <= items.target[i]:
            mass += items.p[i]
            cost += items.w[i]
            continue
        cost += items.w[i] * (items.target[i] - mass) / items.p[i]
        mass = items.target[i]
        break
    return gain(mass, items.a1, items.slope) - cost


@compiled
def relax_by_sums(items: Items, first: int, mass: float, cost: float) -> float:
    """Return the same when no two items have equal mass, by bisection on prefix sums."""
    low, high = first, len(items.p)
    while low < high:
        middle = (low + high) // 2
        if mass + (items.sum_p[middle + 1] - items.sum_p[first]) <= items.target[middle]:
            low = middle + 1
        else:
            high = middle
    cost += items.sum_w[low] - items.sum_w[first]
    mass += items.sum_p[low] - items.sum_p[first]
    if low < len(items.p) and mass < items.target[low]:
        cost += items.w[low] * (items.target[low] - mass) / items.p[low]
        mass = items.target[low]
    return gain(mass, items.a1, items.slope) - cost


@compiled
def note_set(row: Sets, members: Integers) -> None:
    row[:] = False
    for j in members:
        row[j] = True


@compiled
def leave_out(item: int, group: Integers, closed: Integers, closer: Integers) -> None:
    """Open again what was closed below an item, and close the item's own group."""
    for j in range(item + 1, len(closer)):
        if closer[j] >= 0:
            closed[closer[j]] = 0
            closer[j] = -1
    closer[item] = group[item]
    closed[group[item]] = 1


@compiled
def branch_and_bound(
    items: Items, groups: int, start_cost: float, slack: float, most_nodes: int, found: Sets
) -> tuple[float, float, int, int]:
    """Maximise φ(p(A)) − w(A) over sets A of items sorted by w/p, p > 0.

    Returns the best value, a bound on every value, how many sets stand in ``found`` (a ring that
    keeps the last improvements), and the nodes visited. Of items with equal p only the cheapest
    can be in a best set, so leaving one out closes the rest of its group.
    """
    n, keep, group = len(items.p), len(found), items.group
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
                bound = relax(items, i, masses[depth], costs[depth], closed)
            else:
                bound = relax_by_sums(items, i, masses[depth], costs[depth])
            if bound <= best + slack or nodes > most_nodes:
                # the subtree is left out; its relaxation stays part of the bound
                passed = max(passed, bound)
                break
            chosen[depth] = i
            masses[depth + 1] = masses[depth] + items.p[i]
            costs[depth + 1] = costs[depth] + items.w[i]
            depth += 1
            i += 1
            value = gain(masses[depth], items.a1, items.slope) - costs[depth]
            if value > best:
                best = value
                note_set(found[count % keep], chosen[:depth])
                count += 1
        if depth == 0:
            break
        # go back: leave out the item taken last, and try the ones after it
        depth -= 1
        last = chosen[depth]
        i = last + 1
        if tied:
            leave_out(last, group, closed, closer)
    return best, max(best, passed), count, nodes

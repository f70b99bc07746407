"""Compiled loops of the solvers, imported on first use, for numba is slow to load."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pramble.compiled import compiled
from pramble.values import Floats, Integers


@compiled
def excess(t: float) -> float:
    """Return (1+t)·log(1+t) − t, by its series when t is small."""
    if abs(t) < 1e-3:
        tail = 1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42))
        return t * t * (1 / 2 - t * (1 / 6 - t * tail))
    return (1 + t) * math.log1p(t) - t


@compiled
def gain(mass: float, a1: float, slope: float) -> float:
    """Return φ at one mass; see :class:`~pramble.solvers.general.sets.Gain`."""
    return slope * mass - excess(a1 * mass)


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
    """Return the fractional maximum over items ``first``, …, in order, closed groups left out."""
    # Item i is taken whole while the mass stays below target[i], where the marginal gain of mass
    # equals the item's price; the first that would pass its target is taken in part, and ends it.
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
    items: Items,
    groups: int,
    start_cost: float,
    slack: float,
    most_nodes: int,
    found: NDArray[np.bool_],
) -> tuple[float, float, int, int]:
    """Maximise φ(p(A)) − w(A) over sets A of items sorted by w/p, p > 0."""
    # Returns the best value, a bound on every value, how many sets stand in found (a ring that
    # keeps the last improvements), and the nodes visited. Of items with equal p only the cheapest
    # can be in a best set, so leaving one out closes the rest of its group.
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
                found[count % keep, :] = False
                for j in chosen[:depth]:
                    found[count % keep, j] = True
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


SMALLEST = 1e-9
PENALTY = 60.0


class State(NamedTuple):
    """A square matrix H and what follows from it, updated in place.

    ``gram`` is H⁻¹ W H⁻ᵀ for the weight W of the queries; columns have weights ``theta``, released
    ``shares`` per weight and ``gains``.
    """

    high: NDArray[np.bool_]
    inverse: Floats
    gram: Floats
    theta: Floats
    shares: Floats
    gains: Floats
    prior: Floats
    a1: float
    slope: float
    floor: float


@compiled
def try_flip(state: State, x: int, j: int) -> tuple[float, float]:
    """Return the variance after flipping category x in column j, and its rank-one factor."""
    # Infinite when the flipped matrix is singular or has a negative column; multiplied by a penalty
    # when it carries less information than floor.
    # Sherman and Morrison: the inverse changes by factor · inverse[:, x] inverse[j, :]
    step = -state.a1 if state.high[x, j] else state.a1
    pivot = 1 + step * state.inverse[j, x]
    if abs(pivot) < 1e-10:
        return math.inf, 0.0
    factor = step / pivot
    total, information = 0.0, 0.0
    gram = state.gram
    for i in range(len(state.prior)):
        u = state.inverse[i, x]
        weight = state.theta[i] - factor * u * state.theta[j]
        if weight < SMALLEST:
            return math.inf, 0.0
        # the diagonal of the Gram matrix of the changed rows of the inverse
        square = gram[i, i] - 2 * factor * u * gram[i, j] + factor * factor * u * u * gram[j, j]
        share = state.shares[i]
        gained = state.gains[i]
        if i == j:
            share += step * state.prior[x]
            gained = gain((share - 1) / state.a1, state.a1, state.slope)
        total += share / weight * square
        information += weight * gained
    if information < state.floor:
        total *= 1 + PENALTY * (state.floor - information) / state.floor
    return total, factor


@compiled
def flip(state: State, x: int, j: int, factor: float) -> None:
    n = len(state.prior)
    u = state.inverse[:, x].copy()
    v = state.inverse[j, :].copy()
    g = state.gram[:, j].copy()
    corner = state.gram[j, j]
    state.shares[j] += (-state.a1 if state.high[x, j] else state.a1) * state.prior[x]
    state.gains[j] = gain((state.shares[j] - 1) / state.a1, state.a1, state.slope)
    state.high[x, j] = not state.high[x, j]
    old = state.theta[j]
    # row i of the inverse loses factor · u[i] · v, and the Gram matrix follows
    for i in range(n):
        state.theta[i] -= factor * u[i] * old
        for k in range(n):
            change = factor * corner * u[i] * u[k] - u[i] * g[k] - g[i] * u[k]
            state.inverse[i, k] -= factor * u[i] * v[k]
            state.gram[i, k] += factor * change


@compiled
def anneal(state: State, value: float, flips: Integers, luck: Floats, heat: float) -> float:
    """Try flips, pairs (x, j) in the rows of ``flips``; Metropolis on the log of the variance."""
    for t in range(len(flips)):
        x, j = flips[t]
        tried, factor = try_flip(state, x, j)
        # worse flips pass with probability (value / tried)^(1/heat), none at heat 0
        if tried < value or (
            heat > 0 and tried < math.inf and luck[t] < (value / tried) ** (1 / heat)
        ):
            flip(state, x, j, factor)
            value = tried
    return value


EMPTY = 1e-9


@compiled
def anneal_block(
    order: Integers,
    size: int,
    real: Floats,
    imaginary: Floats,
    picks: Integers,
    luck: Floats,
    heat: float,
) -> float:
    """Swap members ``order[:size]`` for others; return the sum of inverse powers of the best block.

    ``order`` ends as that block. ``picks`` are pairs of a member and another, by place.
    """
    count = real.shape[1]
    re, im = np.zeros(count), np.zeros(count)
    for i in range(size):
        for f in range(count):
            re[f] += real[order[i], f]
            im[f] += imaginary[order[i], f]
    value = 0.0
    for f in range(count):
        value += 1 / max(re[f] * re[f] + im[f] * im[f], EMPTY)
    best, retained = value, order.copy()
    for t in range(len(picks)):
        i, j = picks[t, 0], size + picks[t, 1]
        out, into = order[i], order[j]
        tried = 0.0
        for f in range(count):
            u = re[f] - real[out, f] + real[into, f]
            v = im[f] - imaginary[out, f] + imaginary[into, f]
            tried += 1 / max(u * u + v * v, EMPTY)
        cool = heat * (1 - t / len(picks)) ** 2 + 1e-9
        if tried < value or luck[t] < (value / tried) ** (1 / cool):
            order[i], order[j] = into, out
            for f in range(count):
                re[f] += real[into, f] - real[out, f]
                im[f] += imaginary[into, f] - imaginary[out, f]
            value = tried
            if value < best:
                best = value
                retained[:] = order
    order[:] = retained
    return best


# Keeps a character that no set shows from dividing by zero.
TINY = 1e-14


@compiled
def anneal_set(
    inside: NDArray[np.bool_],
    real: Floats,
    imaginary: Floats,
    weights: Floats,
    others: Floats,
    scale: float,
    excess: float,
    moves: Integers,
    luck: Floats,
    heat: float,
) -> float:
    r"""Flip and swap members of a set; return the least :math:`\sum_\chi w_\chi/(y_\chi + x_\chi)`.

    With :math:`x_\chi = c\,|\hat y_\chi|^2 / (k(a-1) + S)^2`, k members of S, c the ``scale``,
    :math:`a - 1` the ``excess``. ``inside`` ends as the best set. ``moves`` are pairs of cells, the
    second -1 for a flip of the first alone.
    """
    cells, count = real.shape
    re, im = np.zeros(count), np.zeros(count)
    members = 0
    for i in range(cells):
        if inside[i]:
            members += 1
            for f in range(count):
                re[f] += real[i, f]
                im[f] += imaginary[i, f]
    factor = scale / (members * excess + cells) ** 2
    value = 0.0
    for f in range(count):
        value += weights[f] / (others[f] + factor * (re[f] ** 2 + im[f] ** 2) + TINY)
    best, retained = value, inside.copy()
    for t in range(len(moves)):
        i, j = moves[t, 0], moves[t, 1]
        one = -1 if inside[i] else 1
        other = -one if j >= 0 and inside[i] != inside[j] else 0
        after = members + one + other
        if after < 1 or after > cells - 1:
            continue
        factor = scale / (after * excess + cells) ** 2
        tried = 0.0
        for f in range(count):
            u, v = re[f] + one * real[i, f], im[f] + one * imaginary[i, f]
            if other != 0:
                u += other * real[j, f]
                v += other * imaginary[j, f]
            tried += weights[f] / (others[f] + factor * (u * u + v * v) + TINY)
        cool = heat * (1 - t / len(moves)) ** 2 + 1e-9
        if tried < value or luck[t] < math.exp((value - tried) / (value + TINY) / cool):
            inside[i] = not inside[i]
            if other != 0:
                inside[j] = not inside[j]
            for f in range(count):
                re[f] += one * real[i, f]
                im[f] += one * imaginary[i, f]
                if other != 0:
                    re[f] += other * real[j, f]
                    im[f] += other * imaginary[j, f]
            members, value = after, tried
            if value < best:
                best = value
                retained[:] = inside
    inside[:] = retained
    return best

"""Compiled local search over square matrices with two-valued columns; imported on first use."""

import math
from typing import NamedTuple

from pramble.compiled import compiled
from pramble.solvers.general.kernels import gain
from pramble.solvers.general.patterns import Sets
from pramble.values import Floats, Integers

SMALLEST = 1e-9
PENALTY = 60.0


class State(NamedTuple):
    """A square matrix H and what follows from it, updated in place.

    ``gram`` is H⁻¹ W H⁻ᵀ for the weight W of the queries; columns have weights ``theta``, released
    ``shares`` per weight and ``gains``.
    """

    high: Sets
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
    """Return the variance after flipping category x in column j, and its rank-one factor.

    Infinite when the flipped matrix is singular or has a negative column; multiplied by a penalty
    when it carries less information than ``floor``.
    """
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
        worth = state.gains[i]
        if i == j:
            share += step * state.prior[x]
            worth = gain((share - 1) / state.a1, state.a1, state.slope)
        total += share / weight * square
        information += weight * worth
    if information < state.floor:
        total *= 1 + PENALTY * (state.floor - information) / state.floor
    return total, factor


@compiled
def flip(state: State, x: int, j: int, factor: float) -> None:
    """Flip, and update everything by rank one."""
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

"""Compiled local search over square matrices with two-valued columns; imported on first use."""

import math

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.pricing_kernel import compiled, excess
from pramble.values import Floats, Integers

Sets = NDArray[np.bool_]

SMALLEST = 1e-9
PENALTY = 60.0


@compiled
def flipped(
    x: int,
    j: int,
    high: Sets,
    inverse: Floats,
    gram: Floats,
    theta: Floats,
    shares: Floats,
    gains: Floats,
    p: Floats,
    a1: float,
    slope: float,
    floor: float,
) -> tuple[float, float]:
    """Return the variance after flipping category x in column j, and its rank-one factor.

    Infinite when the flipped matrix is singular or has a negative column; multiplied by a penalty
    when it carries less information than ``floor``.
    """
    step = -a1 if high[x, j] else a1
    pivot = 1 + step * inverse[j, x]
    if abs(pivot) < 1e-10:
        return math.inf, 0.0
    factor = step / pivot
    total, information = 0.0, 0.0
    for i in range(len(p)):
        u = inverse[i, x]
        weight = theta[i] - factor * u * theta[j]
        if weight < SMALLEST:
            return math.inf, 0.0
        square = gram[i, i] - 2 * factor * u * gram[i, j] + factor * factor * u * u * gram[j, j]
        share = shares[i]
        gain = gains[i]
        if i == j:
            share += step * p[x]
            gain = slope * (share - 1) / a1 - excess(share - 1)
        total += share / weight * square
        information += weight * gain
    if information < floor:
        total *= 1 + PENALTY * (floor - information) / floor
    return total, factor


@compiled
def apply_flip(
    x: int,
    j: int,
    factor: float,
    high: Sets,
    inverse: Floats,
    gram: Floats,
    theta: Floats,
    shares: Floats,
    gains: Floats,
    p: Floats,
    a1: float,
    slope: float,
) -> None:
    """Flip, and update everything by rank one."""
    n = len(p)
    u = inverse[:, x].copy()
    v = inverse[j, :].copy()
    g = gram[:, j].copy()
    corner = gram[j, j]
    shares[j] += -a1 * p[x] if high[x, j] else a1 * p[x]
    gains[j] = slope * (shares[j] - 1) / a1 - excess(shares[j] - 1)
    high[x, j] = not high[x, j]
    old = theta[j]
    for i in range(n):
        theta[i] -= factor * u[i] * old
        for k in range(n):
            inverse[i, k] -= factor * u[i] * v[k]
            gram[i, k] += factor * (factor * corner * u[i] * u[k] - u[i] * g[k] - g[i] * u[k])


@compiled
def anneal(
    high: Sets,
    inverse: Floats,
    gram: Floats,
    theta: Floats,
    shares: Floats,
    gains: Floats,
    p: Floats,
    a1: float,
    slope: float,
    floor: float,
    value: float,
    rows: Integers,
    columns: Integers,
    luck: Floats,
    heat: Floats,
) -> float:
    """Try the proposed flips in turn, accepting by Metropolis on the log of the variance."""
    for t in range(len(rows)):
        tried, factor = flipped(
            rows[t], columns[t], high, inverse, gram, theta, shares, gains, p, a1, slope, floor
        )
        if tried < value or (
            heat[t] > 0 and tried < math.inf and luck[t] < (value / tried) ** (1 / heat[t])
        ):
            apply_flip(
                rows[t], columns[t], factor, high, inverse, gram, theta, shares, gains, p, a1, slope
            )
            value = tried
    return value

"""Compiled local search over square matrices with two-valued columns; imported on first use."""

import math

from pramble.solvers.general.kernels import compiled, gain
from pramble.solvers.general.patterns import Sets
from pramble.values import Floats, Integers

SMALLEST = 1e-9
PENALTY = 60.0


@compiled
def try_flip(
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
    # Sherman and Morrison: the inverse changes by factor · inverse[:, x] inverse[j, :]
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
        # the diagonal of the Gram matrix of the changed rows of the inverse
        square = gram[i, i] - 2 * factor * u * gram[i, j] + factor * factor * u * u * gram[j, j]
        share = shares[i]
        worth = gains[i]
        if i == j:
            share += step * p[x]
            worth = gain((share - 1) / a1, a1, slope)
        total += share / weight * square
        information += weight * worth
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
    gains[j] = gain((shares[j] - 1) / a1, a1, slope)
    high[x, j] = not high[x, j]
    old = theta[j]
    # row i of the inverse loses factor · u[i] · v, and the Gram matrix follows
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
        tried, factor = try_flip(
            rows[t], columns[t], high, inverse, gram, theta, shares, gains, p, a1, slope, floor
        )
        # worse flips pass with probability (value / tried)^(1/heat), none at heat 0
        if tried < value or (
            heat[t] > 0 and tried < math.inf and luck[t] < (value / tried) ** (1 / heat[t])
        ):
            apply_flip(
                rows[t], columns[t], factor, high, inverse, gram, theta, shares, gains, p, a1, slope
            )
            value = tried
    return value

"""Minimise a smooth function inside an open domain: limited-memory BFGS with backtracking."""

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.values import Floats

MEMORY = 20
PATIENCE = 15
FIRST_STEP = 0.1

Objective = Callable[[Floats], tuple[float, Floats]]
"""Value and gradient; an infinite value outside the domain."""


def descend(
    objective: Objective,
    x: Floats,
    *,
    rounds: int,
    tolerance: float,
    budget: SearchBudget,
    operations: float,
) -> Floats:
    """Return where so many rounds lead, or where ``PATIENCE`` of them gain less than tolerance.

    ``operations`` is what the objective takes.
    """
    value, slope = objective(x)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    values = [value]
    for _ in range(rounds):
        step = direction(slope, pairs)
        if step @ slope <= 0:
            pairs.clear()
            step = direction(slope, pairs)
        found = backtrack(objective, x, step, value=value, fall=float(step @ slope))
        if found is None:
            break
        length, value, after = found
        pairs.append((-length * step, after - slope))
        if pairs[-1][0] @ pairs[-1][1] <= 0:
            pairs.pop()
        x, slope = x - length * step, after
        budget.spend((1 - math.log2(length)) * operations)
        values.append(value)
        if budget.is_over():
            break
        if len(values) > PATIENCE and values[-PATIENCE] - value < tolerance:
            break
    return x


def direction(slope: Floats, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the inverse Hessian times the slope, by the two loops of Nocedal (1980)."""
    step = slope.copy()
    if not pairs:
        return np.asarray(step * min(1.0, FIRST_STEP / np.abs(step).max()))
    shares = []
    for moved, turned in reversed(pairs):
        shares.append((moved @ step) / (moved @ turned))
        step -= shares[-1] * turned
    moved, turned = pairs[-1]
    step *= (moved @ turned) / (turned @ turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        step += moved * (share - (turned @ step) / (moved @ turned))
    return step


def backtrack(
    objective: Objective, x: Floats, step: Floats, *, value: float, fall: float
) -> tuple[float, float, Floats] | None:
    """Return a length that lowers the value enough, with value and slope there, if there is one."""
    length = 1.0
    while length > 1e-12:
        found, slope = objective(x - length * step)
        if found <= value - 1e-4 * length * fall:
            return length, found, slope
        length *= 0.5 if np.isfinite(found) else 0.25
    return None

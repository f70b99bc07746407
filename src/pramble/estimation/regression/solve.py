"""The root of a corrected score, by Newton steps of limited length."""

from dataclasses import replace

import numpy as np

from pramble.errors import NotConverged
from pramble.estimation.regression.basis import FLAT, Basis
from pramble.estimation.regression.families import Linear
from pramble.estimation.regression.signed import Point, Problem
from pramble.estimation.regression.told import holding
from pramble.estimation.sources import InsideSource
from pramble.values import Floats

MOST_STEPS = 60
MOST_HALVINGS = 12
DECREMENT = 1e-10
LONGEST = 4.0
"""How far a step may move the linear predictors, in the root of the mean square."""

ROUNDING = 1e-12

INSIDE = (
    "The signed weights have no solution; estimates are from the cells made non-negative "
    "(minimum chi-square), which biases them a little. More records, or fewer covariates, help."
)


HELD = (
    "The signed weights have no solution; what cannot be told from noise is held near zero, so "
    "that the rest can be estimated."
)


def solve(problem: Problem, *, classes: int) -> tuple[Problem, Point, list[str]]:
    """Return the solution, with the problem it is of.

    Where signed weights have none, it is that of non-negative cells; where there are too many of
    these, that with the directions held that are noise.
    """
    found = climb(problem, problem.start(classes))
    if found is not None:
        return problem, found, []
    cells = problem.source.inside()
    if cells is not None:
        other = replace(problem, source=InsideSource(problem.source, cells))
        found = climb(other, other.start(classes))
        if found is not None:
            return other, found, [INSIDE]
    start = problem.at(problem.start(classes))
    hold = holding(problem, start)
    if hold is not None:
        held = replace(problem, hold=hold)
        found = climb(held, start.theta)
        if found is not None:
            return held, found, [HELD]
    raise NotConverged(
        f"The corrected score must have a solution that {MOST_STEPS} steps find; it has not. "
        "Randomisation left too little for so many coefficients: take fewer covariates, coarser "
        "categories, as in C(x == 'a'), or more records."
    )


def climb(problem: Problem, theta: Floats) -> Point | None:
    """Return the local maximum that is reached from θ; None if none is.

    Where the information is not positive, a step takes its absolute value, which still leads up.
    """
    point = problem.at(theta)
    for _ in range(MOST_STEPS):
        move, decrement, is_up = newton(point, problem.basis)
        if not np.isfinite(move).all():
            return None
        if is_up and decrement < DECREMENT:
            last = problem.at(point.theta + problem.basis.directions(move))
            return last if last.value >= point.value - 1e-6 else point
        if not isinstance(problem.family, Linear):
            move = move * min(1.0, LONGEST / max(float(np.linalg.norm(move)), 1e-300))
        fresh = risen(problem, point, problem.basis.directions(move))
        if fresh is None:
            small = decrement < 1e-7 * max(abs(point.value), 1.0)
            return point if is_up and small else None
        point = fresh
    return None


def newton(point: Point, basis: Basis) -> tuple[Floats, float, bool]:
    """Return a step of φ, the rise it promises, and whether the information is positive."""
    values, vectors = basis.of(point.information)
    is_up = bool(values[0] > -FLAT * max(values[-1], 0.0))
    lengths = np.maximum(np.abs(values), FLAT * max(np.abs(values).max(), 1e-300))
    along = vectors.T @ (basis.T.T @ point.score)
    return vectors @ (along / lengths), float(along @ (along / lengths)), is_up


def risen(problem: Problem, point: Point, step: Floats) -> Point | None:
    """Return the first point along a step, halved again and again, that is not lower."""
    slack = ROUNDING * max(abs(point.value), 1.0)
    for _ in range(MOST_HALVINGS):
        fresh = problem.at(point.theta + step)
        if fresh.value >= point.value - slack and np.isfinite(fresh.information).all():
            return fresh
        step = step / 2
    return None

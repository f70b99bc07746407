"""The least variance of estimates under a distance, by columns."""

import math
from dataclasses import replace

import numpy as np

from pramble.data.labels import as_labels
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.fewer import fewer_outputs
from pramble.solvers.general.columns.interior_point import Optimum, optimal_mixture
from pramble.solvers.general.columns.variance_bounds import sharp_bound, violations
from pramble.solvers.general.diagnostics import answer
from pramble.solvers.general.labelling import most_outputs, name_outputs
from pramble.solvers.general.variance import Variance, observed_variance, query_variance
from pramble.solvers.metric.information import best_matrix, distance_of
from pramble.solvers.metric.pair_bound import pair_bound
from pramble.solvers.metric.rays import (
    distinct_rays,
    path_rays,
    peaks,
    pushed,
    with_complements,
)
from pramble.solvers.metric.squares import best_square
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats

KEYWORDS = {"outputs", "workload", "distance"}

MOST_ENUMERATED = 14
"""Categories of a path whose columns are all tried: 2^13 of them."""

MOST_SEARCHED = 160
ROUNDS, ROUNDS_FOR_SQUARES = 25, 8
"""After some, the columns are good enough to choose S of them from."""

BATCH = 80
MOST_COLUMNS = 400
MOST_SPREAD = 40.0
"""α between the two farthest categories up to which columns can be mixed in floats."""

LEAST_EFFORT = 0.05
GAP = 1e-6
CLOSE = 1e-8

NOT_SHARP = (
    "The bound holds for every mechanism under this distance and any number of outputs, but is not "
    "sharp: how much of the gap could still be closed is not known."
)


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    distance, budget, most = distance_of(problem), problem.budget(), most_outputs(problem)
    variance = Variance(problem.prior, problem.workload)
    informative, _ = best_matrix(
        problem.prior, problem.alpha, distance, budget=budget.part(problem.tolerance)
    )
    if problem.alpha * distance.diameter > MOST_SPREAD:
        return choose(problem, [name_outputs(problem, informative)], bound=0.0)
    rays, theta, bound = best_columns(
        problem.prior,
        problem.alpha,
        distance,
        variance,
        rounds=ROUNDS if math.isinf(most) else ROUNDS_FOR_SQUARES,
        tolerance=problem.tolerance,
        budget=budget,
    )
    matrices = [(rays * theta[:, None]).T, informative]
    queries = np.eye(problem.size) if problem.workload is None else problem.workload
    if most < math.inf:
        starts = [informative, *side_by_side(problem, distance, budget)]
        square = best_square(starts, matrices[0], problem.prior, queries, budget=budget)
        fewer = fewer_outputs(matrices[0], problem.prior, queries, most=int(most))
        matrices = [square, fewer, matrices[1]]
    fitting = [rows_to_one(one) for one in matrices if one.shape[1] <= most and sums_to_one(one)]
    found = [name_outputs(problem, one) for one in fitting]
    return choose(problem, found, bound=bound)


def side_by_side(problem: Problem, distance: Distance, budget: SearchBudget) -> list[Floats]:
    """Return the product of the best matrices of the columns whose distances are summed."""
    if len(distance.parts) < 2:
        return []
    table = problem.prior.reshape([part.size for part in distance.parts])
    product: Floats = np.ones((1, 1))
    for axis, part in enumerate(distance.parts):
        effort = max(budget.left() / (2 * len(distance.parts)), LEAST_EFFORT)
        own = replace(
            problem,
            prior=np.moveaxis(table, axis, 0).reshape(part.size, -1).sum(axis=1),
            labels=as_labels(part.size),
            distance=part,
            workload=None,
            outputs="same",
            search=budget.part(problem.tolerance, effort=effort, quiet=True),
        )
        product = np.asarray(np.kron(product, solve(own).mechanism.matrix), dtype=np.float64)
    return [product]


def choose(problem: Problem, found: list[Mechanism], *, bound: float) -> Design:
    """Return the mechanism of least variance."""
    values = [query_variance(problem.prior, one, problem.workload) for one in found]
    best = int(np.argmin(values))
    value = values[best]
    bound = min(max(bound, observed_variance(problem.prior, problem.workload)), value)
    closed = value - bound <= problem.tolerance * value
    return answer(
        problem,
        found[best],
        value=value,
        bound=bound,
        stopped="tolerance" if closed else "search",
        notes=() if closed else (NOT_SHARP,),
    )


def sums_to_one(matrix: Floats) -> bool:
    """Whether a mixture is one: a search that ran out of time may leave something else."""
    return bool(np.abs(matrix.sum(axis=1) - 1).max() < CLOSE)


def rows_to_one(matrix: Floats) -> Floats:
    """Return a matrix with rows that sum to one, from a mixture that is nearly one."""
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def best_columns(
    prior: Floats,
    alpha: float,
    distance: Distance,
    variance: Variance,
    *,
    rounds: int = ROUNDS,
    tolerance: float,
    budget: SearchBudget,
) -> tuple[Floats, Floats, float]:
    """Return rays, how much of each, and a proven bound on the variance of any mechanism.

    On a short path every ray is tried and the bound is sharp; else rays are looked for uphill from
    those in use.
    """
    bound, close = pair_bound(prior, alpha, distance, variance), max(tolerance, GAP)
    whole = distance.is_path and distance.size <= MOST_ENUMERATED
    every = path_rays(alpha * distance.lengths) if whole else None
    rays = with_complements(peaks(distance, alpha), distance, alpha)
    if every is not None and len(every) <= 4 * BATCH:
        rays = every
    optimum = optimal_mixture(rays, variance, tolerance=close, budget=budget)
    for _ in range(rounds if every is None else ROUNDS):
        if optimum.variance - bound <= close * optimum.variance or budget.is_over():
            break
        if every is not None:
            worth = violations(every, optimum, prior)
            bound = max(bound, sharp_bound(optimum, float(worth.max())))
            fresh = every[np.argsort(-worth)[:BATCH]]
        elif distance.size > MOST_SEARCHED:
            break
        else:
            fresh = uphill(rays, optimum, prior, alpha, distance)
        budget.spend(60 * BATCH * distance.size**2)
        budget.tell("adding columns", value=optimum.variance, bound=bound)
        needed = min(distance.size * (distance.size + 1) // 2, MOST_COLUMNS)
        heavy = np.argsort(-optimum.theta)[: needed + BATCH]
        grown = distinct_rays(np.vstack([rays[heavy], fresh]))
        better = optimal_mixture(grown, variance, tolerance=close, budget=budget)
        done = better.variance > optimum.variance * (1 - close) and every is None
        if better.variance <= optimum.variance:
            rays, optimum = grown, better
        if done:
            break
    kept = optimum.theta > 1e-9 * optimum.theta.max()
    return rays[kept], optimum.theta[kept], bound


def uphill(
    rays: Floats, optimum: Optimum, prior: Floats, alpha: float, distance: Distance
) -> Floats:
    """Return rays that the prices of an optimum make worth having, most of all first."""

    def slopes(columns: Floats) -> Floats:
        mass = (columns @ prior)[:, None]
        image = columns @ optimum.gradient
        square = (image * columns).sum(axis=1, keepdims=True)
        return np.asarray(2 * image / mass - square / mass**2 * prior - optimum.prices)

    rng = np.random.default_rng(len(rays))
    starts = rays[np.argsort(-optimum.theta)[:BATCH]]
    mixed = np.exp(rng.standard_normal((BATCH, distance.size)) * 1e-3)
    found = [np.vstack([starts, mixed])]
    for _ in range(4):
        found.append(pushed(found[-1], distance, alpha, slopes))
    fresh = distinct_rays(np.vstack(found[1:]))
    worth = violations(fresh, optimum, prior)
    order = np.argsort(-worth)[:BATCH]
    return np.asarray(fresh[order][worth[order] > 0])

r"""The least variance of estimates under a distance, by columns.

As many outputs as categories: vertices of the mixtures, and exchanges of their columns.

With exactly S columns :math:`v_j` their weights are :math:`\theta = V^{-1}1`: such matrices are the
vertices of :math:`\{\theta \ge 0 : \sum_j \theta_j v_j = 1\}`, which linear programmes with random
gains visit, or gains that the best mixture of any number of columns gives. From the best ones a
column is exchanged for another ray as long as that lowers the variance and keeps :math:`\theta \ge
0`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pramble.data.labels import as_labels
from pramble.information.fisher import fisher
from pramble.mechanisms.distance import Distance
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.estimation import least_variance_design
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.outputs import (
    fewer_outputs,
    float_variance,
    most_outputs,
    name_outputs,
)
from pramble.solvers.general.variance import Optimum, Variance, optimal_mixture
from pramble.solvers.general.variance_bounds import sharp_bound, violations
from pramble.solvers.metric.information import (
    best_metric_matrix,
    distinct_rays,
    kronecker,
    pair_bound,
    path_rays,
    peaks,
    pushed,
    required_distance,
    with_complements,
)
from pramble.solvers.problem import DesignProblem
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

# Categories of a path whose columns are all tried: 2^13 of them.
MOST_ENUMERATED = 14

MOST_SEARCHED = 160
# After some, the columns are good enough to choose S of them from.
ROUNDS, ROUNDS_FOR_SQUARES = 25, 8

BATCH = 80
MOST_COLUMNS = 400
# α between the two farthest categories up to which columns can be mixed in floats.
MOST_SPREAD = 40.0

LEAST_EFFORT = 0.05
GAP = 1e-6
CLOSE = 1e-8

NOT_SHARP = (
    "The bound holds for every mechanism under this distance and any number of outputs, but is not "
    "sharp: how much of the gap could still be closed is not known."
)


def solve_metric_variance(problem: DesignProblem) -> Design:
    distance, budget, most = required_distance(problem), problem.budget(), most_outputs(problem)
    variance = Variance(problem.prior, problem.workload)
    informative, _ = best_metric_matrix(
        problem.prior, problem.alpha, distance, budget=budget.part(problem.tolerance)
    )
    if problem.alpha * distance.diameter > MOST_SPREAD:
        return least_variance_design(
            problem, [name_outputs(problem, informative)], bound=0.0, notes=(NOT_SHARP,)
        )
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
        starts = [informative, *product_of_columns(problem, distance, budget)]
        square = best_metric_square(starts, matrices[0], problem.prior, queries, budget=budget)
        fewer = fewer_outputs(matrices[0], problem.prior, queries, most=int(most))
        matrices = [square, fewer, matrices[1]]
    # a search that ran out of time may leave rows that do not sum to one
    sums = [one.sum(axis=1, keepdims=True) for one in matrices]
    found = [
        name_outputs(problem, one / total)
        for one, total in zip(matrices, sums, strict=True)
        if one.shape[1] <= most and np.abs(total - 1).max() < CLOSE
    ]
    return least_variance_design(problem, found, bound=bound, notes=(NOT_SHARP,))


def product_of_columns(
    problem: DesignProblem, distance: Distance, budget: SearchBudget
) -> list[Floats]:
    """Return the product of the best matrices of the columns whose distances are summed."""
    if len(distance.parts) < 2:
        return []
    table, found = problem.prior.reshape([part.size for part in distance.parts]), []
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
        found.append(solve_metric_variance(own).mechanism.matrix)
    return [kronecker(found)]


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
    """Return rays, how much of each, and a proven bound on the variance of any mechanism."""
    # On a short path every ray is tried and the bound is sharp; else rays are looked for uphill
    # from those in use.
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
            advantage = violations(every, optimum, prior)
            bound = max(bound, sharp_bound(optimum, float(advantage.max())))
            fresh = every[np.argsort(-advantage)[:BATCH]]
        elif distance.size > MOST_SEARCHED:
            break
        else:
            fresh = uphill(rays, optimum, prior, alpha, distance)
        budget.spend(60 * BATCH * distance.size**2)
        budget.report("adding columns", value=optimum.variance, bound=bound)
        needed = min(distance.size * (distance.size + 1) // 2, MOST_COLUMNS)
        heavy = np.argsort(-optimum.theta)[: needed + BATCH]
        grown = distinct_rays(np.vstack([rays[heavy], fresh]))
        better = optimal_mixture(grown, variance, tolerance=close, budget=budget)
        done = better.variance > optimum.variance * (1 - close) and every is None
        if better.variance <= optimum.variance:
            rays, optimum = grown, better
        if done:
            break
    retained = optimum.theta > 1e-9 * optimum.theta.max()
    return rays[retained], optimum.theta[retained], bound


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
    advantage = violations(fresh, optimum, prior)
    order = np.argsort(-advantage)[:BATCH]
    return np.asarray(fresh[order][advantage[order] > 0])


VERTICES = 60
# Starts from the best matrix after random exchanges, and how many of these.
KICKS, MOST_KICKED = 300, 3

MOST_ROUNDS = 400
MOST_CONDITION = 1e12
LEAST_GAIN, TINY = 1e-9, 1e-12


def best_metric_square(
    first: Sequence[Floats],
    mixture: Floats,
    prior: Floats,
    queries: Floats,
    *,
    budget: SearchBudget,
) -> Floats:
    """Return the best matrix of S columns found, from the first ones and from vertices."""
    # They are vertices of the mixtures of the columns of a best matrix of any number of them.

    def variance(matrix: Floats) -> float:
        return float_variance(matrix, prior, queries)

    candidates = mixture / mixture.max(axis=0)
    # by how much more of each column lowers the variance: vᵀKv / p·v with K = J⁻¹WᵀWJ⁻¹
    weighed = np.linalg.pinv(fisher(mixture, prior)) @ queries.T
    slopes = ((candidates.T @ weighed) ** 2).sum(axis=1) / (prior @ candidates)
    gains = candidates.sum(axis=0), slopes
    starts = sorted(vertex_matrices(candidates, gains, budget=budget), key=variance)
    found = [*first, *starts]
    found += [exchanged(one, candidates, prior, queries, budget=budget) for one in found]
    best = min(found, key=variance)
    rng = np.random.default_rng(len(prior))
    for _ in range(KICKS):
        forced = rng.integers(candidates.shape[1], size=rng.integers(1, MOST_KICKED + 1)).tolist()
        again = exchanged(best, candidates, prior, queries, forced=forced, budget=budget)
        best = min(best, again, key=variance)
    return best


def vertex_matrices(
    candidates: Floats, gains: Sequence[Floats], *, budget: SearchBudget
) -> Iterator[Floats]:
    """Yield matrices of S of the candidate columns, by gains that are changed at random."""
    size, count = candidates.shape
    rng = np.random.default_rng(size)
    programme = LinearProgramme(np.ones(size))
    programme.add(candidates.T, np.zeros(count))
    for trial in range(VERTICES):
        programme.replace_gains(rng.exponential(size=count) * gains[trial % len(gains)])
        solved = programme.solve(budget)
        if solved is None:
            return
        retained = np.flatnonzero(solved[0] > 1e-12)
        if len(retained) == size:
            yield candidates[:, retained] * solved[0][retained]


def exchanged(
    matrix: Floats,
    candidates: Floats,
    prior: Floats,
    queries: Floats,
    *,
    forced: Sequence[int] = (),
    budget: SearchBudget,
) -> Floats:
    r"""Return a matrix after exchanges of its columns, each the best of all.

    With :math:`c = \sum_j b_j v_j` a candidate in terms of the columns, it takes the place of j
    with weight :math:`\theta_j / b_j`, and every other column k keeps
    :math:`\theta_k - b_k\theta_j / b_j`, which must not be negative: the least ratio decides j.
    With :math:`u_i` the rows of :math:`V^{-1} W^\top` the variance is :math:`\sum_i |u_i|^2 (p\cdot
    v_i)/\theta_i` up to a constant. An exchange makes them :math:`u_j / b_j` and :math:`u_i -
    (b_i/b_j) u_j`, so that their lengths follow from the products :math:`u_i\cdot u_j`.

    ``forced`` candidates come in first, whatever that does to the variance: another start.
    """
    size = len(matrix)
    if matrix.shape[1] != size or (matrix.max(axis=0) <= 0).any():
        return matrix
    columns = matrix / matrix.max(axis=0)
    for fresh in forced:
        if np.linalg.cond(columns) > MOST_CONDITION:
            return matrix
        inverse = np.linalg.inv(columns)
        part, theta = inverse @ candidates[:, fresh], inverse.sum(axis=1)
        positive = np.flatnonzero(part > TINY)
        columns[:, positive[np.argmin(theta[positive] / part[positive])]] = candidates[:, fresh]
    if forced and np.linalg.cond(columns) > MOST_CONDITION:
        return matrix
    if forced and not (np.linalg.solve(columns, np.ones(size)) > 0).all():
        return matrix
    least = np.inf
    for _ in range(MOST_ROUNDS):
        if budget.is_over() or np.linalg.cond(columns) > MOST_CONDITION:
            break
        inverse = np.linalg.inv(columns)
        theta, parts, rows = inverse.sum(axis=1), inverse @ candidates, inverse @ queries.T
        budget.spend(size**3 / 2 + 35 * parts.size + size * parts.size / 5)
        found = after_exchange(theta, parts, rows @ rows.T, prior @ columns, prior @ candidates)
        best = int(np.argmin(found.variance))
        if not found.variance[best] < min(least, found.before) * (1 - LEAST_GAIN):
            break
        least = float(found.variance[best])
        columns[:, found.leaving[best]] = candidates[:, best]
    theta = np.linalg.solve(columns, np.ones(size))
    return np.asarray(columns * np.maximum(theta, 0.0))


class Exchange(NamedTuple):
    """The variance before, that after each candidate came in, and the column that left for it."""

    before: float
    variance: Floats
    leaving: Integers


def after_exchange(
    theta: Floats, parts: Floats, products: Floats, mass: Floats, fresh: Floats
) -> Exchange:
    """Return what each exchange makes of the variance, up to a constant; see `exchanged`."""
    each = np.arange(parts.shape[1])
    lengths = np.diagonal(products)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before = float((lengths * mass / theta).sum())
        ratios = np.where(parts > TINY, theta[:, None] / parts, np.inf)
        leaving, share = ratios.argmin(axis=0), ratios.min(axis=0)
        own = parts[leaving, each]
        turn = parts / own
        after = lengths[:, None] - 2 * turn * products[:, leaving]
        after += turn**2 * lengths[leaving]
        weights = theta[:, None] - share * parts
        terms = np.maximum(after, 0.0) * mass[:, None] / weights
        terms[leaving, each] = lengths[leaving] / own**2 * fresh / share
        weights[leaving, each] = share
        sound = np.isfinite(share) & (weights > TINY).all(axis=0)
        variance = np.where(sound, terms.sum(axis=0), np.inf)
    return Exchange(before, np.where(np.isnan(variance), np.inf, variance), leaving)

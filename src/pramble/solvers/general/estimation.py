r"""Family general, objective estimation: the least variance of the estimate of p, or of queries.

Over any number of outputs the problem is convex and solved by column generation: with up to
``MOST_ENUMERATED`` categories every set is priced in every round and the gap closes; beyond, sets
are found by local search, and the bound is that of :func:`proven_bound`. In as many outputs as
categories square matrices are searched for as well.

Family uniform: randomised response, with the bound of all matrices. Unequal keep probabilities only
lose here as far as is known: lowering one of them moves its row towards the flat one, and the
variance grows with the inverse square of the distance. This is not proven.
"""

import math
from dataclasses import dataclass

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.information import informative_mixture
from pramble.solvers.general.outputs import (
    fewer_outputs,
    float_variance,
    most_outputs,
    name_outputs,
    paired_outputs,
    response_for,
    simplex_outputs,
)
from pramble.solvers.general.sets import (
    Gain,
    Sets,
    all_sets,
    matrix_of,
    random_circulants,
    sets_numbered,
    trim,
    two_valued,
)
from pramble.solvers.general.squares import MOST_CATEGORIES, best_square, least_variance_square
from pramble.solvers.general.variance import (
    Optimum,
    Variance,
    observed_variance,
    optimal_mixture,
    query_variance,
)
from pramble.solvers.general.variance_bounds import (
    MOST_ENUMERATED,
    enumerated_violations,
    proven_bound,
    sharp_bound,
    spread_bound,
    violations,
)
from pramble.solvers.problem import DesignProblem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats

# Categories up to which the relaxation is solved for its columns; its programme has S² rows.
MOST_RELAXED = 64
# Below this α weights over 2**53 have too few units for columns that are hardly used.
SMALL_ALPHA = 1e-3
# Parts of the largest weight below which columns are left out for a small α.
LIGHT = (1e-4, 1e-3, 1e-2)
# Share of the effort for the relaxation where it is brought into fewer outputs afterwards.
RELAXING = 0.7
# Values may lie below the bound by this much: more is float error of a nearly singular matrix.
BELIEVED = 1e-6
# Floors of information, as shares of the most, on the way from the best matrix for information to
# the best for estimation: each search starts from the one before, and ends elsewhere than searches
# that start with no floor (up to 3 % better on random priors).
DESCENT = (1 - 4.5e-7, 0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8, 0.7, 0.5, 0.0)
NOT_PROVEN = (
    "The bound holds for any number of outputs: how much of the gap the given outputs could still "
    "close is not known."
)


def solve_variance(problem: DesignProblem) -> Design:
    prior, workload, most = problem.prior, problem.workload, most_outputs(problem)
    if most < problem.size and most < (needed := Variance(prior, workload).rank + 1):
        raise InvalidInput(
            f"What is asked takes at least {needed} outputs to estimate; {most:.0f} were allowed. "
            "Allow more, or give a workload of fewer queries."
        )
    found = [response_for(problem)] if problem.size <= most else []
    if workload is not None:
        matrices = [
            made(prior, problem.alpha, workload) for made in (paired_outputs, simplex_outputs)
        ]
        found += [name_outputs(problem, one) for one in matrices if one.shape[1] <= most]
    if problem.alpha > LARGEST_ALPHA:
        return least_variance_design(problem, found, bound=0.0, stopped="search")
    budget = problem.budget()
    relaxed, bound = relaxation(problem, budget)
    interrupted = relaxed is not None and relaxed.stopped == "interrupted"
    if interrupted:
        budget = budget.part(problem.tolerance, effort=0.0, quiet=True)
    matrices, stopped = best_matrices(problem, relaxed, bound=bound, budget=budget)
    found += [name_outputs(problem, one) for one in matrices]
    # other square matrices may still be better, unless every set of any number was tried
    exact = most == math.inf and problem.size <= MOST_ENUMERATED
    if stopped == "search" and problem.size <= min(most, MOST_CATEGORIES) and not exact:
        least = min(query_variance(prior, one, workload) for one in found)
        if least - bound > problem.tolerance * bound:
            more, stopped = descending_squares(problem, budget)
            found += more
    return least_variance_design(
        problem, found, bound=bound, stopped="interrupted" if interrupted else stopped
    )


def solve_uniform_variance(problem: DesignProblem) -> Design:
    """Return randomised response and how far the best of all matrices may be below it."""
    response = randomized_response(problem.labels.values, problem.alpha)
    within = problem.alpha <= LARGEST_ALPHA
    bound = relaxation(problem, problem.budget())[1] if within else 0.0
    return least_variance_design(problem, [response], bound=bound)


def relaxation(
    problem: DesignProblem, budget: SearchBudget
) -> "tuple[RelaxedOptimum | None, float]":
    """Return the relaxed optimum when it is asked for or gives the bound, and a proven bound."""
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    few = workload is not None and 2 * Variance(prior, workload).rank <= problem.size
    wanted = (most_outputs(problem) > problem.size or few) and problem.size <= MOST_RELAXED
    if problem.size <= MOST_ENUMERATED or wanted:
        if most_outputs(problem) < math.inf:
            budget = budget.part(budget.tolerance, effort=RELAXING * budget.left())
        relaxed = relaxed_optimum(prior, alpha, workload, budget=budget)
        return relaxed, relaxed.bound
    return None, proven_bound(prior, alpha, workload, budget=budget)


def best_matrices(
    problem: DesignProblem, relaxed: "RelaxedOptimum | None", *, bound: float, budget: SearchBudget
) -> tuple[list[Floats], str]:
    """Return the relaxed optimum in as many outputs as are allowed, and the best square found."""
    prior, alpha, most = problem.prior, problem.alpha, most_outputs(problem)
    found, stopped, near = list[Floats](), "search", False
    if relaxed is not None:
        matrix = matrix_of(relaxed.sets, relaxed.theta, alpha)
        if matrix.shape[1] > most:
            matrix = fewer_outputs(matrix, prior, problem.queries, most=int(most))
        elif alpha <= SMALL_ALPHA:
            # weights over 2**53 have too few units for light columns
            trims = [trim(relaxed.sets, relaxed.theta, Gain(alpha), most=least) for least in LIGHT]
            found = [matrix_of(sets, theta, alpha) for sets, theta in trims]
        found, stopped = [matrix, *found], relaxed.stopped
        near = float_variance(matrix, prior, problem.queries) <= bound * (1 + problem.tolerance)
    exact = relaxed is not None and most == math.inf and problem.size <= MOST_ENUMERATED
    if most >= problem.size and not exact:
        square, ended = best_square(prior, alpha, problem.workload, improve=not near, budget=budget)
        found += [] if square is None else [square.matrix(alpha)]
        stopped = stopped if near else ended
    return found, stopped


def descending_squares(problem: DesignProblem, budget: SearchBudget) -> tuple[list[Mechanism], str]:
    """Return the best square matrix on the way down from most information, and why it ended."""
    prior, alpha = problem.prior, problem.alpha
    best = informative_mixture(prior, alpha, budget.part(1e-6, quiet=True))
    floors = [share * best.value for share in DESCENT]
    try:
        square = least_variance_square(
            prior, alpha, best, floors=floors, workload=problem.workload, budget=budget
        )
    except KeyboardInterrupt:
        return [], "interrupted"
    found = [] if square is None else [name_outputs(problem, square.matrix(alpha))]
    return found, budget.reason if budget.is_over() else "search"


def least_variance_design(
    problem: DesignProblem,
    candidates: list[Mechanism],
    *,
    bound: float,
    stopped: str = "search",
    notes: tuple[str, ...] | None = None,
) -> Design:
    """Return the candidate of least variance; notes say what the bound does not know."""
    values = [query_variance(problem.prior, one, problem.workload) for one in candidates]
    k = int(np.argmin([value if value >= bound * (1 - BELIEVED) else math.inf for value in values]))
    value = values[k]
    bound = min(max(bound, observed_variance(problem.prior, problem.workload)), value)
    closed = value - bound <= problem.tolerance * value
    ended = "search" if stopped == "tolerance" else stopped
    if notes is None:
        notes = () if most_outputs(problem) == math.inf else (NOT_PROVEN,)
    return diagnosed_answer(
        problem,
        candidates[k],
        value=value,
        bound=bound,
        stopped="tolerance" if closed else ended,
        notes=() if closed else notes,
        details={} if problem.workload is None else {"queries": len(problem.workload)},
    )


# Gaps to reach: half the tolerance where every set is priced, within these; a programme over more
# columns than can be priced is not worth solving more closely than to the second.
LEAST_GAP, GAP = 5e-7, 5e-4
# How closely the first programme is solved; each next one closer, as the gap shrinks.
LOOSE = 1e-2
MOST_ROUNDS = 40
# New columns in a round.
BATCH = 60
# Categories up to which all sets are columns from the start.
WHOLE = 8


@dataclass(frozen=True)
class RelaxedOptimum:
    """High sets, weights, their variance, and a proven bound on every mechanism's variance."""

    sets: Sets
    theta: Floats
    variance: float
    bound: float
    stopped: str


def relaxed_optimum(
    prior: Floats, alpha: float, workload: Floats | None, *, budget: SearchBudget
) -> RelaxedOptimum:
    S, variance, stopped = len(prior), Variance(prior, workload), "search"
    enumerated, gap, tolerance = S <= MOST_ENUMERATED, GAP, LOOSE
    if enumerated:
        gap = min(max(budget.tolerance / 2, LEAST_GAP), GAP)
        bound = spread_bound(prior, alpha, workload)
    else:
        bound = proven_bound(prior, alpha, workload, budget=budget)
    sets = all_sets(S) if S <= WHOLE else first_columns(prior)

    def optimum_over(sets: Sets) -> Optimum:
        patterns = two_valued(sets, np.expm1(alpha))
        return optimal_mixture(patterns, variance, tolerance=tolerance, budget=budget, finish=True)

    optimum, solved = optimum_over(sets), sets
    try:
        for _ in range(MOST_ROUNDS):
            tolerance = max(gap / 20, min((1 - bound / optimum.variance) / 20, tolerance))
            optimum, solved = optimum_over(sets), sets
            if enumerated:
                advantage = enumerated_violations(optimum, prior, alpha)
                bound = max(bound, sharp_bound(optimum, float(advantage.max())))
                budget.spend(2.0**S * S)
                count = min(BATCH, len(advantage))
                top = np.argpartition(-advantage, count - 1)[:count]
                fresh = sets_numbered(top[advantage[top] > 0], S)
            else:
                fresh = violating_sets(optimum, sets, prior, alpha)
                budget.spend(20 * BATCH * S**2)
            budget.report("adding columns", value=optimum.variance, bound=bound)
            if optimum.variance - bound <= gap * optimum.variance:
                stopped = "tolerance"
                break
            if budget.is_over():
                stopped = budget.reason
                break
            # the heaviest columns are kept, somewhat more than an optimum needs
            heaviest = np.argsort(-optimum.theta)[: S * (S + 1) // 2 + 2 * BATCH]
            grown = np.unique(np.vstack([sets[heaviest], fresh]), axis=0)
            if np.array_equal(grown, sets):
                # with no new column the programme is solved more closely, while it can be
                if tolerance <= gap / 20:
                    break
                tolerance = max(gap / 20, tolerance / 10)
            sets = grown
    except KeyboardInterrupt:
        stopped = "interrupted"
    used, theta = trim(solved, optimum.theta, Gain(alpha))
    return RelaxedOptimum(used, theta, optimum.variance, bound, stopped)


def first_columns(prior: Floats) -> Sets:
    """Return single categories, all but one, and turns of random blocks."""
    S = len(prior)
    rng = np.random.default_rng(S)
    single = np.eye(S, dtype=np.bool_)
    turns = np.vstack(list(random_circulants(S, max(4, 120 // S), rng)))
    return np.unique(np.vstack([single, ~single, turns]), axis=0)


def violating_sets(optimum: Optimum, sets: Sets, prior: Floats, alpha: float) -> Sets:
    """Return local maxima of the violation, from the columns in use and from random sets."""
    a1, S = float(np.expm1(alpha)), len(prior)
    rng = np.random.default_rng(len(sets))
    starts = sets[np.argsort(-optimum.theta)[:BATCH]]
    current = np.vstack([starts, rng.random((BATCH, S)) < 1 / (2 + a1)])
    rows = np.arange(len(current))
    for _ in range(4 * S):
        # the violation after each flip of one category
        patterns, step = two_valued(current, a1), np.where(current, -a1, a1)
        image = patterns @ optimum.gradient
        squares = (image * patterns).sum(axis=1)[:, None]
        squares = squares + 2 * step * image + step**2 * np.diagonal(optimum.gradient)
        masses = (patterns @ prior)[:, None] + step * prior
        costs = (patterns @ optimum.prices)[:, None] + step * optimum.prices
        after = squares / masses - costs
        best = after.argmax(axis=1)
        now = violations(patterns, optimum, prior)
        better = after[rows, best] > now + 1e-12 * optimum.variance
        if not better.any():
            break
        current[rows[better], best[better]] ^= True
    advantage = violations(two_valued(current, a1), optimum, prior)
    return np.unique(current[advantage > 0], axis=0)

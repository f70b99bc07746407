"""Family general, objective estimation: the least variance of the estimate of p."""

import math

import numpy as np

from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.circulants import best_random_circulant, random_circulants
from pramble.solvers.general.columns.mixtures import best_mixture
from pramble.solvers.general.columns.relaxation import Relaxed, relax
from pramble.solvers.general.columns.variance_bounds import MOST_ENUMERATED, spread_bound
from pramble.solvers.general.diagnostics import answer
from pramble.solvers.general.information import information_share
from pramble.solvers.general.invariant import solve_invariant
from pramble.solvers.general.labelling import name_outputs
from pramble.solvers.general.square.block_designs import known_designs
from pramble.solvers.general.square.search import Square, SquareSearch
from pramble.solvers.general.steadiest import least_variance
from pramble.solvers.general.variance import observed_variance, query_variance
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.solvers.watch import Watch

KEYWORDS = {"invariant", "information_at_least", "outputs", "workload"}

MOST_SEARCHED = 150
MOST_SQUARE = 1500
MOST_RELAXED = 64


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    if problem.invariant:
        return solve_invariant(problem)
    plain: Mechanism = randomized_response(problem.labels.values, problem.alpha)
    if problem.alpha > LARGEST_ALPHA:
        return choose(problem, [plain], bound=0.0, stopped="search")
    watch = problem.watch()
    relaxed, bound = relaxation(problem, watch)
    floor = information_floor(problem, watch)
    if problem.outputs != "same" and relaxed is not None and not floor:
        mixture = name_outputs(problem, relaxed.matrix(problem.alpha))
        return choose(problem, [mixture], bound=bound, stopped=relaxed.stopped)
    interrupted = relaxed is not None and relaxed.stopped == "interrupted"
    if interrupted:
        watch = watch.inner(problem.tolerance, seconds=0.0, quiet=True)
    square, stopped = best_square(problem, floor=floor, watch=watch)
    candidates = [] if square is None else [name_outputs(problem, square.matrix(problem.alpha))]
    if not floor or not candidates:
        candidates.append(plain)
    stopped = "interrupted" if interrupted else stopped
    return choose(problem, candidates, bound=bound, stopped=stopped)


def relaxation(problem: Problem, watch: Watch) -> tuple[Relaxed | None, float]:
    """Return the relaxed optimum when it is asked for or gives the bound, and a proven bound."""
    wanted = problem.outputs != "same" and problem.size <= MOST_RELAXED
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    if problem.size <= MOST_ENUMERATED or wanted:
        relaxed = relax(prior, alpha, workload, watch=watch)
        return relaxed, relaxed.bound
    return None, spread_bound(prior, alpha, workload)


def information_floor(problem: Problem, watch: Watch) -> float:
    """Return the least information allowed, in nats; 0 when none was asked for."""
    if problem.information_at_least is None:
        return 0.0
    best = best_mixture(problem.prior, problem.alpha, watch.inner(1e-6, quiet=True))
    return information_share(problem) * best.value


def best_square(problem: Problem, *, floor: float, watch: Watch) -> tuple[Square | None, str]:
    """Return the square matrix that structure and local search find, and why the search ended."""
    S = problem.size
    search = SquareSearch(problem.prior, problem.alpha, workload=problem.workload, floor=floor)
    rng = np.random.default_rng(S)
    found: list[Square | None] = []
    try:
        if S <= MOST_SQUARE:
            starts = known_designs(S)
            ideal = min(max(round(S / (1 + math.exp(problem.alpha))), 1), S - 1)
            starts.append(best_random_circulant(S, ideal, count=400, rng=rng))
            found += [search.evaluate(start) for start in starts]
        if S <= MOST_SEARCHED:
            starts += random_circulants(S, 40 if S < 20 else 8, rng)
            for start in starts:
                if watch.left() <= 0:
                    return least_variance(found, floor), "time limit"
                found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
    except KeyboardInterrupt:
        return least_variance(found, floor), "interrupted"
    return least_variance(found, floor), "search"


def choose(problem: Problem, candidates: list[Mechanism], *, bound: float, stopped: str) -> Design:
    """Return the candidate of least variance."""
    values = [query_variance(problem.prior, one, problem.workload) for one in candidates]
    k = int(np.argmin(values))
    value = values[k]
    bound = max(bound, observed_variance(problem.prior, problem.workload))
    if value - bound <= problem.tolerance * value:
        stopped = "tolerance"
    return answer(problem, candidates[k], value=value, bound=min(bound, value), stopped=stopped)

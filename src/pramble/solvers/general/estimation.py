"""Family general, objective estimation: the least variance of the estimate of p, or of queries."""

import math

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.solvers.general.columns.fewer import fewer_outputs, float_variance, paired_outputs
from pramble.solvers.general.columns.mixtures import best_mixture
from pramble.solvers.general.columns.relaxation import Relaxed, relax
from pramble.solvers.general.columns.semidefinite import proven_bound
from pramble.solvers.general.columns.variance_bounds import MOST_ENUMERATED
from pramble.solvers.general.diagnostics import answer
from pramble.solvers.general.information import information_share
from pramble.solvers.general.invariant import solve_invariant
from pramble.solvers.general.labelling import most_outputs, name_outputs, plain_response
from pramble.solvers.general.square.best import best_square
from pramble.solvers.general.steadiest import (
    MOST_CATEGORIES,
    complete_rank,
    steadiest_mixture,
    steadiest_square,
)
from pramble.solvers.general.variance import Variance, observed_variance, query_variance
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.solvers.watch import Watch
from pramble.values import Floats

KEYWORDS = {"invariant", "information_at_least", "outputs", "workload"}

MOST_RELAXED = 64
NOT_PROVEN = (
    "The bound holds for any number of outputs: how much of the gap the given outputs could still "
    "close is not known."
)
GOOD = 1e-3
"""How near to its bound a mixture is good enough to spare the search for squares."""


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    if problem.invariant:
        return solve_invariant(problem)
    refuse_too_few_outputs(problem)
    found = closed_forms(problem)
    if problem.alpha > LARGEST_ALPHA:
        return choose(problem, found, bound=0.0, stopped="search")
    watch = problem.watch()
    relaxed, bound = relaxation(problem, watch)
    interrupted = relaxed is not None and relaxed.stopped == "interrupted"
    if interrupted:
        watch = watch.inner(problem.tolerance, seconds=0.0, quiet=True)
    if problem.information_at_least is None:
        matrices, stopped = best_matrices(problem, relaxed, bound=bound, watch=watch)
        found += [name_outputs(problem, one) for one in matrices]
    else:
        found, stopped = above_floor(problem, found, relaxed, watch=watch)
    return choose(problem, found, bound=bound, stopped="interrupted" if interrupted else stopped)


def refuse_too_few_outputs(problem: Problem) -> None:
    """Refuse fewer outputs than the queries need: one more than their rank."""
    if (most := most_outputs(problem)) >= problem.size:
        return
    needed = Variance(problem.prior, problem.workload).rank + 1
    if most < needed:
        raise InvalidInput(
            f"What is asked takes at least {needed} outputs to estimate; {most} were allowed. "
            "Allow more, or give a workload of fewer queries."
        )


def closed_forms(problem: Problem) -> list[Mechanism]:
    """Return randomised response, and for a workload its pairs of outputs, if they are allowed."""
    most, found = most_outputs(problem), list[Mechanism]()
    if problem.size <= most:
        found.append(plain_response(problem))
    if problem.workload is not None:
        pairs = paired_outputs(problem.prior, problem.alpha, problem.workload)
        if pairs.shape[1] <= most:
            found.append(name_outputs(problem, pairs))
    return found


def relaxation(problem: Problem, watch: Watch) -> tuple[Relaxed | None, float]:
    """Return the relaxed optimum when it is asked for or gives the bound, and a proven bound."""
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    few = workload is not None and 2 * Variance(prior, workload).rank <= problem.size
    wanted = (most_outputs(problem) > problem.size or few) and problem.size <= MOST_RELAXED
    if problem.size <= MOST_ENUMERATED or wanted:
        relaxed = relax(prior, alpha, workload, watch=watch)
        return relaxed, relaxed.bound
    return None, proven_bound(prior, alpha, workload)


def best_matrices(
    problem: Problem, relaxed: Relaxed | None, *, bound: float, watch: Watch
) -> tuple[list[Floats], str]:
    """Return the relaxed optimum in as many outputs as are allowed, and the best square found."""
    prior, alpha, most = problem.prior, problem.alpha, most_outputs(problem)
    found, stopped, near = list[Floats](), "search", False
    if relaxed is not None:
        queries = np.eye(problem.size) if problem.workload is None else problem.workload
        matrix = relaxed.matrix(alpha)
        if matrix.shape[1] > most:
            matrix = fewer_outputs(matrix, prior, queries, most=int(most))
        near = float_variance(matrix, prior, queries) - bound <= GOOD * bound
        found, stopped = [matrix], relaxed.stopped
    if most >= problem.size and not (relaxed is not None and most == math.inf):
        square, ended = best_square(prior, alpha, problem.workload, improve=not near, watch=watch)
        found += [] if square is None else [square.matrix(alpha)]
        stopped = stopped if near else ended
    return found, stopped


def above_floor(
    problem: Problem, found: list[Mechanism], relaxed: Relaxed | None, *, watch: Watch
) -> tuple[list[Mechanism], str]:
    """Return mechanisms that carry the share of the best information that was asked for."""
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    best = best_mixture(prior, alpha, watch.inner(1e-6, quiet=True))
    floor, most = information_share(problem) * best.value, most_outputs(problem)
    matrices = [best.matrix(alpha)] if len(best.sets) <= most else []
    if most == math.inf and problem.size <= MOST_RELAXED:
        sets = best.sets if relaxed is None else np.vstack([best.sets, relaxed.sets])
        matrices.append(steadiest_mixture(prior, alpha, sets, floor=floor, workload=workload))
    elif most >= problem.size:
        whole = complete_rank(prior, alpha, best, floor=floor)
        matrices += [] if whole is None else [whole]
        if problem.size <= MOST_CATEGORIES:
            square = steadiest_square(
                prior, alpha, best, floor=floor, workload=workload, watch=watch
            )
            matrices += [] if square is None else [square.matrix(alpha)]
    found = found + [name_outputs(problem, one) for one in matrices]
    carried = [mutual_information(prior, one) for one in found]
    floor = min(floor, max(carried))
    enough = [one for one, value in zip(found, carried, strict=True) if value >= floor]
    return enough, "time limit" if watch.left() <= 0 else "search"


def choose(problem: Problem, candidates: list[Mechanism], *, bound: float, stopped: str) -> Design:
    """Return the candidate of least variance."""
    values = [query_variance(problem.prior, one, problem.workload) for one in candidates]
    k = int(np.argmin(values))
    value = values[k]
    bound = min(max(bound, observed_variance(problem.prior, problem.workload)), value)
    closed = value - bound <= problem.tolerance * value
    ended = "search" if stopped == "tolerance" else stopped
    return answer(
        problem,
        candidates[k],
        value=value,
        bound=bound,
        stopped="tolerance" if closed else ended,
        notes=() if closed or most_outputs(problem) == math.inf else (NOT_PROVEN,),
        details={} if problem.workload is None else {"queries": len(problem.workload)},
    )

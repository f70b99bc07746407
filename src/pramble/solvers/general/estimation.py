r"""Family general, objective estimation: the least variance of the estimate of p, or of queries.

Family uniform, objective estimation: randomised response, with the bound of all matrices.

Unequal keep probabilities only lose here as far as is known: lowering one of them moves its row
towards the flat one, and the variance grows with the inverse square of the distance. This is not
proven, so the bound is that of all matrices, which holds for uniform rows too.
"""

import math

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.generation import Mixture
from pramble.solvers.general.information import best_mixture, information_share
from pramble.solvers.general.outputs import (
    fewer_outputs,
    float_variance,
    most_outputs,
    name_outputs,
    paired_outputs,
    plain_response,
    simplex_outputs,
)
from pramble.solvers.general.relaxation import Relaxed, relax
from pramble.solvers.general.sets import Gain, matrix_information, matrix_of, trim
from pramble.solvers.general.squares import (
    MOST_CATEGORIES,
    best_square,
    complete_rank,
    least_variance_mixture,
    least_variance_square,
)
from pramble.solvers.general.variance import Variance, observed_variance, query_variance
from pramble.solvers.general.variance_bounds import MOST_ENUMERATED, proven_bound
from pramble.solvers.problem import Problem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats

MOST_RELAXED = 64
SMALL_ALPHA = 1e-3
RELAXING = 0.7
"""Share of the time for the relaxed optimum where it is brought into fewer outputs afterwards."""

LIGHT = (1e-4, 1e-3, 1e-2)
"""Parts of the largest weight below which columns are left out for a small α."""
NOT_PROVEN = (
    "The bound holds for any number of outputs: how much of the gap the given outputs could still "
    "close is not known."
)
NOT_FLOORED = (
    "The bound holds for every matrix, also for those that carry less information than was asked "
    "for: what the floor costs is a part of the gap."
)
BELIEVED = 1e-6
RAISED = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
"""By how much a floor is raised until what is left after rounding is above it."""


def solve_variance(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    refuse_too_few_outputs(problem)
    found = variance_closed_forms(problem)
    if problem.alpha > LARGEST_ALPHA:
        return least_variance_design(problem, found, bound=0.0, stopped="search")
    budget = problem.budget()
    relaxed, bound = relaxation(problem, budget)
    interrupted = relaxed is not None and relaxed.stopped == "interrupted"
    if interrupted:
        budget = budget.part(problem.tolerance, effort=0.0, quiet=True)
    matrices, stopped = best_matrices(problem, relaxed, bound=bound, budget=budget)
    found += [name_outputs(problem, one) for one in matrices]
    floored = problem.information_at_least is not None
    if floored or (stopped == "search" and squares_wanted(problem, found, bound)):
        found, stopped = above_floor(problem, found, relaxed, budget=budget)
    return least_variance_design(
        problem, found, bound=bound, stopped="interrupted" if interrupted else stopped
    )


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


def variance_closed_forms(problem: Problem) -> list[Mechanism]:
    """Return randomised response, and for a workload its pairs of outputs, if they are allowed."""
    most, found = most_outputs(problem), list[Mechanism]()
    if problem.size <= most:
        found.append(plain_response(problem))
    if problem.workload is not None:
        for made in (paired_outputs, simplex_outputs):
            matrix = made(problem.prior, problem.alpha, problem.workload)
            if matrix.shape[1] <= most:
                found.append(name_outputs(problem, matrix))
    return found


def relaxation(problem: Problem, budget: SearchBudget) -> tuple[Relaxed | None, float]:
    """Return the relaxed optimum when it is asked for or gives the bound, and a proven bound."""
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    few = workload is not None and 2 * Variance(prior, workload).rank <= problem.size
    wanted = (most_outputs(problem) > problem.size or few) and problem.size <= MOST_RELAXED
    if problem.size <= MOST_ENUMERATED or wanted:
        if most_outputs(problem) < math.inf:
            budget = budget.part(budget.tolerance, effort=RELAXING * budget.left())
        relaxed = relax(prior, alpha, workload, budget=budget)
        return relaxed, relaxed.bound
    return None, proven_bound(prior, alpha, workload, budget=budget)


def best_matrices(
    problem: Problem, relaxed: Relaxed | None, *, bound: float, budget: SearchBudget
) -> tuple[list[Floats], str]:
    """Return the relaxed optimum in as many outputs as are allowed, and the best square found."""
    prior, alpha, most = problem.prior, problem.alpha, most_outputs(problem)
    found, stopped, near = list[Floats](), "search", False
    if relaxed is not None:
        found, stopped = relaxed_matrices(problem, relaxed), relaxed.stopped
        near = float_variance(found[0], prior, queries_of(problem)) <= bound * (
            1 + problem.tolerance
        )
    settled = relaxed is not None and most == math.inf and problem.size <= MOST_ENUMERATED
    if most >= problem.size and not settled:
        square, ended = best_square(prior, alpha, problem.workload, improve=not near, budget=budget)
        found += [] if square is None else [square.matrix(alpha)]
        stopped = stopped if near else ended
    return found, stopped


def relaxed_matrices(problem: Problem, relaxed: Relaxed) -> list[Floats]:
    """Return the relaxed optimum in as many outputs as are allowed.

    Where α is small it is also given with its light columns left out, for which weights over
    :math:`2^{53}` have too few units.
    """
    most, gain = most_outputs(problem), Gain(problem.alpha)
    matrix = relaxed.matrix(problem.alpha)
    if matrix.shape[1] > most:
        return [fewer_outputs(matrix, problem.prior, queries_of(problem), most=int(most))]
    if problem.alpha > SMALL_ALPHA:
        return [matrix]
    trimmed = [trim(relaxed.sets, relaxed.theta, gain, most=least) for least in LIGHT]
    return [matrix, *(matrix_of(sets, theta, problem.alpha) for sets, theta in trimmed)]


def queries_of(problem: Problem) -> Floats:
    return np.eye(problem.size) if problem.workload is None else problem.workload


def squares_wanted(problem: Problem, found: list[Mechanism], bound: float) -> bool:
    """Whether squares above floors of information may still be better than what was found."""
    free = most_outputs(problem) == math.inf
    if (free and problem.size <= MOST_ENUMERATED) or problem.size > MOST_CATEGORIES:
        return False
    values = [query_variance(problem.prior, one, problem.workload) for one in found]
    return min(values) - bound > problem.tolerance * bound


def above_floor(
    problem: Problem, found: list[Mechanism], relaxed: Relaxed | None, *, budget: SearchBudget
) -> tuple[list[Mechanism], str]:
    """Return mechanisms that carry the share of the best information that was asked for."""
    # Whatever would be found for a higher share is looked for, too, so that no floor gives a worse
    # design than a higher one; no floor is the lowest.
    prior, alpha, workload = problem.prior, problem.alpha, problem.workload
    best = best_mixture(prior, alpha, budget.part(1e-6, quiet=True))
    asked = problem.information_at_least
    share, most = 0.0 if asked is None else information_share(problem), most_outputs(problem)
    floor, stopped = share * best.value, "search"
    found = [
        *found,
        *([name_outputs(problem, best.matrix(alpha))] if len(best.sets) <= most else []),
    ]
    try:
        if most == math.inf and problem.size <= MOST_RELAXED:
            found += mixtures_above(problem, best, relaxed, floor=floor, budget=budget)
        if most >= problem.size and (most < math.inf or problem.size > MOST_ENUMERATED):
            whole = complete_rank(prior, alpha, best, floor=floor)
            found += [] if whole is None else [name_outputs(problem, whole)]
            if problem.size <= MOST_CATEGORIES:
                square = least_variance_square(
                    prior, alpha, best, floor=floor, workload=workload, budget=budget
                )
                found += [] if square is None else [name_outputs(problem, square.matrix(alpha))]
    except KeyboardInterrupt:
        stopped = "interrupted"
    carried = [mutual_information(prior, one) for one in found]
    floor = min(floor, max(carried))
    enough = [one for one, value in zip(found, carried, strict=True) if value >= floor]
    return enough, budget.reason if stopped == "search" and budget.is_over() else stopped


def mixtures_above(
    problem: Problem, best: Mixture, relaxed: Relaxed | None, *, floor: float, budget: SearchBudget
) -> list[Mechanism]:
    """Return mixtures of any number of outputs made for a small variance above a floor."""
    # The first is the best for estimation in as large a part of the records as the floor allows,
    # and the best by information in the others.
    prior, alpha = problem.prior, problem.alpha
    sets, found = best.sets, list[Mechanism]()
    if relaxed is not None:
        sets = np.vstack([best.sets, relaxed.sets])
        one, other = relaxed.matrix(alpha), best.matrix(alpha)
        apart = best.value - matrix_information(prior, one)
        share = (
            min(1.0, max(best.value - floor * (1 + RAISED[1]), 0.0) / apart) if apart > 0 else 1.0
        )
        if 0 < share < 1:
            both = np.column_stack([share * one, (1 - share) * other])
            found.append(name_outputs(problem, both))
    for more in RAISED:
        asked = min(floor * (1 + more), best.value)
        if budget.is_over():
            break
        matrix = least_variance_mixture(
            prior, alpha, sets, floor=asked, budget=budget, workload=problem.workload
        )
        if matrix is None:
            break
        found.append(name_outputs(problem, matrix))
        if mutual_information(prior, found[-1]) >= floor or asked == best.value:
            break
    return found


def least_variance_design(
    problem: Problem,
    candidates: list[Mechanism],
    *,
    bound: float,
    stopped: str = "search",
    notes: tuple[str, ...] | None = None,
) -> Design:
    """Return the candidate of least variance; notes say what the bound does not know."""
    # What seems to lie below a proven bound is the variance of a matrix so near to a singular one
    # that floats cannot tell it.
    values = [query_variance(problem.prior, one, problem.workload) for one in candidates]
    k = int(np.argmin([value if value >= bound * (1 - BELIEVED) else math.inf for value in values]))
    value = values[k]
    bound = min(max(bound, observed_variance(problem.prior, problem.workload)), value)
    closed = value - bound <= problem.tolerance * value
    ended = "search" if stopped == "tolerance" else stopped
    if notes is None:
        notes = notes_on_bound(problem)
    return diagnosed_answer(
        problem,
        candidates[k],
        value=value,
        bound=bound,
        stopped="tolerance" if closed else ended,
        notes=() if closed else notes,
        details={} if problem.workload is None else {"queries": len(problem.workload)},
    )


def notes_on_bound(problem: Problem) -> tuple[str, ...]:
    notes = () if most_outputs(problem) == math.inf else (NOT_PROVEN,)
    return notes if problem.information_at_least is None else (*notes, NOT_FLOORED)


def solve_uniform_variance(problem: Problem) -> Design:
    """Return randomised response and how far the best of all matrices may be below it."""
    response = randomized_response(problem.labels.values, problem.alpha)
    within = problem.alpha <= LARGEST_ALPHA
    bound = relaxation(problem, problem.budget())[1] if within else 0.0
    return least_variance_design(problem, [response], bound=bound)

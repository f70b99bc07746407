"""Family general, objective information: the most mutual information of any matrix."""

from pramble.errors import InvalidInput
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.arcs import best_arcs
from pramble.solvers.general.columns.generation import Mixture
from pramble.solvers.general.columns.mixtures import best_mixture
from pramble.solvers.general.diagnostics import answer
from pramble.solvers.general.invariant import solve_invariant
from pramble.solvers.general.labelling import most_outputs, name_outputs, plain_response
from pramble.solvers.general.light_columns import roundings
from pramble.solvers.general.steadiest import (
    MOST_CATEGORIES,
    complete_rank,
    steadiest_mixture,
    steadiest_square,
)
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats

KEYWORDS = {"invariant", "information_at_least", "outputs"}

MOST_STORED = 5000
MOST_COMPLETED = 400
MOST_TRADED = 1500
MOST_MIXED = 64


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    if problem.invariant:
        return solve_invariant(problem)
    share = information_share(problem)
    budget, ceiling = problem.budget(0.5), problem.ceiling
    quick = closed_forms(problem)
    value = max((mutual_information(problem.prior, one) for one in quick), default=0.0)
    if problem.size > MOST_STORED or problem.alpha > LARGEST_ALPHA:
        return choose(problem, quick, bound=ceiling, floor=value, stopped="size limit")
    best = best_mixture(problem.prior, problem.alpha, budget)
    bound = min(best.bound, ceiling)
    floor = share * max(best.value, value)
    candidates = [*quick, *roundings(problem, best.matrix(problem.alpha))]
    stopped = best.stopped
    most = MOST_COMPLETED if problem.information_at_least is None else MOST_TRADED
    if stopped == "tolerance" and problem.size <= most and steadiness_asked(problem):
        try:
            steadier = steadier_matrices(problem, best, floor=floor, budget=budget)
            candidates += [name_outputs(problem, matrix) for matrix in steadier]
        except KeyboardInterrupt:
            stopped = "interrupted"
    return choose(problem, candidates, bound=bound, floor=floor, stopped=stopped)


def steadiness_asked(problem: Problem) -> bool:
    """Whether to look for a matrix of less variance.

    Always in the same outputs. With free outputs only when information is to be given up, for it
    takes many more outputs.
    """
    if problem.outputs == "free":
        return problem.information_at_least is not None and problem.size <= MOST_MIXED
    return bool(problem.outputs == "same")


def information_share(problem: Problem) -> float:
    """Return the share of the best information below which no candidate may fall."""
    asked = problem.information_at_least
    if asked is None:
        return 1 - 0.45 * problem.tolerance
    if not 0 <= asked <= 1:
        raise InvalidInput(
            "information_at_least is a share of the best information, between 0 and 1; "
            f"found {asked!r}."
        )
    return min(asked, 1 - 0.45 * problem.tolerance)


def closed_forms(problem: Problem) -> list[Mechanism]:
    """Return randomised response if it fits, and arcs where they exist."""
    if most_outputs(problem) < problem.size and problem.alpha <= LARGEST_ALPHA:
        return []
    response = plain_response(problem)
    if problem.size < 3 or problem.alpha > LARGEST_ALPHA:
        return [response]
    if problem.outputs == "same":
        return [response, best_arcs(problem.prior, problem.alpha, problem.labels)]
    if problem.size > MOST_TRADED:
        return [response]
    arcs = best_arcs(problem.prior, problem.alpha, problem.labels)
    return [response, name_outputs(problem, arcs.matrix)]


def steadier_matrices(
    problem: Problem, best: Mixture, *, floor: float, budget: SearchBudget
) -> list[Floats]:
    """Return matrices of at least ``floor`` information made for a small estimation variance."""
    prior, alpha = problem.prior, problem.alpha
    if problem.outputs == "free":
        mixture = steadiest_mixture(prior, alpha, best.sets, floor=floor, budget=budget)
        return [] if mixture is None else [mixture]
    whole = complete_rank(prior, alpha, best, floor=floor)
    found = [] if whole is None else [whole]
    if problem.size <= MOST_CATEGORIES:
        square = steadiest_square(prior, alpha, best, floor=floor, budget=budget)
        if square is not None:
            found.append(square.matrix(alpha))
    return found


def choose(
    problem: Problem, candidates: list[Mechanism], *, bound: float, floor: float, stopped: str
) -> Design:
    """Return the candidate of least variance among those with enough information."""
    prior = problem.prior
    values = [mutual_information(prior, one) for one in candidates]
    floor = min(floor, max(values))
    enough = [
        (estimation_variance(prior, one), -value, k)
        for k, (one, value) in enumerate(zip(candidates, values, strict=True))
        if value >= floor
    ]
    _, negative, k = min(enough)
    bound = max(bound, -negative)
    return answer(problem, candidates[k], value=-negative, bound=bound, stopped=stopped)

r"""Invariant designs: the law of the release equals the prior, :math:`pR = p`.

Candidates, for the categories of positive probability (an impossible category cannot be released,
and its row is p):

- the closed form :math:`tI + (1-t)1p^\top`, :math:`t = (a-1)p_{\min}/(1+(a-1)p_{\min})`;
- Bayes post-processing :math:`R = M \operatorname{diag}(1/m) M^\top \operatorname{diag}(p)` of a
  mechanism M with :math:`m = pM`;
- better post-processing: with :math:`F_{jz}` the probability of "j, then z", the invariant
  post-processings of M are the couplings of m and p, and the information of
  :math:`R = M \operatorname{diag}(1/m) F` is convex in F. Its linearisation is a transport problem
  with gains :math:`\sum_x \Pr(x|j) \log(R_{xz}/p_z)`; moving to its optimum never loses, and
  ends at a vertex, where few columns are mixed (post-processing keeps α);
- the best vertex of the polytope of all invariant matrices that climbs from these and from many
  random starts find; see :mod:`.invariant_search`.

The bound is the lesser of the free optimum and of what outputs with the masses of the prior can
tell; see :mod:`.invariant_bound`.
"""

import math
from collections.abc import Iterator

import numpy as np

from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.mixtures import best_mixture
from pramble.solvers.general.columns.semidefinite import proven_bound
from pramble.solvers.general.diagnostics import answer
from pramble.solvers.general.invariant_bound import invariant_bound
from pramble.solvers.general.invariant_rounding import round_invariant
from pramble.solvers.general.invariant_search import best_invariant
from pramble.solvers.general.patterns import matrix_information, response_matrix
from pramble.solvers.general.square.transport import best_coupling, first_couplings
from pramble.solvers.general.variance import observed_variance, query_variance
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats

MOST_MOVED = 100
MOST_CLIMBED = 80
MOST_CATEGORIES = 1000
MOST_STEPS = 40
MARGIN = 1e-9
"""Covers rounding where two categories leave a segment, both of whose ends are tried."""

LARGEST_EXPONENT = 600.0
"""Caps e^α where it would overflow."""


def solve_invariant(problem: Problem) -> Design:
    """Return the best invariant mechanism found, and what the invariance costs."""
    prior = possible_prior(problem)
    budget = problem.budget()
    free, without = best_without(problem, budget)
    bound = min(without, invariant_bound(prior, problem.alpha))
    candidates, stopped = [closed_form(prior, problem.alpha)], "search"
    try:
        for one in post_processings(prior, problem.alpha, free, budget):
            candidates.append(one)
            if budget.is_over():
                stopped = budget.reason
                break
        if stopped == "search" and climbable(prior, problem.alpha):
            best, stopped = best_invariant(
                prior, problem.alpha, candidates, bound=bound, budget=budget
            )
            candidates.append(best)
    except KeyboardInterrupt:
        stopped = "interrupted"
    exact = [on_all_categories(one, problem) for one in candidates]
    return choose(problem, exact, without=without, bound=bound, stopped=stopped, budget=budget)


def climbable(prior: Floats, alpha: float) -> bool:
    """Whether the polytope of invariant matrices is small enough to climb on."""
    return 2 <= len(prior) <= MOST_CLIMBED and alpha <= LARGEST_ALPHA


def possible_prior(problem: Problem) -> Floats:
    """Return the prior of the categories that can occur."""
    prior = problem.prior[problem.prior > 0]
    return np.asarray(prior / prior.sum())


def best_without(problem: Problem, budget: SearchBudget) -> tuple[Floats | None, float]:
    """Return the best matrix without invariance on the possible categories, and a bound."""
    prior = possible_prior(problem)
    few = 2 <= len(prior) <= MOST_CATEGORIES
    if not few or problem.alpha > LARGEST_ALPHA:
        return None, problem.ceiling
    best = best_mixture(prior, problem.alpha, budget.part(1e-6, effort=budget.left() / 2))
    return best.matrix(problem.alpha), min(best.bound, problem.ceiling)


def closed_form(prior: Floats, alpha: float) -> Floats:
    """Return the mixture of the identity and the prior in every row."""
    odds = math.expm1(min(alpha, LARGEST_EXPONENT)) * prior.min()
    t = odds / (1 + odds)
    return np.asarray(t * np.eye(len(prior)) + (1 - t) * prior)


def keep_or_draw(problem: Problem) -> Mechanism:
    """Return the closed form in exact weights."""
    return on_all_categories(closed_form(possible_prior(problem), problem.alpha), problem)


def post_processings(
    prior: Floats, alpha: float, free: Floats | None, budget: SearchBudget
) -> Iterator[Floats]:
    """Yield invariant matrices made from good mechanisms: the best one, and randomised response."""
    response = response_matrix(len(prior), min(alpha, LARGEST_EXPONENT))
    for matrix in [response] if free is None else [free, response]:
        released = prior @ matrix
        bayes = matrix / released @ (matrix.T * prior)
        yield bayes
        if matrix.size > MOST_MOVED**2:
            continue
        for coupling in first_couplings(matrix, prior, budget):
            yield climb(matrix, prior, coupling, budget)


def climb(matrix: Floats, prior: Floats, coupling: Floats, budget: SearchBudget) -> Floats:
    """Return the invariant matrix at which no coupling improves the linearised gain."""
    released = prior @ matrix
    posterior = (prior[:, None] * matrix / released).T
    current = matrix / released @ coupling
    value = matrix_information(prior, current)
    for _ in range(MOST_STEPS):
        if budget.is_over():
            break
        moved = best_coupling(posterior @ np.log(current / prior), released, prior, budget)
        if moved is None:
            break
        after = matrix / released @ moved
        gained = matrix_information(prior, after)
        if gained <= value * (1 + 1e-9):
            break
        current, value = after, gained
    return current


def on_all_categories(matrix: Floats, problem: Problem) -> Mechanism:
    """Return the exact mechanism on all categories: impossible ones are never released."""
    possible = problem.prior > 0
    full = np.tile(problem.prior, (problem.size, 1))
    full[np.ix_(possible, possible)] = matrix
    return round_invariant(full, problem)


def choose(
    problem: Problem,
    candidates: list[Mechanism],
    *,
    without: float,
    bound: float,
    stopped: str,
    budget: SearchBudget,
) -> Design:
    """Return the best candidate for the objective, with the cost of the invariance."""
    prior = problem.prior
    informed = [mutual_information(prior, one) for one in candidates]
    if problem.objective == "information":
        k = int(np.argmax(informed))
        value, limit = informed[k], max(bound, informed[k])
        if (problem.prior > 0).sum() <= 2 and stopped == "search":
            limit = min(limit, value * (1 + MARGIN))
    else:
        values = [query_variance(prior, one, problem.workload) for one in candidates]
        k = int(np.argmin(values))
        value, limit = values[k], min(variance_bound(problem, budget), values[k])
    cost = without - informed[k]
    note = (
        f"Invariance costs at most {max(cost, 0):.6g} nats: {informed[k]:.6g} of "
        f"the {without:.6g} that a general matrix may carry at most."
    )
    return answer(
        problem,
        candidates[k],
        value=value,
        bound=limit,
        stopped=stopped,
        notes=(note,),
        details={"information_without_invariance": without, "invariance_cost": cost},
    )


def variance_bound(problem: Problem, budget: SearchBudget) -> float:
    """Return a proven lower bound on the variance under any matrix."""
    seen = observed_variance(problem.prior, problem.workload)
    if problem.alpha > LARGEST_ALPHA:
        return seen
    return max(proven_bound(problem.prior, problem.alpha, problem.workload, budget=budget), seen)

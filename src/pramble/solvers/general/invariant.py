r"""Invariant designs: the law of the release equals the prior, :math:`pR = p`.

Candidates, for the categories of positive probability (an impossible category cannot be released,
and its row is p):

- the closed form :math:`tI + (1-t)1p^\top`, :math:`t = (a-1)p_{\min}/(1+(a-1)p_{\min})`;
- Bayes post-processing :math:`R = M \operatorname{diag}(1/m) M^\top \operatorname{diag}(p)` of a
  mechanism M with :math:`m = pM`;
- better post-processing: with :math:`F_{jz}` the probability of "j, then z", the invariant
  post-processings of M are the transport plans from m to p, and the information of
  :math:`R = M \operatorname{diag}(1/m) F` is convex in F. Its linearisation is a transport problem
  with gains :math:`\sum_x \Pr(x|j) \log(R_{xz}/p_z)`; moving to its optimum never loses, and
  ends at a vertex, where few columns are mixed.

Post-processing keeps α.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pramble.information.bound import information_bound
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.solvers.general.column_generation import Watch
from pramble.solvers.general.estimation_bounds import spread_bound
from pramble.solvers.general.figures import figures, warnings
from pramble.solvers.general.invariant_rounding import rounded_invariant
from pramble.solvers.general.mixtures import best_mixture
from pramble.solvers.general.ties import information_of
from pramble.solvers.general.transport import best_plan, first_plans
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats

MOST_MOVED = 80
MOST_CATEGORIES = 1000
MOST_STEPS = 40
LARGEST_ALPHA = 25.0
MOST_ALPHA = 600.0


def solve_invariant(problem: Problem) -> Design:
    """Return the best invariant mechanism found, and what the invariance costs."""
    possible = problem.prior > 0
    prior = problem.prior[possible] / problem.prior[possible].sum()
    watch = Watch(problem.tolerance, problem.time_limit, problem.progress)
    free, bound = best_without(problem, watch)
    candidates = [closed_form(prior, problem.alpha)]
    stopped = "search"
    try:
        for one in post_processed(prior, problem.alpha, free, watch):
            candidates.append(one)
            if watch.left() <= 0:
                stopped = "time limit"
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    exact = [rounded_invariant(whole(one, possible, problem.prior), problem) for one in candidates]
    return finished(problem, exact, bound=bound, stopped=stopped)


def best_without(problem: Problem, watch: Watch) -> tuple[Floats | None, float]:
    """Return the best matrix without invariance on the possible categories, and a bound."""
    prior = problem.prior[problem.prior > 0]
    prior = prior / prior.sum()
    ceiling = min(information_bound(problem.alpha), entropy(problem.prior))
    few = 2 <= len(prior) <= MOST_CATEGORIES
    if not few or problem.alpha > LARGEST_ALPHA:
        return None, ceiling
    best = best_mixture(prior, problem.alpha, Watch(1e-6, watch.left(), watch.progress))
    return best.matrix(problem.alpha), min(best.bound, ceiling)


def closed_form(prior: Floats, alpha: float) -> Floats:
    """Return the mixture of the identity and the prior in every row."""
    odds = math.expm1(min(alpha, MOST_ALPHA)) * prior.min()
    t = odds / (1 + odds)
    return np.asarray(t * np.eye(len(prior)) + (1 - t) * prior)


def post_processed(
    prior: Floats, alpha: float, free: Floats | None, watch: Watch
) -> Iterator[Floats]:
    """Yield invariant matrices made from good mechanisms: the best one, and randomised response."""
    S, a = len(prior), math.exp(min(alpha, MOST_ALPHA))
    response = (1 + (a - 1) * np.eye(S)) / (S + a - 1)
    for matrix in [response] if free is None else [free, response]:
        released = prior @ matrix
        bayes = matrix / released @ (matrix.T * prior)
        yield bayes
        if S > MOST_MOVED:
            continue
        for plan in first_plans(matrix, prior):
            yield climbed(matrix, prior, plan, watch)


def climbed(matrix: Floats, prior: Floats, plan: Floats, watch: Watch) -> Floats:
    """Return the invariant matrix at which no transport plan improves the linearised gain."""
    released = prior @ matrix
    posterior = (prior[:, None] * matrix / released).T
    current = matrix / released @ plan
    value = information_of(prior, current)
    for _ in range(MOST_STEPS):
        if watch.left() <= 0:
            break
        plan = best_plan(posterior @ np.log(current / prior), released, prior)
        after = matrix / released @ plan
        gained = information_of(prior, after)
        if gained <= value * (1 + 1e-9):
            break
        current, value = after, gained
    return current


def whole(matrix: Floats, possible: NDArray[np.bool_], prior: Floats) -> Floats:
    """Return the matrix on all categories: impossible ones are never released."""
    full = np.tile(prior, (len(prior), 1))
    full[np.ix_(possible, possible)] = matrix
    return full


def finished(
    problem: Problem, candidates: list[Mechanism], *, bound: float, stopped: str
) -> Design:
    """Return the best candidate for the objective, with the cost of the invariance."""
    from pramble.solvers.general.estimation import observed_variance, query_variance

    prior = problem.prior
    informed = [mutual_information(prior, one) for one in candidates]
    if problem.objective == "information":
        values, limit = informed, bound
        k = int(np.argmax(values))
        limit = max(limit, values[k])
    else:
        values = [query_variance(prior, one, problem.workload) for one in candidates]
        k = int(np.argmin(values))
        level = min(problem.alpha, LARGEST_ALPHA)
        seen = observed_variance(prior, problem.workload)
        proven = seen
        if problem.alpha == level:
            proven = max(spread_bound(prior, level, problem.workload), seen)
        limit = min(proven, values[k])
    report = figures(prior, candidates[k])
    report["information_without_invariance"] = bound
    report["invariance_cost"] = bound - informed[k]
    cost = (
        f"Invariance costs at most {max(bound - informed[k], 0):.6g} nats: {informed[k]:.6g} of "
        f"the {bound:.6g} that a general matrix may carry at most."
    )
    return Design(
        mechanism=candidates[k],
        prior=prior,
        alpha=problem.alpha,
        family=problem.family,
        objective=problem.objective,
        value=values[k],
        bound=limit,
        stopped=stopped,
        notes=(cost, *warnings(prior, problem.alpha, report)),
        details=report,
    )

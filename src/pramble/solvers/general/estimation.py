"""Family general, objective estimation: the least variance of the estimate of p."""

import math

import numpy as np

from pramble.information.fisher import estimation_variance, fisher_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.column_generation import Watch
from pramble.solvers.general.convex import Variance
from pramble.solvers.general.estimation_bounds import MOST_ENUMERATED, spread_bound
from pramble.solvers.general.figures import figures, warnings
from pramble.solvers.general.information import LARGEST_ALPHA, information_share, named
from pramble.solvers.general.mixtures import best_mixture
from pramble.solvers.general.relaxed import Relaxed, relaxed_design
from pramble.solvers.general.square import Square, SquareSearch
from pramble.solvers.general.starts import best_random_circulant, random_circulants, structured
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats

KEYWORDS = {"invariant", "information_at_least", "outputs", "workload"}

MOST_SEARCHED = 150
MOST_SQUARE = 1500
MOST_RELAXED = 64


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    if problem.invariant:
        from pramble.solvers.general.invariant import solve_invariant

        return solve_invariant(problem)
    if problem.alpha > LARGEST_ALPHA:
        plain: Mechanism = randomized_response(problem.labels.values, problem.alpha)
        return finished(problem, [plain], bound=0.0, stopped="search")
    watch = Watch(problem.tolerance, problem.time_limit, problem.progress)
    relaxed = relaxation(problem, watch)
    if relaxed is None:
        bound = spread_bound(problem.prior, problem.alpha, problem.workload)
    else:
        bound = relaxed.bound
    floor = information_floor(problem, watch)
    candidates: list[Mechanism] = []
    if problem.outputs != "same" and relaxed is not None and not floor:
        candidates.append(named(problem, mixture_matrix(relaxed, problem.alpha)))
        return finished(problem, candidates, bound=bound, stopped=relaxed.stopped)
    if relaxed is not None and relaxed.stopped == "interrupted":
        watch = Watch(problem.tolerance, 0.0)
    squares, stopped = squares_for(problem, floor=floor, watch=watch)
    if relaxed is not None and relaxed.stopped == "interrupted":
        stopped = "interrupted"
    candidates += [named(problem, one.matrix(problem.alpha)) for one in squares]
    if not floor or not candidates:
        candidates.append(randomized_response(problem.labels.values, problem.alpha))
    return finished(problem, candidates, bound=bound, stopped=stopped)


def relaxation(problem: Problem, watch: Watch) -> Relaxed | None:
    """Return the relaxed optimum when it is asked for or gives the bound; None otherwise."""
    wanted = problem.outputs != "same" and problem.size <= MOST_RELAXED
    if problem.size <= MOST_ENUMERATED or wanted:
        return relaxed_design(problem.prior, problem.alpha, problem.workload, watch=watch)
    return None


def information_floor(problem: Problem, watch: Watch) -> float:
    """Return the least information allowed, in nats; 0 when none was asked for."""
    if problem.information_at_least is None:
        return 0.0
    best = best_mixture(problem.prior, problem.alpha, Watch(1e-6, watch.left()))
    return information_share(problem) * best.value


def mixture_matrix(relaxed: Relaxed, alpha: float) -> Floats:
    """Return the row-stochastic matrix of a relaxed design."""
    columns = relaxed.theta[:, None] * np.where(relaxed.sets, math.exp(alpha), 1.0)
    return np.asarray((columns / columns.sum(axis=0)).T)


def squares_for(problem: Problem, *, floor: float, watch: Watch) -> tuple[list[Square], str]:
    """Return square matrices found by structure and local search, and why the search ended."""
    S = problem.size
    search = SquareSearch(problem.prior, problem.alpha, workload=problem.workload, floor=floor)
    rng = np.random.default_rng(S)
    found: list[Square | None] = []
    try:
        if S <= MOST_SQUARE:
            starts = structured(S)
            ideal = min(max(round(S / (1 + math.exp(problem.alpha))), 1), S - 1)
            starts.append(best_random_circulant(S, ideal, count=400, rng=rng))
            found += [search.evaluate(start) for start in starts]
        if S <= MOST_SEARCHED:
            starts += random_circulants(S, 40 if S < 20 else 8, rng)
            for start in starts:
                if watch.left() <= 0:
                    return kept(found, floor), "time limit"
                found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
    except KeyboardInterrupt:
        return kept(found, floor), "interrupted"
    return kept(found, floor), "search"


def kept(found: list[Square | None], floor: float) -> list[Square]:
    """Return the best square with enough information, if any."""
    enough = [one for one in found if one is not None and one.information >= floor]
    return sorted(enough, key=lambda one: one.variance)[:1]


def query_variance(prior: Floats, mechanism: Mechanism, workload: Floats | None) -> float:
    r"""Return :math:`n \operatorname{tr}(W \operatorname{Cov} W^\top)`; W = I by default."""
    plain = estimation_variance(prior, mechanism)
    if workload is None or math.isinf(plain):
        return plain
    variance = Variance(prior, workload)
    basis = variance.basis
    information = basis.T @ fisher_information(prior, mechanism) @ basis
    return float(np.trace(np.linalg.solve(information, variance.cost)))


def observed_variance(prior: Floats, workload: Floats | None) -> float:
    r"""Return :math:`\operatorname{tr}(W(\operatorname{diag} p - pp^\top)W^\top)`.

    That is the variance when X itself is seen, which no mechanism can beat; rounded down.
    """
    queries = np.eye(len(prior)) if workload is None else workload
    mean = queries @ prior
    return float((queries**2 @ prior).sum() - mean @ mean) * (1 - 1e-12)


def finished(
    problem: Problem, candidates: list[Mechanism], *, bound: float, stopped: str
) -> Design:
    """Return the candidate of least variance."""
    values = [query_variance(problem.prior, one, problem.workload) for one in candidates]
    k = int(np.argmin(values))
    report = figures(problem.prior, candidates[k])
    value = values[k]
    bound = max(bound, observed_variance(problem.prior, problem.workload))
    if value - bound <= problem.tolerance * value:
        stopped = "tolerance"
    return Design(
        mechanism=candidates[k],
        prior=problem.prior,
        alpha=problem.alpha,
        family=problem.family,
        objective=problem.objective,
        value=value,
        bound=min(bound, value),
        stopped=stopped,
        notes=warnings(problem.prior, problem.alpha, report),
        details=report,
    )

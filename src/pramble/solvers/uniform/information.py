"""The paper's problem: the most informative matrix with uniform off-diagonal rows, proven."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pramble.errors import PrivacyError
from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_UNIFORM_ALPHA
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.general import within
from pramble.mechanisms.ratios import exp_below
from pramble.mechanisms.uniform import UniformRows, keep_probabilities
from pramble.solvers.budget import SearchBudget
from pramble.solvers.problem import DesignProblem
from pramble.solvers.result import Design, Level
from pramble.solvers.uniform.nodes import HIGH, LOW, TOP, Kind, kind_of
from pramble.solvers.uniform.polytope import Corner, corners, paper_levels
from pramble.solvers.uniform.search import SAFETY, Found, Search, roots

# The search does not go below this relative tolerance: float margins would drown it.
FINEST = 1e-9

# Relative difference below which two assignments count as equally good.
TIE = 1e-12

# Relative difference after rounding below which the assignment that was preferred stays.
CLOSE = 1e-9

LIKELY = 3


def solve_uniform_information(problem: DesignProblem) -> Design:
    """Return the proven optimum over uniform rows."""
    if problem.invariant:
        from pramble.solvers.general.invariant import invariance_cost, solve_uniform_invariant

        best = solve_uniform_invariant(problem)
        free = solve_uniform_information(replace(problem, invariant=False))
        note, cost = invariance_cost(best.value, free.bound, "uniform rows")
        cost["invariance_cost"] = max(cost["invariance_cost"], 0.0)
        return replace(best, notes=(note, *best.notes), details={**best.details, **cost})
    budget = problem.budget()
    # the search may use a share of the tolerance; rounding needs the rest
    coarse = 2 * problem.size**2 / (TOTAL * math.expm1(min(problem.alpha, LARGEST_UNIFORM_ALPHA)))
    share = 2 if coarse < problem.tolerance / 4 else 10
    search = Search(max(problem.tolerance / share, FINEST))
    stopped = run_search(search, problem, vertex_kinds(problem), budget)
    found, mechanism = best_rounded(search, problem)
    value = mutual_information(problem.prior, mechanism)
    ceiling = problem.ceiling * (1 + SAFETY)
    bound = ceiling if problem.alpha > LARGEST_UNIFORM_ALPHA else min(search.bound, ceiling)
    return problem.answer(
        mechanism,
        value=value,
        bound=max(bound, value),
        stopped=stopped,
        notes=tuple(notes(problem, search, value)),
        details={
            "levels": levels_of(problem, found),
            "nodes": search.nodes,
            "unrounded": found.value,
        },
    )


def vertex_kinds(problem: DesignProblem) -> list[Kind]:
    """Return the kinds of vertices of the feasible set; refuse an impossible floor."""
    S, a = problem.size, working_exp(problem)
    floor = None if problem.keep_at_least is None else Fraction(problem.keep_at_least)
    most = a / (S - 1 + a)
    if floor is not None and floor > most:
        raise PrivacyError(
            f"At alpha = {problem.alpha:g} at most one of {S} categories can be kept with more "
            f"than {float(most):.6g}; keep_at_least = {problem.keep_at_least!r} asks it of all."
        )
    if problem.symmetric:
        least = 1 / (a * (S - 1) + 1)
        ends = {most, least if floor is None else max(least, floor)}
        return [kind_of(Corner(q, q, q, q), S) for q in ends]
    points = [c for c in corners(S, a, floor) if not (S == 2 and c.bottom == 0)]
    # at these corners any set of categories may be at the high level and the others at the low one
    two_level = [c for c in points if c.top == c.high != c.low == c.bottom]
    inside = {q for c in two_level for q in (c.high, c.low)}
    return [kind_of(c, S) for c in points if not set(c) <= inside or len(set(c)) > 1]


def working_exp(problem: DesignProblem) -> Fraction:
    """Return the rational just below e^α that the search works with."""
    return exp_below(min(problem.alpha, LARGEST_UNIFORM_ALPHA))


def run_search(
    search: Search, problem: DesignProblem, kinds: list[Kind], budget: SearchBudget
) -> str:
    """Search until the tolerance, the end of the budget or an interruption; say which."""
    try:
        nodes = list(roots(problem.prior, kinds))
        for model in (node.model for node in nodes):
            # assignments that often win: all alike, or a likely category at the top
            for level in [HIGH, LOW] if model.kind.free else [HIGH]:
                alike = np.full(len(model.rest), level)
                search.offer(model, alike)
                for x in np.argsort(-model.rest)[:LIKELY] if model.top_left else ():
                    search.offer(model, np.where(np.arange(len(alike)) == x, TOP, alike))
        for node in nodes:
            search.add(node, 0.0)
        while search.heap:
            if budget.is_over():
                return budget.reason
            search.step()
            budget.spend(1e6 + 1000 * problem.size)
            budget.report("assigning keep probabilities", value=search.value, bound=search.bound)
    except KeyboardInterrupt:
        if not search.found:
            raise
        search.proven = np.inf
        return "interrupted"
    return "tolerance"


def best_rounded(search: Search, problem: DesignProblem) -> tuple[Found, UniformRows]:
    """Return the assignment that is best after rounding, and its mechanism."""
    # Rounding lowers the value, so assignments below the best rounded one cannot win. Among equals
    # the one with the fewest levels is taken (categories that never occur may be at any level), and
    # among those the one that keeps most values: with two categories "all v_−α" carries as much as
    # "all v_α", but reads inverted.
    best: tuple[float, Found, UniformRows] | None = None
    for found in sorted(search.found.values(), key=lambda one: rank(one, search.value)):
        if best is not None and found.value <= best[0] * (1 + TIE):
            continue
        pairs = [
            (mutual_information(problem.prior, m), m) for m in uniform_roundings(problem, found)
        ]
        value, mechanism = max(pairs, key=lambda pair: pair[0])
        if best is None or value > best[0] * (1 + CLOSE):
            best = value, found, mechanism
    assert best is not None
    return best[1], best[2]


def rank(found: Found, best: float) -> tuple[bool, int, float, float]:
    """Return what orders assignments: the best, then simple ones, then those that keep most."""
    model, keep = found.model, found.model.kind.keep
    used = {*np.unique(found.choice).tolist(), model.star}
    retained = (1 - model.mass) * keep[model.star] + float((model.rest * keep[found.choice]).sum())
    return found.value < best * (1 - TIE), len(used), -retained, -found.value


def uniform_roundings(problem: DesignProblem, found: Found) -> Iterator[UniformRows]:
    """Yield private mechanisms close to an assignment."""
    # All categories of one level share an off weight, so there are at most four integers to choose.
    # Most often the neighbours of the exact ones suffice; else wider neighbourhoods are tried.
    levels, corner, n = all_levels(problem, found), found.model.kind.corner, problem.size - 1
    floor = Fraction(problem.keep_at_least or 0)
    most, limit = math.floor((1 - floor) * TOTAL) // n, exp_below(problem.alpha)
    used, place = np.unique(levels, return_inverse=True)
    below = [math.floor((1 - corner[level]) / n * TOTAL) for level in used.tolist()]
    for reach in (0, 1, 3):
        near = [
            [off for off in range(least - reach, least + reach + 2) if 0 <= off <= most]
            for least in below
        ]
        tried = (UniformRows(problem.labels, np.array(off)[place]) for off in product(*near))
        private = (one for one in tried if within(one.largest_ratio(), limit))
        if (first := next(private, None)) is not None:
            yield first
            yield from private
            return
    q = np.array([float(q) for q in corner])[levels]
    mechanism = keep_probabilities(q, problem.labels.values, alpha=problem.alpha)
    if (mechanism.keep < floor * TOTAL).any():
        raise PrivacyError(
            f"keep_at_least = {problem.keep_at_least!r} leaves no weights over 2**53 at "
            f"alpha = {problem.alpha:g}; lower it a little."
        )
    yield mechanism


def all_levels(problem: DesignProblem, found: Found) -> NDArray[np.int64]:
    star = int(problem.prior.argmax())
    return np.insert(found.choice, star, found.model.star)


def levels_of(problem: DesignProblem, found: Found) -> tuple[Level, ...]:
    r"""Return the distinct keep probabilities, largest first, by the paper's names.

    :math:`v_\alpha`, :math:`v_{-\alpha}`, :math:`v_{\min}`, :math:`v_{\max}` as in its Proposition
    on the feasible set. Others have a rank: ``M₁ ≥ M₂ ≥ m₂ ≥ m₁`` are the largest two and the
    smallest two.
    """
    levels, corner, size = all_levels(problem, found), found.model.kind.corner, problem.size
    names = dict(zip(reversed(corner), ("m₁", "m₂", "M₂", "M₁"), strict=True))
    names |= {q: name for name, q in paper_levels(size, working_exp(problem)).items()}
    names[Fraction(1, size)] = "1/S"
    distinct = sorted(set(corner), reverse=True)
    ranks = np.array([distinct.index(q) for q in corner])[levels]
    named = [
        Level(names[q], float(q), np.flatnonzero(ranks == rank)) for rank, q in enumerate(distinct)
    ]
    return tuple(level for level in named if len(level))


def notes(problem: DesignProblem, search: Search, value: float) -> Iterator[str]:
    if problem.alpha > LARGEST_UNIFORM_ALPHA:
        yield (
            f"alpha = {problem.alpha:g} asks for next to no privacy: weights over 2**53 end at "
            "alpha = 36.7, and the bound is H(X)."
        )
    lost = 1 - value / search.value if search.value > 0 else 0.0
    if lost > problem.tolerance / 2:
        yield (
            f"Weights over 2**53 are coarse for {problem.size} categories: rounding to the private "
            f"side cost a share {lost:.1e} of the information."
        )
    if value == 0:
        yield "The prior has no entropy: nothing can be learnt, whatever is released."

r"""Family general, objective information: the most mutual information of any matrix.

Outputs that hardly ever occur, merged before rounding.

An output of probability 10⁻¹⁴ has some dozens of weight units, and to make their ratios private
costs all other columns a part of their information. A sum of private columns is private, so light
columns are added to the one with which they lose least: what an output that hardly occurs tells
is hardly lost.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pramble.data.labels import as_labels
from pramble.information.fisher import estimation_variance
from pramble.information.measures import best_high_mass, mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.dense import entropy_excess
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.arcs import best_arcs
from pramble.solvers.general.generation import bound_by_prices, generate, price
from pramble.solvers.general.outputs import most_outputs, name_outputs, response_for
from pramble.solvers.general.sets import Gain, Mixture, Sets, matrix_information, shares_in_groups
from pramble.solvers.general.squares import MOST_CATEGORIES, complete_rank, least_variance_square
from pramble.solvers.problem import DesignProblem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

# Categories up to which a matrix is stored and searched for; beyond, arcs around a circle.
MOST_STORED = 5000
# Categories up to which a matrix of full rank is looked for, and arcs under generated labels.
MOST_COMPLETED, MOST_ARCS = 400, 1500
# Share of the tolerance that is given up where it makes shares easier to estimate; the search has
# half of the tolerance.
GIVEN_UP = 0.45
# Share of the most information above which square matrices of small variance are looked for.
PRACTICALLY_ALL = 1 - 4.5e-7


def solve_information(problem: DesignProblem) -> Design:
    prior, alpha, size = problem.prior, problem.alpha, problem.size
    budget, ceiling, huge = problem.budget(0.5), problem.ceiling, alpha > LARGEST_ALPHA
    same = isinstance(problem.outputs, str) and problem.outputs == "same"
    # randomised response if it fits, and arcs where they exist
    candidates = [response_for(problem)] if most_outputs(problem) >= size or huge else []
    if candidates and size >= 3 and not huge and (same or size <= MOST_ARCS):
        arcs = best_arcs(prior, alpha, problem.labels)
        candidates.append(arcs if same else name_outputs(problem, arcs.matrix))
    value = max((mutual_information(prior, one) for one in candidates), default=0.0)
    if size > MOST_STORED or huge:
        return informative_design(
            problem, candidates, bound=ceiling, floor=value, stopped="size limit"
        )
    best = informative_mixture(prior, alpha, budget)
    bound, stopped = min(best.bound, ceiling), best.stopped
    floor = (1 - GIVEN_UP * problem.tolerance) * max(best.value, value)
    candidates += rounded_mechanisms(problem, best.matrix(alpha))
    if stopped == "tolerance" and size <= MOST_COMPLETED and same:
        # matrices of nearly as much information made for a small estimation variance
        try:
            whole = complete_rank(prior, alpha, best, floor=floor)
            candidates += [] if whole is None else [name_outputs(problem, whole)]
            if size <= MOST_CATEGORIES:
                floors = [max(floor, PRACTICALLY_ALL * best.value)]
                square = least_variance_square(prior, alpha, best, floors=floors, budget=budget)
                if square is not None:
                    candidates.append(name_outputs(problem, square.matrix(alpha)))
        except KeyboardInterrupt:
            stopped = "interrupted"
    return informative_design(problem, candidates, bound=bound, floor=floor, stopped=stopped)


def informative_design(
    problem: DesignProblem, candidates: list[Mechanism], *, bound: float, floor: float, stopped: str
) -> Design:
    """Return the candidate of least variance among those with enough information."""
    prior = problem.prior
    values = [mutual_information(prior, one) for one in candidates]
    enough = [k for k, value in enumerate(values) if value >= min(floor, max(values))]
    k = min(enough, key=lambda k: (estimation_variance(prior, candidates[k]), -values[k]))
    bound = max(bound, values[k])
    return diagnosed_answer(problem, candidates[k], value=values[k], bound=bound, stopped=stopped)


WHOLE = 200
GROUPS = (40, 120, 240)
SMALL = 12
# Categories, the heaviest ones, that have a price of their own in the first relaxations.
ALONE = (1, 4, 12)


def informative_mixture(prior: Floats, alpha: float, budget: SearchBudget) -> Mixture:
    """Return the best mixture found, with a bound proven for the whole prior.

    First, most categories share one price per mass; see :func:`relaxed`. That gives a bound which
    is often sharp, prices to start from, and the masses that good sets have. Then light categories
    are merged: a mixture for the groups is one for the categories, since both of a merged pair
    share a row. Up to ``WHOLE`` categories the search ends with all of them apart.
    """
    start = first_sets(prior, alpha)
    if len(prior) <= SMALL:
        return generate(prior, alpha, start=start, budget=budget)
    best = relaxed(prior, alpha, budget)
    if best.stopped == "interrupted":
        budget = budget.part(budget.tolerance, effort=0.0, quiet=True)
        return replace(
            generate(prior, alpha, start=start, budget=budget, known=best), stopped="interrupted"
        )
    start = np.vstack([start, rotated_sets(best, prior)])
    best = replace(best, value=0.0)
    for most in (most for most in GROUPS if 1.5 * most < len(prior)):
        found = _over_groups(prior, alpha, most, known=best, budget=budget)
        best = better(best, found)
        start = np.vstack([start, found.sets])
        if budget.closed(best.value, best.bound):
            return replace(best, stopped="tolerance")
        if found.stopped == "interrupted" or budget.is_over():
            return best
    if len(prior) > WHOLE:
        return replace(best, stopped="search" if best.stopped == "tolerance" else best.stopped)
    found = generate(prior, alpha, start=start, budget=budget, known=best)
    return replace(better(best, found), stopped=found.stopped)


def relaxed(prior: Floats, alpha: float, budget: SearchBudget) -> Mixture:
    """Return the relaxation of least bound in which only the heaviest categories stand alone."""
    # The others need rows that sum to 1 only on average. Their true prices per mass differ little,
    # for only the sums of sets of them matter; free prices of hundreds of categories would wander.
    part = budget.part(budget.tolerance / 8, effort=budget.left() / 4, quiet=True)
    every = np.ones((1, len(prior)), dtype=np.bool_)
    best = None
    for alone in (min(one, len(prior)) for one in ALONE):
        groups = np.full(len(prior), alone)
        groups[np.argsort(-prior, kind="stable")[:alone]] = np.arange(alone)
        found = generate(prior, alpha, start=every, budget=part, known=best, groups=groups)
        if best is not None and found.bound >= best.bound * (1 - 1e-9):
            return replace(best, stopped=found.stopped)
        best = found
        if found.stopped != "tolerance":
            break
    assert best is not None
    return best


def rotated_sets(loose: Mixture, prior: Floats) -> Sets:
    """Return the sets of a relaxation with their light part turned around a circle."""
    # Categories lie on a circle, each on an arc as long as its probability. Every turn of a part
    # covers all light categories alike, which is what the relaxation asks for.
    S = len(prior)
    heavy = np.isin(np.arange(S), np.argsort(-prior, kind="stable")[: ALONE[-1]])
    light = np.where(heavy, 0.0, prior)
    if not light.any():
        return loose.sets
    middles = np.cumsum(light) - light / 2
    turns = (middles[None, :] - middles[~heavy, None]) % light.sum()
    made = []
    for one in loose.sets[np.argsort(-loose.theta)[:8]]:
        mass = light[one].sum()
        part = (turns < mass - 1e-12) & ~heavy
        made.append(part | (one & heavy))
    return np.vstack([*made, loose.sets])


def better(one: Mixture, other: Mixture) -> Mixture:
    """Return the mixture with the larger value, under the smaller of both bounds."""
    first = one if one.value >= other.value else other
    least = one if one.bound <= other.bound else other
    return replace(first, bound=least.bound, prices=least.prices, stopped=other.stopped)


def _over_groups(
    prior: Floats, alpha: float, most: int, *, known: Mixture, budget: SearchBudget
) -> Mixture:
    """Return the best mixture over merged categories, with the bound that its prices prove."""
    # A bound known for the categories bounds the groups too. Prices of the groups, divided by mass,
    # prove one for the categories once they are priced over all sets of categories.
    groups = merged_groups(prior, most)
    mass, prices = (
        np.asarray(np.bincount(groups, weights=each), dtype=np.float64)
        for each in (prior, known.prices)
    )
    inner = budget.part(budget.tolerance / 4, effort=budget.left() / 3)
    merged = generate(
        mass,
        alpha,
        start=first_sets(mass, alpha),
        budget=inner,
        known=replace(known, prices=prices),
    )
    found = replace(merged, sets=merged.sets[:, groups], bound=known.bound, prices=known.prices)
    if budget.closed(found.value, found.bound) or budget.is_over():
        return found
    prices = merged.prices[groups] * shares_in_groups(groups, prior)
    gain, slack = Gain(alpha), budget.tolerance * merged.value / 20
    priced = price(prior, gain.a1 * prices, gain, slack=slack, budget=budget)
    bound, _ = bound_by_prices(prices, priced.bound, gain)
    return replace(found, bound=bound, prices=prices) if bound < found.bound else found


def merged_groups(prior: Floats, most: int) -> Integers:
    """Return the group of each category, at most ``most`` groups in all."""
    # The heaviest half of the groups are single categories. The rest of the categories are packed,
    # lightest first, into groups whose masses grow linearly from near zero: small ones are needed
    # to fill a high set up to its ideal mass.
    S = len(prior)
    if most >= S:
        return np.arange(S)
    order = np.argsort(-prior, kind="stable")
    alone, packed = most // 2, most - most // 2
    groups = np.empty(S, dtype=np.int64)
    groups[order[:alone]] = np.arange(alone)
    tail = order[alone:][::-1]
    limits = np.cumsum(np.arange(1, packed + 1))
    mass = np.cumsum(prior[tail])
    if mass[-1] > 0:
        middle = (mass - prior[tail] / 2) / mass[-1]
        groups[tail] = alone + np.minimum(np.searchsorted(limits / limits[-1], middle), packed - 1)
    else:
        groups[tail] = alone
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def first_sets(prior: Floats, alpha: float) -> Sets:
    """Return sets that suffice for a mechanism: arcs, single categories, and all but one."""
    S = len(prior)
    single = np.eye(S, dtype=np.bool_)
    if S < 3:
        return single
    arcs = best_arcs(prior, alpha, as_labels(S))
    slot = np.arange(S)
    high = (arcs.positions[None, :] - slot[:, None]) % S < arcs.width
    ideal = best_high_mass(alpha)
    return np.vstack([high, single, ~single] if ideal > 0.3 else [high, single])


# Probabilities below which outputs are merged, tried until rounding loses next to nothing.
LIGHT = (0.0, 1e-12, 1e-10, 1e-8)


def rounded_mechanisms(problem: DesignProblem, matrix: Floats) -> Iterator[Mechanism]:
    """Yield exact mechanisms of a matrix: as it is, and with light columns merged if that cost."""
    enough = matrix_information(problem.prior, matrix) * (1 - problem.tolerance / 10)
    for least in LIGHT:
        mechanism = name_outputs(problem, merge_light(problem.prior, matrix, least))
        yield mechanism
        if mutual_information(problem.prior, mechanism) >= enough:
            return


def merge_light(prior: Floats, matrix: Floats, least: float) -> Floats:
    """Return the matrix with columns of less probability than ``least`` added to others."""
    light = prior @ matrix < least
    if not light.any() or light.all():
        return matrix
    retained = matrix[:, ~light].copy()
    for column in matrix[:, light].T:
        together = retained + column[:, None]
        lost = column_information(prior, retained) - column_information(prior, together)
        retained[:, lost.argmin()] += column
    return retained


def column_information(prior: Floats, columns: Floats) -> Floats:
    masses = prior @ columns
    return np.asarray(prior @ entropy_excess(columns / masses - 1) * masses)

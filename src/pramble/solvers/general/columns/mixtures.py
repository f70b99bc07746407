"""The best mixture for mutual information at any size: whole, or over merged categories first."""

from dataclasses import replace

import numpy as np

from pramble.data.labels import as_labels
from pramble.information.measures import best_high_mass
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.arcs import best_arcs
from pramble.solvers.general.columns.generation import Mixture, bound_of, generate
from pramble.solvers.general.columns.merging import heaviest_alone, merged_groups, spread_prices
from pramble.solvers.general.columns.pricing import price
from pramble.solvers.general.patterns import Gain, Sets
from pramble.values import Floats

WHOLE = 200
GROUPS = (40, 120, 240)
SMALL = 12
ALONE = (1, 4, 12)
"""Categories, the heaviest ones, that have a price of their own in the first relaxations."""


def best_mixture(prior: Floats, alpha: float, budget: SearchBudget) -> Mixture:
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
    start = np.vstack([start, turned_sets(best, prior)])
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
    """Return the relaxation of least bound in which only the heaviest categories stand alone.

    The others need rows that sum to 1 only on average. Their true prices per mass differ little,
    for only the sums of sets of them matter; free prices of hundreds of categories would wander.
    """
    part = budget.part(budget.tolerance / 8, effort=budget.left() / 4, quiet=True)
    every = np.ones((1, len(prior)), dtype=np.bool_)
    best = None
    for alone in ALONE:
        groups = heaviest_alone(prior, alone)
        found = generate(prior, alpha, start=every, budget=part, known=best, groups=groups)
        if best is not None and found.bound >= best.bound * (1 - 1e-9):
            return replace(best, stopped=found.stopped)
        best = found
        if found.stopped != "tolerance":
            break
    assert best is not None
    return best


def turned_sets(loose: Mixture, prior: Floats) -> Sets:
    """Return the sets of a relaxation with their light part turned around a circle.

    Categories lie on a circle, each on an arc as long as its probability. Every turn of a part
    covers all light categories alike, which is what the relaxation asks for.
    """
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
    """Return the best mixture over merged categories, with the bound that its prices prove.

    A bound known for the categories bounds the groups too. Prices of the groups, divided by mass,
    prove one for the categories once they are priced over all sets of categories.
    """
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
    prices = spread_prices(merged.prices, groups, prior)
    gain, slack = Gain(alpha), budget.tolerance * merged.value / 20
    priced = price(prior, gain.a1 * prices, gain, slack=slack, budget=budget)
    bound, _ = bound_of(prices, priced.bound, gain)
    return replace(found, bound=bound, prices=prices) if bound < found.bound else found


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

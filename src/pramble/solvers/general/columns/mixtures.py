"""The best mixture for mutual information at any size: whole, or over merged categories first."""

from dataclasses import replace

import numpy as np

from pramble.data.labels import as_labels
from pramble.information.bound import best_high_mass
from pramble.solvers.general.columns.arcs import best_arcs
from pramble.solvers.general.columns.branching import UNIT
from pramble.solvers.general.columns.generation import Mixture, generate
from pramble.solvers.general.columns.pricing import price
from pramble.solvers.general.patterns import Gain, Sets
from pramble.solvers.watch import Watch
from pramble.values import Floats, Integers

WHOLE = 200
GROUPS = (120, 240)


def best_mixture(prior: Floats, alpha: float, watch: Watch) -> Mixture:
    """Return the best mixture found, with a bound proven for the whole prior.

    Beyond ``WHOLE`` categories, light ones are first merged. A mixture for the groups is one for
    the categories, since both of a merged pair share a row; and prices of the groups, divided by
    mass, prove a bound for the categories once they are priced over all sets of categories.
    """
    if len(prior) <= WHOLE:
        return generate(prior, alpha, start=first_sets(prior, alpha), watch=watch)
    best = None
    for most in GROUPS:
        found = _over_groups(prior, alpha, most, watch)
        best = found if best is None else better(best, found)
        closed = watch.closed(best.value, best.bound)
        if closed or best.stopped != "tolerance" or len(prior) <= most:
            return best
    return best if best is not None else found


def better(one: Mixture, other: Mixture) -> Mixture:
    """Return the mixture with the larger value, under the smaller of both bounds."""
    first, second = (one, other) if one.value >= other.value else (other, one)
    return replace(first, bound=min(one.bound, other.bound), stopped=second.stopped)


def _over_groups(prior: Floats, alpha: float, most: int, watch: Watch) -> Mixture:
    groups = merged_groups(prior, most)
    mass = np.asarray(np.bincount(groups, weights=prior), dtype=np.float64)
    inner = watch.inner(watch.tolerance / 4)
    merged = generate(mass, alpha, start=first_sets(mass, alpha), watch=inner)
    prices = spread_prices(merged.prices, groups, prior)
    bound = proven_bound(prior, alpha, prices, slack=watch.tolerance * merged.value / 20)
    return replace(merged, sets=merged.sets[:, groups], bound=bound, prices=prices)


def proven_bound(prior: Floats, alpha: float, prices: Floats, *, slack: float) -> float:
    """Return the bound that some prices prove; see :mod:`.generation`."""
    gain = Gain(alpha)
    total = float(prices.sum())
    found = price(prior, gain.a1 * prices, gain, slack=slack)
    margin = 8 * len(prior) * UNIT * float(np.abs(prices).sum())
    return total + max(found.bound - total, 0.0) + margin


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


def merged_groups(prior: Floats, most: int) -> Integers:
    """Return the group of each category, at most ``most`` groups in all.

    The heaviest half of the groups are single categories. The rest of the categories are packed,
    lightest first, into groups whose masses grow linearly from near zero: small ones are needed to
    fill a high set up to its ideal mass.
    """
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


def spread_prices(prices: Floats, groups: Integers, prior: Floats) -> Floats:
    """Return prices of categories from prices of groups, by their share of the group's mass."""
    mass = np.bincount(groups, weights=prior)
    size = np.bincount(groups)
    share = np.where(mass[groups] > 0, prior / np.where(mass > 0, mass, 1.0)[groups], 0.0)
    share = np.where(mass[groups] > 0, share, 1 / size[groups])
    return np.asarray(prices[groups] * share)

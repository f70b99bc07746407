"""Merge light categories, so that the linear programme stays small whatever S."""

import numpy as np

from pramble.values import Floats, Integers


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


def heaviest_alone(prior: Floats, alone: int) -> Integers:
    """Return groups in which the heaviest categories stand alone and all others together."""
    groups = np.full(len(prior), alone)
    groups[np.argsort(-prior, kind="stable")[:alone]] = np.arange(min(alone, len(prior)))
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def spread_prices(prices: Floats, groups: Integers, prior: Floats) -> Floats:
    """Return prices of categories from prices of groups, by their share of the group's mass."""
    return np.asarray(prices[groups] * shares_of(groups, prior))


def shares_of(groups: Integers, prior: Floats) -> Floats:
    """Return the share of each category in its group, by mass; alike where there is none."""
    mass = np.bincount(groups, weights=prior)
    size = np.bincount(groups)
    heavy = mass[groups] > 0
    return np.where(heavy, prior / np.where(mass > 0, mass, 1.0)[groups], 1 / size[groups])

"""Single years of age: means and quantiles of 96 bands are covered as promised."""

import numpy as np
from scipy.stats import binom

import pramble
from pramble.data.bands import band_labels

AGES = np.arange(96)
WEIGHTS = np.where(AGES < 60, 1 - 0.002 * AGES, 0.88 * np.exp(-(AGES - 60) / 14.0))
PYRAMID = WEIGHTS * (1 + 0.15 * np.exp(-(((AGES - 32) / 9) ** 2)))
"""A made-up age pyramid, as weights of single years."""


def intervals(width, alpha, n, runs):
    """The true mean and median, and what releases say of them: (runs, 2, 2 ends)."""
    p = PYRAMID.reshape(-1, width).sum(axis=1)
    p = p / p.sum()
    edges = np.arange(0, 97, width)
    middle = (edges[:-1] + edges[1:]) / 2
    truth = np.array([p @ middle, np.interp(0.5, [0, *np.cumsum(p)], edges)])
    m = pramble.geometric(band_labels(edges[:-1]), alpha)
    rng = np.random.default_rng(1)
    found = []
    for counts in rng.multinomial(n, p @ m.matrix, size=runs):
        e = pramble.estimate(counts, m, counts=True)
        d = e.distribution(high=96, shares=[0.5])
        found.append([(d.lower[row], d.upper[row]) for row in (0, -1)])
    return truth, np.array(found)


def covered(truth, found, *, part=1.0):
    """How often the truth lies in that part of each interval, about its middle."""
    middle, half = found.mean(axis=2), part * np.ptp(found, axis=2) / 2
    return (np.abs(middle - truth) <= half).sum(axis=0)


def usual(runs):
    """The fewest and the most of so many runs that 95 % intervals cover."""
    return (int(binom.ppf(q, runs, 0.95)) for q in (1e-3, 1 - 1e-3))


def test_single_years_of_age():
    truth, found = intervals(1, 0.3, 100_000, 120)
    fewest, most = usual(120)
    hits = covered(truth, found)
    assert (hits >= fewest).all()
    assert (hits <= most).all()
    assert (covered(truth, found, part=0.5) < fewest).all()
    widths = np.ptp(found, axis=2).mean(axis=0)
    assert widths[0] < 0.3
    assert widths[1] < 1.2


def test_bands_of_six_years():
    truth, found = intervals(6, 1.0, 20_000, 200)
    fewest, most = usual(200)
    hits = covered(truth, found)
    assert (hits >= fewest).all()
    assert (hits <= most).all()
    assert (covered(truth, found, part=0.5) < fewest).all()
    assert (covered(truth, found, part=1.6) > most).all()


def test_the_geometric_mechanism_is_nearly_best_for_the_mean():
    p = PYRAMID.reshape(-1, 2).sum(axis=1) / PYRAMID.sum()
    middle = (np.arange(48) + 0.5)[None] / 10
    best = pramble.design(
        p, 0.6, family="general", objective="estimation", distance="path", workload=middle
    )
    M = pramble.geometric(48, 0.6).matrix
    inverse = np.linalg.inv((M / (p @ M)) @ M.T)
    variance = (middle @ (inverse - np.outer(p, p)) @ middle.T).item()
    assert best.bound <= variance * (1 + 1e-9)
    assert variance <= 1.05 * best.bound

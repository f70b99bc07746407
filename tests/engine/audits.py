"""Measures of what was drawn against what should have been."""

import math

import numpy as np
from scipy import stats


def table_of(truth, drawn, *, shape):
    """Counts of each (true, drawn) pair of codes."""
    cells = truth.astype(np.int64) * shape[1] + drawn
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def chi_square_p(counts, weights):
    """The p-value of counts, row by row multinomial, against integer weights over 2**53."""
    law = np.asarray(weights, dtype=float) / float(sum(int(w) for w in weights[0]))
    expected = counts.sum(axis=1, keepdims=True) * law
    if counts[expected == 0].any():
        return 0.0
    used = expected > 0
    statistic = ((counts - expected)[used] ** 2 / expected[used]).sum()
    freedom = used.sum() - (counts.sum(axis=1) > 0).sum()
    return float(stats.chi2.sf(statistic, freedom))


def alpha_seen(hits, trials, *, other_hits, other_trials, level=1 - 1e-9):
    """A Clopper–Pearson lower bound on the log ratio of two probabilities."""
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - tail, other_hits + 1, other_trials - other_hits)
    return math.log(low / high) if low > 0 else -math.inf

r"""As many outputs as categories: vertices of the mixtures, and exchanges of their columns.

With exactly S columns :math:`v_j` their weights are :math:`\theta = V^{-1}1`: such matrices are the
vertices of :math:`\{\theta \ge 0 : \sum_j \theta_j v_j = 1\}`, which linear programmes with random
gains visit. From the best ones a column is exchanged for another ray as long as that lowers the
variance and keeps :math:`\theta \ge 0`.
"""

from collections.abc import Iterator

import numpy as np

from pramble.solvers.general.columns.fewer import float_variance
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.watch import Watch
from pramble.values import Floats

VERTICES = 60
STARTS = 3
MOST_ROUNDS = 40
MOST_TRIED = 1500
"""Exchanges of one round of which the variance is computed."""


def best_square(
    first: Floats, rays: Floats, prior: Floats, queries: Floats, *, watch: Watch
) -> Floats:
    """Return the best matrix of S columns found, from a first one and from vertices."""

    def variance(matrix: Floats) -> float:
        return float_variance(matrix, prior, queries)

    candidates = (rays / rays.max(axis=1, keepdims=True)).T
    starts = sorted(vertices(candidates, watch=watch), key=variance)[:STARTS]
    found = [first, *starts]
    found += [exchanged(one, candidates, prior, queries, watch=watch) for one in found]
    return min(found, key=variance)


def vertices(candidates: Floats, *, watch: Watch) -> Iterator[Floats]:
    """Yield matrices of S of the candidate columns, by random gains."""
    size, count = candidates.shape
    rng = np.random.default_rng(size)
    programme = LinearProgramme(np.ones(size))
    programme.add(candidates.T, np.zeros(count))
    for _ in range(VERTICES):
        programme.replace_gains(rng.exponential(size=count) * candidates.sum(axis=0))
        solved = programme.solve(watch.left())
        if solved is None:
            return
        kept = np.flatnonzero(solved[0] > 1e-12)
        if len(kept) == size:
            yield candidates[:, kept] * solved[0][kept]


def exchanged(
    matrix: Floats, candidates: Floats, prior: Floats, queries: Floats, *, watch: Watch
) -> Floats:
    r"""Return a matrix after the best exchanges found.

    With :math:`c = \sum_j b_j v_j` a candidate in terms of the columns, it takes the place of j
    with weight :math:`\theta_j / b_j`, and every other column k keeps
    :math:`\theta_k - b_k\theta_j / b_j`, which must not be negative: the least ratio decides j.
    """
    size = len(matrix)
    if matrix.shape[1] != size:
        return matrix
    columns, best = matrix / matrix.max(axis=0), float_variance(matrix, prior, queries)
    rng = np.random.default_rng(size)
    for _ in range(MOST_ROUNDS):
        if watch.left() <= 0 or np.linalg.cond(columns) > 1e12:
            break
        inverse = np.linalg.inv(columns)
        theta, parts = inverse.sum(axis=1), inverse @ candidates
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(parts > 1e-12, theta[:, None] / parts, np.inf)
        leaving, share = ratios.argmin(axis=0), ratios.min(axis=0)
        tried = np.flatnonzero(np.isfinite(share) & (share > 0))
        found = None
        for c in rng.permutation(tried)[:MOST_TRIED].tolist():
            trial, weights = columns.copy(), theta - share[c] * parts[:, c]
            trial[:, leaving[c]] = candidates[:, c]
            weights[leaving[c]] = share[c]
            value = float_variance(trial * np.maximum(weights, 0.0), prior, queries)
            if value < best * (1 - 1e-9):
                best, found = value, trial
        if found is None:
            break
        columns = found
    theta = np.linalg.solve(columns, np.ones(size))
    return np.asarray(columns * np.maximum(theta, 0.0))

r"""As many outputs as categories: vertices of the mixtures, and exchanges of their columns.

With exactly S columns :math:`v_j` their weights are :math:`\theta = V^{-1}1`: such matrices are the
vertices of :math:`\{\theta \ge 0 : \sum_j \theta_j v_j = 1\}`, which linear programmes with random
gains visit, or gains that the best mixture of any number of columns gives. From the best ones a
column is exchanged for another ray as long as that lowers the variance and keeps :math:`\theta \ge
0`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pramble.information.fisher import fisher
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.fewer import float_variance
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.values import Floats, Integers

VERTICES = 60
KICKS, MOST_KICKED = 300, 3
"""Starts from the best matrix after random exchanges, and how many of these."""

MOST_ROUNDS = 400
MOST_CONDITION = 1e12
LEAST_GAIN, TINY = 1e-9, 1e-12


def best_square(
    first: Sequence[Floats],
    mixture: Floats,
    prior: Floats,
    queries: Floats,
    *,
    budget: SearchBudget,
) -> Floats:
    """Return the best matrix of S columns found, from the first ones and from vertices.

    They are vertices of the mixtures of the columns of a best matrix of any number of them.
    """

    def variance(matrix: Floats) -> float:
        return float_variance(matrix, prior, queries)

    candidates = mixture / mixture.max(axis=0)
    gains = candidates.sum(axis=0), told(mixture, candidates, prior, queries)
    starts = sorted(vertices(candidates, gains, budget=budget), key=variance)
    found = [*first, *starts]
    found += [exchanged(one, candidates, prior, queries, budget=budget) for one in found]
    best = min(found, key=variance)
    rng = np.random.default_rng(len(prior))
    for _ in range(KICKS):
        kicked = exchanged_at_random(best, candidates, rng)
        again = exchanged(kicked, candidates, prior, queries, budget=budget)
        best = min(best, again, key=variance)
    return best


def told(mixture: Floats, columns: Floats, prior: Floats, queries: Floats) -> Floats:
    r"""Return by how much more of each column lowers the variance of a mixture.

    With :math:`K = J^{-1} W^\top W J^{-1}` it is :math:`v^\top K v / (p\cdot v)`.
    """
    weighed = np.linalg.pinv(fisher(mixture, prior)) @ queries.T
    return np.asarray(((columns.T @ weighed) ** 2).sum(axis=1) / (prior @ columns))


def vertices(
    candidates: Floats, gains: Sequence[Floats], *, budget: SearchBudget
) -> Iterator[Floats]:
    """Yield matrices of S of the candidate columns, by gains that are changed at random."""
    size, count = candidates.shape
    rng = np.random.default_rng(size)
    programme = LinearProgramme(np.ones(size))
    programme.add(candidates.T, np.zeros(count))
    for trial in range(VERTICES):
        programme.replace_gains(rng.exponential(size=count) * gains[trial % len(gains)])
        solved = programme.solve(budget)
        if solved is None:
            return
        kept = np.flatnonzero(solved[0] > 1e-12)
        if len(kept) == size:
            yield candidates[:, kept] * solved[0][kept]


def exchanged(
    matrix: Floats, candidates: Floats, prior: Floats, queries: Floats, *, budget: SearchBudget
) -> Floats:
    r"""Return a matrix after exchanges of its columns, each the best of all.

    With :math:`c = \sum_j b_j v_j` a candidate in terms of the columns, it takes the place of j
    with weight :math:`\theta_j / b_j`, and every other column k keeps
    :math:`\theta_k - b_k\theta_j / b_j`, which must not be negative: the least ratio decides j.
    With :math:`u_i` the rows of :math:`V^{-1} W^\top` the variance is :math:`\sum_i |u_i|^2 (p\cdot
    v_i)/\theta_i` up to a constant. An exchange makes them :math:`u_j / b_j` and :math:`u_i -
    (b_i/b_j) u_j`, so that their lengths follow from the products :math:`u_i\cdot u_j`.
    """
    size = len(matrix)
    if matrix.shape[1] != size or (matrix.max(axis=0) <= 0).any():
        return matrix
    columns = matrix / matrix.max(axis=0)
    least = np.inf
    for _ in range(MOST_ROUNDS):
        if budget.is_over() or np.linalg.cond(columns) > MOST_CONDITION:
            break
        inverse = np.linalg.inv(columns)
        theta, parts, rows = inverse.sum(axis=1), inverse @ candidates, inverse @ queries.T
        budget.spend(size**3 / 2 + 35 * parts.size + size * parts.size / 5)
        found = after_exchange(theta, parts, rows @ rows.T, prior @ columns, prior @ candidates)
        best = int(np.argmin(found.variance))
        if not found.variance[best] < min(least, found.before) * (1 - LEAST_GAIN):
            break
        least = float(found.variance[best])
        columns[:, found.leaving[best]] = candidates[:, best]
    theta = np.linalg.solve(columns, np.ones(size))
    return np.asarray(columns * np.maximum(theta, 0.0))


def exchanged_at_random(matrix: Floats, candidates: Floats, rng: np.random.Generator) -> Floats:
    """Return a matrix after an exchange or a few that nothing was asked of: another start."""
    size = len(matrix)
    if matrix.shape[1] != size or (matrix.max(axis=0) <= 0).any():
        return matrix
    columns = matrix / matrix.max(axis=0)
    for fresh in rng.integers(candidates.shape[1], size=rng.integers(1, MOST_KICKED + 1)).tolist():
        if np.linalg.cond(columns) > MOST_CONDITION:
            return matrix
        inverse = np.linalg.inv(columns)
        part, theta = inverse @ candidates[:, fresh], inverse.sum(axis=1)
        positive = np.flatnonzero(part > TINY)
        columns[:, positive[np.argmin(theta[positive] / part[positive])]] = candidates[:, fresh]
    if np.linalg.cond(columns) > MOST_CONDITION:
        return matrix
    theta = np.linalg.solve(columns, np.ones(size))
    return np.asarray(columns * theta) if (theta > 0).all() else matrix


class Exchange(NamedTuple):
    """The variance before, that after each candidate came in, and the column that left for it."""

    before: float
    variance: Floats
    leaving: Integers


def after_exchange(
    theta: Floats, parts: Floats, products: Floats, mass: Floats, fresh: Floats
) -> Exchange:
    """Return what each exchange makes of the variance, up to a constant; see `exchanged`."""
    each = np.arange(parts.shape[1])
    lengths = np.diagonal(products)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before = float((lengths * mass / theta).sum())
        ratios = np.where(parts > TINY, theta[:, None] / parts, np.inf)
        leaving, share = ratios.argmin(axis=0), ratios.min(axis=0)
        own = parts[leaving, each]
        turn = parts / own
        after = lengths[:, None] - 2 * turn * products[:, leaving]
        after += turn**2 * lengths[leaving]
        weights = theta[:, None] - share * parts
        terms = np.maximum(after, 0.0) * mass[:, None] / weights
        terms[leaving, each] = lengths[leaving] / own**2 * fresh / share
        weights[leaving, each] = share
        sound = np.isfinite(share) & (weights > TINY).all(axis=0)
        variance = np.where(sound, terms.sum(axis=0), np.inf)
    return Exchange(before, np.where(np.isnan(variance), np.inf, variance), leaving)

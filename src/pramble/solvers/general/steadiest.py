"""Among matrices of nearly the best information, the one that estimates p best."""

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.circulants import best_turns, random_circulants
from pramble.solvers.general.columns.fewer import float_variance
from pramble.solvers.general.columns.generation import Mixture
from pramble.solvers.general.columns.interior_point import optimal_mixture
from pramble.solvers.general.patterns import (
    CLOSE,
    Gain,
    Sets,
    all_sets,
    matrix_information,
    matrix_of,
    off,
    patterns_of,
    response_matrix,
    trim,
)
from pramble.solvers.general.square.block_designs import known_designs
from pramble.solvers.general.square.search import Square, SquareSearch, least_variance
from pramble.solvers.general.variance import Variance
from pramble.values import Floats, Integers

MOST_CATEGORIES = 150
WHOLE = 8
TRIES = 3
STARTS = 24
RUNGS = (1 - 4.5e-7, 0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8, 0.7, 0.5, 0.0)


def steadiest_square(
    prior: Floats,
    alpha: float,
    best: Mixture,
    *,
    floor: float,
    budget: SearchBudget,
    workload: Floats | None = None,
) -> Square | None:
    """Return the square matrix of least variance found with information of at least ``floor``.

    The search goes down a ladder of floors that does not depend on the one asked for, from the best
    information to the first rung at or below ``floor``, each from the best of the one before.
    Whatever a higher floor finds is thus found by a lower one too: the variance cannot rise.
    """
    rng = np.random.default_rng(len(prior))
    starts = first_squares(best, rng)
    found: list[Square | None] = []
    for rung in rungs(best.value, floor):
        search = SquareSearch(prior, alpha, workload=workload, floor=rung)
        warm = least_variance(found, rung)
        for start in starts if warm is None else [warm.sets, *starts]:
            if budget.is_over():
                return least_variance(found, floor)
            found.append(search.evaluate(start))
            found.append(search.improve(start, rng=rng, steps=20_000, budget=budget))
    return least_variance(found, floor)


def rungs(most: float, floor: float) -> list[float]:
    """Return the floors of the ladder, highest first; the highest is ``floor`` if above all."""
    ladder = [share * most for share in RUNGS]
    if floor > ladder[0] * (1 + 1e-12):
        return [floor]
    lower = next(k for k, rung in enumerate(ladder) if rung <= floor)
    return ladder[: lower + 1]


def first_squares(best: Mixture, rng: np.random.Generator) -> list[Sets]:
    """Return squares to start from: the best mixture if it is one, circulants and designs."""
    S = best.sets.shape[1]
    sizes = best.sets.sum(axis=1)
    starts = [best.sets] if len(best.sets) == S else []
    starts += [
        best_turns(S, k, rng=rng)
        for k in sorted({int(sizes.min()), round(float(sizes.mean())), int(sizes.max())})
        if 0 < k < S
    ]
    return [*starts, *known_designs(S), *random_circulants(S, STARTS if S < 40 else 4, rng)]


def complete_rank(prior: Floats, alpha: float, best: Mixture, *, floor: float) -> Floats | None:
    r"""Return :math:`(1-\delta) M + \delta R`, which makes p identifiable; None if no δ > 0 does.

    M is the best mixture, filled up with impossible outputs, and R randomised response, its columns
    ordered by :func:`silent_last`. δ is the largest, to three digits, for which the information
    stays above the floor, with a tenth of what lies above it to spare for rounding, or a part of it
    that leaves less variance.
    """
    S = len(prior)
    floor += (best.value - floor) / 10
    matrix = best.matrix(alpha)
    square = np.column_stack([matrix, np.zeros((S, S - matrix.shape[1]))])
    response = response_matrix(S, alpha)[:, silent_last(matrix)]
    low, high = 0.0, 1.0
    while high > 1e-12 and high - low > 1e-3 * high:
        middle = (low + high) / 2 if low else high / 8
        if matrix_information(prior, (1 - middle) * square + middle * response) >= floor:
            low = middle
        else:
            high = middle
    if not low:
        return None
    shares = [low, 0.7 * low, 0.5 * low, 0.3 * low] if S <= MOST_CATEGORIES else [low]
    mixed = [(1 - share) * square + share * response for share in shares]
    return min(mixed, key=lambda one: float_variance(one, prior, np.eye(S)))


def silent_last(matrix: Floats) -> Integers:
    """Return all categories, last those that differ most in what the matrix does not tell.

    Those are found by pivoting in a basis of the vectors u with uᵀM = 0.
    """
    from scipy.linalg import qr

    S, used = matrix.shape
    silent = np.linalg.svd(matrix, full_matrices=True)[0][:, used:]
    if not silent.shape[1]:
        return np.arange(S)
    last = qr(silent.T, pivoting=True, mode="r")[1][: S - used]
    return np.concatenate([np.setdiff1d(np.arange(S), last), last])


def steadiest_mixture(
    prior: Floats,
    alpha: float,
    sets: Sets,
    *,
    floor: float,
    budget: SearchBudget,
    workload: Floats | None = None,
) -> Floats | None:
    """Return the matrix of least variance over these sets and some that tell all categories apart.

    Any number of outputs: a convex programme, whose optimum only falls with the floor. What is lost
    by leaving out nearly empty columns is asked for once more. None where floats find no optimum,
    as for a floor that hardly anything attains, or the time is up.
    """
    S = len(prior)
    gain = Gain(alpha)
    rng = np.random.default_rng(S)
    turns = [all_sets(S)] if S <= WHOLE else list(random_circulants(S, max(4, 200 // S), rng))
    pool = np.unique(np.vstack([sets, np.eye(S, dtype=np.bool_), *turns]), axis=0)
    patterns, gains = patterns_of(pool, gain.a1), gain(pool @ prior) if floor > 0 else None
    asked = floor
    for _ in range(TRIES):
        optimum = optimal_mixture(
            patterns,
            Variance(prior, workload),
            tolerance=2e-7,
            gains=gains,
            floor=asked,
            budget=budget,
        )
        columns, theta = trim(pool, optimum.theta, gain)
        if not off(columns, theta, gain) <= CLOSE:
            return None
        matrix = matrix_of(columns, theta, alpha)
        short = floor - matrix_information(prior, matrix)
        if short <= 0:
            break
        asked += 1.5 * short
    return matrix

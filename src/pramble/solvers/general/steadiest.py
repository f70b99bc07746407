"""Among matrices of nearly the best information, the one that estimates p best."""

import numpy as np

from pramble.solvers.general.circulants import best_random_circulant, random_circulants
from pramble.solvers.general.columns.generation import Mixture
from pramble.solvers.general.columns.interior_point import optimal_mixture
from pramble.solvers.general.patterns import (
    Gain,
    Sets,
    matrix_information,
    matrix_of,
    patterns_of,
    polish,
    response_matrix,
)
from pramble.solvers.general.square.block_designs import known_designs
from pramble.solvers.general.square.search import Square, SquareSearch
from pramble.solvers.general.variance import Variance
from pramble.solvers.watch import Watch
from pramble.values import Floats, Integers

MOST_CATEGORIES = 150
STARTS = 24
SECONDS = 10.0


def steadiest_square(
    prior: Floats, alpha: float, best: Mixture, *, floor: float, watch: Watch
) -> Square | None:
    """Return the square matrix of least variance found with information of at least ``floor``."""
    S = len(prior)
    search = SquareSearch(prior, alpha, floor=floor)
    rng = np.random.default_rng(S)
    watch = watch.inner(watch.tolerance, seconds=SECONDS, quiet=True)
    sizes = best.sets.sum(axis=1)
    starts = [
        best_random_circulant(S, k, count=200, rng=rng)
        for k in sorted({int(sizes.min()), round(float(sizes.mean())), int(sizes.max())})
        if 0 < k < S
    ]
    starts += [*known_designs(S), *random_circulants(S, STARTS if S < 40 else 4, rng)]
    if best.sets.shape[0] == S:
        starts.insert(0, best.sets)
    found = []
    for start in starts:
        if watch.left() <= 0:
            break
        found.append(search.evaluate(start))
        found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
    return least_variance(found, floor)


def least_variance(squares: list[Square | None], floor: float) -> Square | None:
    """Return the square of least variance with enough information, if any."""
    enough = [one for one in squares if one is not None and one.information >= floor]
    return min(enough, key=lambda one: one.variance, default=None)


def complete_rank(prior: Floats, alpha: float, best: Mixture, *, floor: float) -> Floats | None:
    r"""Return :math:`(1-\delta) M + \delta R`, which makes p identifiable; None if no δ > 0 does.

    M is the best mixture, filled up with impossible outputs, and R randomised response, its columns
    ordered by :func:`silent_last`. δ is the largest, to three digits, for which the information
    stays above the floor, with a tenth of what lies above it to spare for rounding.
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
    return (1 - low) * square + low * response if low else None


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


def steadiest_mixture(prior: Floats, alpha: float, sets: Sets, *, floor: float) -> Floats:
    """Return the matrix of least variance over these sets and some that tell all categories apart.

    Any number of outputs: a convex programme.
    """
    S = len(prior)
    gain = Gain(alpha)
    rng = np.random.default_rng(S)
    turns = list(random_circulants(S, max(4, 200 // S), rng))
    pool = np.unique(np.vstack([sets, np.eye(S, dtype=np.bool_), *turns]), axis=0)
    optimum = optimal_mixture(
        patterns_of(pool, gain.a1),
        Variance(prior, None),
        tolerance=1e-4,
        gains=gain(pool @ prior),
        floor=floor,
    )
    used = optimum.theta > 1e-6 * optimum.theta.max()
    return matrix_of(pool[used], polish(pool[used], optimum.theta[used], gain), alpha)

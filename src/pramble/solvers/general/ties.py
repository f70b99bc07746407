"""Among matrices of nearly the best information, the one that estimates p best."""

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.excess import entropy_excess
from pramble.solvers.general.column_generation import Mixture, Watch, polished
from pramble.solvers.general.convex import Variance, optimal_mixture
from pramble.solvers.general.pricing import Gain
from pramble.solvers.general.square import Square, SquareSearch
from pramble.solvers.general.starts import best_random_circulant, random_circulants, structured
from pramble.values import Floats

Sets = NDArray[np.bool_]

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
    watch = Watch(watch.tolerance, min(SECONDS, watch.left()))
    sizes = best.sets.sum(axis=1)
    starts = [
        best_random_circulant(S, k, count=200, rng=rng)
        for k in sorted({int(sizes.min()), round(float(sizes.mean())), int(sizes.max())})
        if 0 < k < S
    ]
    starts += [*structured(S), *random_circulants(S, STARTS if S < 40 else 4, rng)]
    if best.sets.shape[0] == S:
        starts.insert(0, best.sets)
    found = []
    for start in starts:
        if watch.left() <= 0:
            break
        found.append(search.evaluate(start))
        found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
    kept = [one for one in found if one is not None and one.information >= floor]
    return min(kept, key=lambda one: one.variance, default=None)


def completed(prior: Floats, alpha: float, best: Mixture, *, floor: float) -> Floats | None:
    r"""Return :math:`(1-\delta) M + \delta R`, which makes p identifiable; None if no δ > 0 does.

    M is the best mixture, filled up with impossible outputs, and R randomised response, its columns
    ordered by :func:`telling`. δ is the largest, to three digits, for which the information stays
    above the floor, with a tenth of what lies above it to spare for rounding.
    """
    S = len(prior)
    floor += (best.value - floor) / 10
    matrix = best.matrix(alpha)
    square = np.column_stack([matrix, np.zeros((S, S - matrix.shape[1]))])
    response = (1 + np.expm1(alpha) * np.eye(S)) / (S + np.expm1(alpha))
    response = response[:, telling(matrix)]
    low, high = 0.0, 1.0
    while high > 1e-12 and high - low > 1e-3 * high:
        middle = (low + high) / 2 if low else high / 8
        if information_of(prior, (1 - middle) * square + middle * response) >= floor:
            low = middle
        else:
            high = middle
    return (1 - low) * square + low * response if low else None


def telling(matrix: Floats) -> NDArray[np.int64]:
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


def information_of(prior: Floats, matrix: Floats) -> float:
    """Return the mutual information of a float matrix with positive columns."""
    released = prior @ matrix
    return float(prior @ entropy_excess(matrix / released - 1) @ released)


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
        np.asarray(1 + gain.a1 * pool, dtype=np.float64),
        Variance(prior, None),
        tolerance=1e-4,
        gains=gain(pool @ prior),
        floor=floor,
    )
    used = optimum.theta > 1e-6 * optimum.theta.max()
    theta = polished(pool[used], optimum.theta[used], gain)
    columns = theta * np.where(pool[used].T, np.exp(alpha), 1.0)
    return np.asarray(columns / columns.sum(axis=1, keepdims=True))

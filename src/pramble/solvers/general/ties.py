"""Among matrices of nearly the best information, the one that estimates p best."""

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.column_generation import Mixture, Watch
from pramble.solvers.general.convex import Variance, optimal_mixture
from pramble.solvers.general.pricing import Gain
from pramble.solvers.general.square import Square, SquareSearch
from pramble.solvers.general.starts import random_circulants, structured

Floats = NDArray[np.float64]
Sets = NDArray[np.bool_]

MOST_CATEGORIES = 150
STARTS = 24


def steadiest_square(
    prior: Floats, alpha: float, best: Mixture, *, floor: float, watch: Watch
) -> Square | None:
    """Return the square matrix of least variance found with information of at least ``floor``."""
    S = len(prior)
    search = SquareSearch(prior, alpha, floor=floor)
    rng = np.random.default_rng(S)
    starts = [*structured(S), *random_circulants(S, STARTS, rng)]
    if best.sets.shape[0] == S:
        starts.append(best.sets)
    found = []
    for start in starts:
        if watch.left() <= 0:
            break
        found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
        if best.sets.shape[0] == S and start is starts[-1]:
            found.append(search.evaluate(start))
    kept = [one for one in found if one is not None and one.information >= floor]
    return min(kept, key=lambda one: one.variance, default=None)


def completed(prior: Floats, alpha: float, best: Mixture, *, floor: float, most: int) -> Floats:
    r"""Return the best mixture with the spare outputs used to make p identifiable.

    A share :math:`1-\delta` goes to the mixture and δ to randomised response with its lightest
    categories released as one, δ as large as the floor of information allows.
    """
    matrix = best.matrix(alpha)
    spare = most - matrix.shape[1]
    if spare < 2 or best.value <= floor:
        return matrix
    other = short_response(prior, alpha, spare)
    gain = Gain(alpha)
    high = other.sum(axis=1)
    information = float(gain(other @ prior) @ weights_of(other, gain)) if high.any() else 0.0
    share = min((best.value - floor) / (best.value - information), 1.0) * (1 - 1e-9)
    columns = weights_of(other, gain) * (1 + gain.a1 * other.T)
    return np.hstack([(1 - share) * matrix, share * columns])


def weights_of(sets: Sets, gain: Gain) -> Floats:
    """Return the θ of a partition into high sets: all equal."""
    return np.full(len(sets), 1 / (len(sets) + gain.a1))


def short_response(prior: Floats, alpha: float, outputs: int) -> Sets:
    """Return randomised response into few outputs: categories dealt out by mass."""
    sets = np.zeros((outputs, len(prior)), dtype=np.bool_)
    order = np.argsort(-prior, kind="stable")
    sets[np.minimum(np.arange(len(prior)), outputs - 1), order] = True
    return sets


def steadiest_mixture(
    prior: Floats, alpha: float, sets: Sets, *, floor: float, workload: Floats | None = None
) -> tuple[Sets, Floats]:
    """Return the mixture of these sets of least variance, with information of at least ``floor``.

    Any number of outputs: a convex programme.
    """
    gain = Gain(alpha)
    optimum = optimal_mixture(
        1 + gain.a1 * sets,
        Variance(prior, workload),
        tolerance=1e-4,
        gains=gain(sets @ prior),
        floor=floor,
    )
    used = optimum.theta > 1e-9 * optimum.theta.max()
    return sets[used], optimum.theta[used]

r"""The privacy blanket over all pairs of records (Balle, Bell, Gascón and Nissim 2019, Lemma 5.3).

**The matrix of a record** has few rows and columns that stand for all of them. Rows that are alike
up to an exchange of labels make the same promise, so three of each class are enough for every pair
and for a crowd next to it. Proportional columns reveal the same and are one. The *blanket*
:math:`b_z = \min_x M_{xz}` is over all rows; the integers decide it.

What it proves of n records in random order is :ref:`an expectation <proof-blanket>`: the excess of
a sum of n independent values, :math:`(M_{xz} - e^\varepsilon M_{x'z})/b_z` with probability
:math:`b_z` and else 0. Over all ordered pairs it covers both directions.

The transform of all pairs at a point is one product of matrices,
:math:`\sum_z b_z e^{tM_{xz}/b_z} e^{-te^\varepsilon M_{x'z}/b_z}`.

**The worst matrix of a ratio and a blanket.** Let :math:`A = M_{xZ}/b_Z` and
:math:`B = M_{x'Z}/b_Z` with :math:`Z \sim b/\gamma`. Both lie in :math:`[1, a]` and have mean
:math:`1/\gamma`. Moving A and B to the ends of the interval, keeping means, raises the expectation
of every convex function of :math:`A - e^\varepsilon B`; so does moving mass from the corners (a, a)
and (1, 1) to (a, 1) and (1, a), whose values have the same sum and lie further apart. Hence no
matrix has a larger bound than the law with

.. math:: P(a, 1) = P(1, a) = \min(\beta, 1 - \beta), \qquad \beta = (1/\gamma - 1)/(a - 1),

and the rest at (1, 1), or at (a, a) if :math:`\beta > 1/2`. Randomised response and disjoint arcs
attain it. With branches the public coin is part of the output, and each branch has its own corners.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.hockey_stick import (
    FINE,
    LARGEST_EXPONENT,
    UNIT,
    Contour,
    Curve,
    Summand,
    contour,
    excess_above,
    factor_below,
    integrate,
    rounding,
    saddle,
    smallest_epsilon,
)
from pramble.values import Floats, frozen

# Rows and columns up to which all pairs are compared; of larger ones the corners are known.
MOST_ROWS = 300
MOST_COLUMNS = 4096
# Each factor rounds once, and masses are right to 24 units.
MOST_FACTORS = 12
# Rows of a class that stand for all of it: a pair, and a crowd next to it.
ALIKE = 3


@frozen(eq=False)
class Crowd:
    """Rows of probabilities that stand for all rows of a matrix, and the blanket over all.

    - ``masses``: Probabilities, right to 24 units in the last place.
    - ``blanket``: The least probability over all rows, columns added up that tell the same.
    - ``alike``: Whether all ordered pairs of rows make the same promise.
    """

    masses: Floats
    blanket: Floats
    alike: bool = False

    @property
    def ratios(self) -> Floats:
        """The rows over the blanket, where it is positive."""
        covered = self.blanket > 0
        return np.asarray(self.masses[:, covered] / self.blanket[covered])

    @property
    def weights(self) -> Floats:
        return np.asarray(self.blanket[self.blanket > 0])

    @property
    def bare(self) -> Floats:
        """The columns that the blanket does not cover."""
        return np.asarray(self.masses[:, self.blanket == 0])


def crowd_of(mechanisms: Sequence[Mechanism]) -> Crowd | None:
    """Return the crowd of independent mechanisms side by side; None where it is too large."""
    if len(mechanisms) > MOST_FACTORS:
        return None
    masses: NDArray[Any] = np.ones((1, 1))
    blanket: NDArray[Any] = np.ones(1)
    alike = False
    for factor in mechanisms:
        if isinstance(factor, UniformRows):
            part = uniform_crowd(factor)
        else:
            S, T = factor.shape
            if S > 4 * MOST_ROWS or T > MOST_COLUMNS:
                return None
            merged = merge_proportional(np.unique(factor.weights, axis=0))
            part = Crowd(merged / TOTAL, merged.min(axis=0) / TOTAL)
        if part is None:
            return None
        rows, columns = np.multiply(masses.shape, part.masses.shape)
        if rows > MOST_ROWS or columns > MOST_COLUMNS:
            return None
        masses, blanket = np.kron(masses, part.masses), np.kron(blanket, part.blanket)
        alike = part.alike
    return Crowd(masses, blanket, alike and len(mechanisms) == 1)


def uniform_blanket(mechanism: UniformRows) -> NDArray[np.int64]:
    """Return the least weight of every column, in O(S)."""
    off = mechanism.off
    others = np.full(len(off), off.min())
    least = int(off.argmin())
    others[least] = np.delete(off, least).min(initial=TOTAL)
    return np.asarray(np.minimum(others, mechanism.keep), dtype=np.int64)


def uniform_crowd(mechanism: UniformRows) -> Crowd | None:
    """Return up to three rows of each class of equal weights, and one column per other blanket."""
    off, blanket = mechanism.off, uniform_blanket(mechanism)
    order = np.argsort(off, kind="stable")
    nth = np.arange(len(off)) - np.searchsorted(off[order], off[order])
    chosen = np.sort(order[nth < ALIKE])
    if len(chosen) > MOST_ROWS:
        return None
    masses = np.repeat(off[chosen][:, None], len(chosen), axis=1)
    np.fill_diagonal(masses, mechanism.keep[chosen])
    left = np.delete(blanket, chosen)
    levels, counts = np.unique(left, return_counts=True)
    rest = np.multiply.outer(off[chosen], counts)
    all_masses = np.concatenate([masses, rest], axis=1) / TOTAL
    covered = np.concatenate([blanket[chosen], levels * counts]) / TOTAL
    return Crowd(all_masses, covered, bool(off.min() == off.max()))


def merge_proportional(weights: NDArray[Any]) -> NDArray[Any]:
    """Return integer columns with those that are proportional added up, and no empty ones.

    Examples
    --------
    >>> merge_proportional(np.array([[1, 2, 0, 5], [2, 4, 0, 1]]))
    array([[3, 5],
           [6, 1]])
    """
    filled = weights[:, weights.any(axis=0)]
    _, kind = np.unique(filled // np.gcd.reduce(filled, axis=0), axis=1, return_inverse=True)
    merged = np.zeros((len(filled), int(kind.max()) + 1), dtype=filled.dtype)
    np.add.at(merged.T, kind.ravel(), filled.T)
    return merged


Pair = tuple[int, int]
# Standard deviations of the smoothing of a first integral over all pairs, which rules most out.
COARSE = 0.2
# Of δ, below which the one pair is brought, so that all pairs meet it in spite of rounding.
MARGIN = 1e-6
# By which share of δ pairs differ that are alike but for rounding.
TIED = 1e-9
# Rounds of finding the worst pair at an ε, before every step of the search looks at all pairs.
MOST_ROUNDS = 8
# Of ε, the first step from one pair's ε to that of a worse one.
NEXT = 0.01
# Entries of the exponentials of one chunk of points.
AT_ONCE = 2**17
# Points of a contour that serves all pairs at once.
MOST_POINTS = 2**11


@frozen(eq=False)
class Pairs:
    """The transforms of all pairs of some rows, given as ratios to the blanket less one."""

    first: Floats
    second: Floats
    weights: Floats
    factor: float

    @property
    def terms(self) -> int:
        return len(self.weights)

    @property
    def largest(self) -> float:
        """The largest exponent per unit of a point, of either factor."""
        most = float(max(self.first.max(), self.second.max()))
        return most * (1 + self.factor) + abs(1 - self.factor)

    def __call__(self, z: NDArray[np.complex128], /) -> NDArray[np.complex128]:
        rest = max(1.0 - float(self.weights.sum()), 0.0)
        found = np.empty((len(z), len(self.first) * len(self.second)), dtype=np.complex128)
        size = max(1, AT_ONCE // (self.first.size + self.second.size))
        for start in range(0, len(z), size):
            points = z[start : start + size, None, None]
            raised = np.exp(points * (self.first + (1 - self.factor))) * self.weights
            lowered = np.exp(-points * self.factor * self.second)
            both = raised @ lowered.transpose(0, 2, 1)
            found[start : start + size] = both.reshape(len(points), -1) + rest
        return found


def all_pairs(crowd: Crowd, factor: float) -> Pairs:
    above = crowd.ratios - 1
    return Pairs(above, above, crowd.weights, factor)


def pair_summand(crowd: Crowd, pair: Pair, factor: float) -> Summand:
    ratios = crowd.ratios
    values = ratios[pair[0]] - factor * ratios[pair[1]]
    return Summand(values, crowd.weights, rounding(float(ratios.max(initial=1.0)), factor))


def pair_above(crowd: Crowd, pair: Pair, epsilon: float, *, rows: int) -> float:
    """Return a proven δ for one ordered pair."""
    factor = factor_below(epsilon)
    summand = pair_summand(crowd, pair, factor)
    bare = float(bare_above(crowd, factor)[pair])
    return excess_above(summand, rows, smoothing=fineness(crowd)) + bare


def bare_above(crowd: Crowd, factor: float) -> Floats:
    """Return, for every pair, what the outputs that the blanket does not cover tell at most."""
    total = np.zeros((len(crowd.masses),) * 2)
    for column in crowd.bare.T:
        total += np.maximum(column[:, None] - factor * column, 0)
    size = crowd.bare.shape[1]
    return np.asarray(total + 64 * UNIT * (size + 1) * (1 + factor) * (size > 0))


def first_pair(crowd: Crowd) -> Pair:
    """Return the pair that is furthest apart, by the variance of its values."""
    scaled = crowd.ratios * np.sqrt(crowd.weights)
    squares = (scaled**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * scaled @ scaled.T + 2 * bare_above(crowd, 1.0)
    np.fill_diagonal(distances, -1.0)
    x, y = np.unravel_index(int(distances.argmax()), distances.shape)
    return int(x), int(y)


def fineness(crowd: Crowd) -> float:
    rows, columns = crowd.masses.shape
    work = rows**2 * columns
    return FINE if work < 2e6 else 0.05 if work < 8e6 else 0.1


def worst_pair(crowd: Crowd, epsilon: float, *, rows: int, known: Pair) -> tuple[float, Pair]:
    """Return a δ that is proven for every ordered pair, and the pair that decides it.

    Pairs whose Chernoff bound, or bound from a coarse integral, is below that of the known pair
    cannot matter; the rest get the fine integral.
    """
    factor, ratios = factor_below(epsilon), crowd.ratios
    best, found = pair_above(crowd, known, epsilon, rows=rows), known
    if crowd.alike:
        return best, found
    bare = bare_above(crowd, factor)
    summand = pair_summand(crowd, known, factor)
    left = ~np.eye(len(ratios), dtype=bool)
    left[known] = False
    if not summand.terms:
        worst = np.unravel_index(int(np.where(left, bare, -1.0).argmax()), bare.shape)
        return max(best, float(bare[worst])), (int(worst[0]), int(worst[1]))
    if not summand.largest:  # to within its rounding; there is no saddle to look for
        return 1.0, known
    steepest = LARGEST_EXPONENT / all_pairs(crowd, factor).largest
    theta = min(saddle(summand, rows), steepest)
    left &= chernoff(crowd, theta, factor, rows=rows) + bare > best
    bounds = bare
    for smoothing in (COARSE, fineness(crowd)):
        if not left.any():
            return best, found
        line = contour(summand, rows, smoothing=smoothing, most=MOST_POINTS, steepest=steepest)
        bounds = integral(crowd, line, factor, rows=rows, left=left) + bare
        left &= bounds > best
    if left.any():
        x, y = np.unravel_index(int(np.where(left, bounds, -1.0).argmax()), bounds.shape)
        best, found = float(bounds[x, y]), (int(x), int(y))
    return best, found


def integral(
    crowd: Crowd, line: Contour, factor: float, *, rows: int, left: NDArray[np.bool_]
) -> Floats:
    """Return the integral's bound for the pairs that are left, infinity for the others."""
    ratios, x, y = crowd.ratios, left.any(axis=1), left.any(axis=0)
    slack = rows * rounding(float(ratios.max()), factor)
    pairs = Pairs(ratios[x] - 1, ratios[y] - 1, crowd.weights, factor)
    above, _ = integrate(pairs, rows, line, shift=slack)
    bounds = np.full(left.shape, np.inf)
    bounds[np.ix_(x, y)] = above.reshape(int(x.sum()), int(y.sum()))
    return bounds


def chernoff(crowd: Crowd, theta: float, factor: float, *, rows: int) -> Floats:
    r"""Return :math:`K(\theta)^n/(e \theta n)` for every pair, rounded up."""
    ratios = crowd.ratios
    pairs = all_pairs(crowd, factor)
    base = pairs(np.array([complex(theta)]))[0].real.reshape(len(ratios), -1)
    base = base + UNIT * (pairs.terms + 48 + 8 * theta * pairs.largest) * (base + 1)
    exponent = rows * np.log(base) + theta * rows * rounding(float(ratios.max()), factor)
    exponent += 64 * UNIT * (rows + np.abs(exponent)) - 1 - math.log(theta * rows)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(exponent) * (1 + 1e-9))


def blanket_delta(crowd: Crowd, epsilon: float, *, rows: int) -> float:
    """Return a δ that the blanket proves for every pair of records."""
    known, best = first_pair(crowd), math.inf
    for _ in range(MOST_ROUNDS):
        found, pair = worst_pair(crowd, epsilon, rows=rows, known=known)
        is_tied = found >= best * (1 - TIED) and math.isfinite(best)
        best = min(best, found)
        if pair == known or is_tied:
            break
        known = pair
    return best


def blanket_epsilon(crowd: Crowd, allowed: Curve, *, rows: int, most: float) -> float:
    """Return an ε at which the blanket proves the allowed δ for every pair of records.

    The search is over one pair; then all are checked, and the worst takes its place.
    """
    known, low = first_pair(crowd), 0.0
    step = deviation(pair_summand(crowd, known, 1.0), rows) or most
    for _ in range(MOST_ROUNDS):

        def enough(epsilon: float, pair: Pair = known) -> bool:
            found = pair_above(crowd, pair, epsilon, rows=rows)
            return found <= allowed(epsilon) * (1 - MARGIN)

        low = smallest_epsilon(enough, low=low, most=most, step=step)
        if math.isinf(low):
            return low
        found, known = worst_pair(crowd, low, rows=rows, known=known)
        if found <= allowed(low):
            return low
        step = NEXT * low or step
    return smallest_epsilon(
        lambda epsilon: blanket_delta(crowd, epsilon, rows=rows) <= allowed(epsilon),
        low=low,
        most=most,
        step=step,
    )


def deviation(summand: Summand, rows: int) -> float:
    """Return the standard deviation of the mean of a file's summands (a guide)."""
    return math.sqrt(float(summand.probabilities @ summand.values**2) / rows)


@frozen
class Corners:
    """One branch: its share, its largest ratio to the blanket, and the blanket's weight."""

    share: Fraction
    ratio: Fraction
    weight: Fraction


def corners_of(mechanisms: Sequence[Mechanism], share: Fraction) -> Corners | None:
    """Return the corners of independent mechanisms side by side; None if a ratio is infinite."""
    ratio, weight = Fraction(1), Fraction(1)
    for mechanism in mechanisms:
        if isinstance(mechanism, Arcs):  # their low weight is a blanket, if not the heaviest
            ratio *= Fraction(mechanism.high + bool(mechanism.raised), mechanism.low)
            weight *= Fraction(mechanism.low * mechanism.shape[1], TOTAL)
            continue
        own = mechanism.largest_ratio()
        if not own.denominator:
            return None
        least = (
            uniform_blanket(mechanism)
            if isinstance(mechanism, UniformRows)
            else mechanism.weights.min(axis=0)
        )
        ratio *= Fraction(own.numerator, own.denominator)
        weight *= Fraction(int(least.sum()), TOTAL)
    return Corners(share, ratio, weight)


def corner_summand(branches: Sequence[Corners], factor: float) -> Summand:
    r"""Return the law of the worst matrix, with ``factor`` for :math:`e^\varepsilon`."""
    values, probabilities = [], []
    for branch in branches:
        a, mass = float(branch.ratio), branch.share * branch.weight
        spare = 1 / branch.weight - 1
        beta = spare / (branch.ratio - 1) if branch.ratio > 1 else Fraction(0)
        moved, same = min(beta, 1 - beta), (a if 2 * beta > 1 else 1.0)
        values += [a - factor, 1 - factor * a, same - factor * same]
        probabilities += [mass * moved, mass * moved, mass * (1 - 2 * moved)]
    largest = max(float(branch.ratio) for branch in branches)
    return Summand(
        np.array(values), np.array([float(p) for p in probabilities]), rounding(largest, factor)
    )


def corner_delta(branches: tuple[Corners, ...], epsilon: float, *, rows: int) -> float:
    """Return a δ for every matrix with these ratios and blankets."""
    return excess_above(corner_summand(branches, factor_below(epsilon)), rows)


def corner_epsilon(
    branches: tuple[Corners, ...], allowed: Curve, *, rows: int, most: float
) -> float:
    """Return an ε at which every matrix with these ratios and blankets has the allowed δ."""
    return smallest_epsilon(
        lambda epsilon: corner_delta(branches, epsilon, rows=rows) <= allowed(epsilon),
        low=0.0,
        most=most,
        step=deviation(corner_summand(branches, 1.0), rows) or most,
    )

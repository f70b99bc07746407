r"""Two-valued columns: high sets, what they gain, and the matrix that a mixture of them makes.

A column :math:`\theta s` has a pattern :math:`s \in \{1, a\}^S`, :math:`a = e^\alpha`, which is
high on a set A of categories. Sets are rows of a boolean array.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.dense import entropy_excess
from pramble.values import Floats

Sets = NDArray[np.bool_]

CLOSE = 1e-7
"""How nearly rows must sum to 1 before they are scaled, which moves the ratios of columns."""


class Gain:
    r"""The information of a column by the prior mass P of its high set, for one α.

    The column adds :math:`\theta\varphi(p(A))` to the mutual information, with the concave function

    .. math:: \varphi(P) = \alpha a P - (1+(a-1)P)\log(1+(a-1)P)
              = P\,\psi(a-1) - \psi((a-1)P), \qquad \psi(t) = (1+t)\log(1+t) - t.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.a1 = float(np.expm1(alpha))
        self.slope = float(entropy_excess(np.array(self.a1)))

    def __call__(self, mass: Floats) -> Floats:
        """Return φ at some masses."""
        return self.slope * mass - entropy_excess(self.a1 * mass)

    def derivative(self, mass: Floats) -> Floats:
        r"""Return :math:`\varphi'` at some masses."""
        return np.asarray(self.slope - self.a1 * np.log1p(self.a1 * mass))

    def mass_at(self, price: Floats) -> Floats:
        r"""Return the mass where :math:`\varphi' = price`; at least 0, enormous when price ≪ 0."""
        exponent = np.minimum((self.slope - price) / self.a1, 600.0)
        return np.maximum(np.expm1(exponent) / self.a1, 0.0)


def all_sets(size: int) -> Sets:
    """Return every set of ``size`` categories, one per row."""
    return sets_numbered(np.arange(1 << size), size)


def sets_numbered(numbers: NDArray[np.int64], size: int) -> Sets:
    """Return the sets whose members are the bits of some numbers."""
    return np.asarray((numbers[:, None] >> np.arange(size)) & 1 == 1)


def patterns_of(sets: Sets, a1: float) -> Floats:
    """Return the two-valued columns of some high sets, one per row."""
    return np.asarray(1 + a1 * sets, dtype=np.float64)


def matrix_of(sets: Sets, theta: Floats, alpha: float) -> Floats:
    """Return the row-stochastic matrix of columns with these high sets and weights."""
    columns = theta[:, None] * np.where(sets, math.exp(alpha), 1.0)
    return np.asarray((columns / columns.sum(axis=0)).T)


def polish(sets: Sets, theta: Floats, gain: Gain) -> Floats:
    """Return θ with the equations solved anew on these columns, unless that turns one negative."""
    for solved in (solve_apart, solve_plainly):
        if (better := solved(sets, theta, gain)).min() > 0:
            return better
    return theta


def trim(sets: Sets, theta: Floats, gain: Gain, *, most: float = 1e-6) -> tuple[Sets, Floats]:
    """Return the columns that matter, with weights that satisfy the equations without the others.

    Left out are those of less than ``most`` times the largest weight. Where the equations have no
    positive solution on few columns, more are kept.
    """
    for least in (most, most * 1e-2, most * 1e-4):
        used = theta > least * theta.max()
        better = polish(sets[used], theta[used], gain)
        if off(sets[used], better, gain) < CLOSE:
            return sets[used], better
    return sets, theta


def off(sets: Sets, theta: Floats, gain: Gain) -> float:
    """Return by how much rows miss 1, relative to a - 1 where that is small."""
    rows = patterns_of(sets, gain.a1).T @ theta
    return float(np.abs(rows - 1).max() / min(gain.a1, 1.0))


def solve_plainly(sets: Sets, theta: Floats, gain: Gain) -> Floats:
    """Return the θ nearest to the given one that satisfies the equations."""
    shrink = math.exp(-gain.alpha)
    system = patterns_of(sets, gain.a1).T * shrink
    step = np.linalg.lstsq(system, np.full(sets.shape[1], shrink) - system @ theta)
    return np.asarray(theta + step[0])


def solve_apart(sets: Sets, theta: Floats, gain: Gain) -> Floats:
    r"""Return it by equations that stay apart from each other however small α.

    With :math:`\vartheta = a\theta` they are :math:`\sum_A \vartheta_A [x \in A] = E` for every x
    and :math:`\sum_A \vartheta_A/a + (1-1/a) E = 1`. The step is the least relative to each.
    """
    shrink, kappa = math.exp(-gain.alpha), -math.expm1(-gain.alpha)
    T, S = sets.shape
    system = np.zeros((S + 1, T + 1))
    system[:S, :T], system[:S, T] = sets.T, -1.0
    system[S, :T], system[S, T] = shrink, kappa
    system *= np.append(theta / shrink, (1 - theta.sum()) / kappa)
    step = np.linalg.lstsq(system, np.append(np.zeros(S), 1.0) - system.sum(axis=1))[0][:T]
    return np.asarray(theta * (1 + step))


def response_matrix(size: int, alpha: float) -> Floats:
    a1 = float(np.expm1(alpha))
    return (1 + a1 * np.eye(size)) / (size + a1)


def matrix_information(prior: Floats, matrix: Floats) -> float:
    """Return the mutual information of a float matrix with positive columns."""
    released = prior @ matrix
    return float(prior @ entropy_excess(matrix / released - 1) @ released)

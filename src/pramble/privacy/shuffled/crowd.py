r"""The matrix of a record, with few rows and columns that stand for all of them.

Rows that are alike up to an exchange of labels make the same promise, so three of each class are
enough for every pair and for a crowd beside it. Proportional columns tell the same and are one.
The *blanket* :math:`b_z = \min_x M_{xz}` is over all rows; the integers decide it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.product import Product
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats, value

MOST_ROWS = 300
MOST_COLUMNS = 4096
MOST_FACTORS = 12
ALIKE = 3
SIDES = ("masses", "blanket")


@value(eq=False)
class Crowd:
    """Rows of probabilities that stand for all rows of a matrix, and the blanket over all.

    Attributes
    ----------
    masses : (R, J) array
        Probabilities, right to 24 units in the last place.
    blanket : (J,) array
        The least probability over all rows, columns added up that tell the same.
    alike : bool
        Whether all ordered pairs of rows make the same promise.
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
        """The positive part of the blanket."""
        return np.asarray(self.blanket[self.blanket > 0])

    @property
    def bare(self) -> Floats:
        """The columns that the blanket does not cover."""
        return np.asarray(self.masses[:, self.blanket == 0])


def crowd_of(mechanisms: Sequence[Mechanism]) -> Crowd | None:
    """Return the crowd of independent mechanisms side by side; None where it is too large.

    Examples
    --------
    >>> import pramble
    >>> crowd_of([pramble.randomized_response(1000, 2.0)]).masses.shape
    (3, 4)
    """
    factors = list(single(mechanisms))
    if len(factors) > MOST_FACTORS:
        return None
    parts: list[Crowd] = []
    rows = columns = 1
    for factor in factors:
        part = uniform_crowd(factor) if isinstance(factor, UniformRows) else dense_crowd(factor)
        if part is None:
            return None
        rows, columns = rows * part.masses.shape[0], columns * part.masses.shape[1]
        if rows > MOST_ROWS or columns > MOST_COLUMNS:
            return None
        parts.append(part)
    masses, blanket = (kronecker([getattr(p, side) for p in parts]) for side in SIDES)
    return Crowd(masses, blanket[0], len(parts) == 1 and parts[0].alike)


def kronecker(parts: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of matrices, or of rows; of none, a single one."""
    made: Floats = np.ones((1, 1))
    for part in parts:
        made = np.asarray(np.kron(made, part), dtype=np.float64)
    return made


def single(mechanisms: Sequence[Mechanism]) -> Iterator[Mechanism]:
    """Yield mechanisms with products taken apart."""
    for mechanism in mechanisms:
        if isinstance(mechanism, Product):
            yield from single(mechanism.factors)
        else:
            yield mechanism


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


def dense_crowd(mechanism: Mechanism) -> Crowd | None:
    """Return the distinct rows with proportional columns merged; None where they are too many."""
    S, T = mechanism.shape
    if S > 4 * MOST_ROWS or T > MOST_COLUMNS:
        return None
    rows = np.unique(mechanism.weights, axis=0)
    if len(rows) > MOST_ROWS:
        return None
    merged = merge_proportional(rows)
    return Crowd(merged / TOTAL, merged.min(axis=0) / TOTAL)


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

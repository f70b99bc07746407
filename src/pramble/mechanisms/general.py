"""Any matrix: S categories, T outputs, all weights stored, rounded to the private side.

The rule of rounding is stated and proven in ``Mechanism.from_matrix``. In JSON large matrices of
few different weights are text: a palette, and a character for every entry. The matrices of plans
for records hold a handful of weights, thousands of times each; so written, a manifest is a tenth
as long.
"""

import math
import string
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.labels import Label, Labels, as_labels
from pramble.errors import InvalidMechanism, PrivacyError
from pramble.limits import MOST_PALETTE_ENTRIES
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.distance import as_distance
from pramble.mechanisms.json_form import both_labels, integers, labels_pair
from pramble.mechanisms.ratios import Ratio, check_alpha, chunks, exp_below, keeps, largest_ratio
from pramble.values import Floats, Integers, frozen

# Rows are mixed by powers of two from 2^-52 on: a smaller one hardly changes a weight.
FINEST = 52

# Decides in integers whether weights keep what is promised.
Private = Callable[[Integers], bool]


def round_rows(A: Floats, total: int) -> Integers:
    """Return integer rows that sum to ``total``, rounded by largest remainders."""
    scaled = A * total
    weights = np.floor(scaled).astype(np.int64)
    missing = total - weights.sum(axis=1)
    remainder = np.where(scaled > 0, scaled - weights, -1.0)
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    raised = (rank < missing[:, None]) & (scaled > 0)
    weights += raised
    # Floats may miss by a unit or so; in the largest entry it changes ratios least.
    largest_entry = weights.argmax(axis=1)
    weights[np.arange(len(A)), largest_entry] += total - weights.sum(axis=1)
    return weights


def least_mixing(rounded: Callable[[float], Integers], private: Private | None) -> Integers:
    """Return ``rounded(δ)`` for the smallest δ in 0, 2^-52, …, 1 that is found private."""
    weights = rounded(0.0)
    if private is None or private(weights):
        return weights
    low, high = -1, FINEST
    best = rounded(1.0)
    if not private(best):
        raise PrivacyError(
            "alpha is too small for weights over 2**53: even the flattest matrix of this kind "
            "exceeds it. Use a larger alpha."
        )
    while high - low > 1:
        middle = (low + high) // 2
        weights = rounded(2.0 ** (middle - FINEST))
        if private(weights):
            high, best = middle, weights
        else:
            low = middle
    return best


def ratios_within(limit: Fraction) -> Private:
    return lambda weights: within(largest_ratio(weights), limit)


def within(ratio: Ratio, limit: Fraction) -> bool:
    """Whether a ratio of weights is at most the limit, in integers."""
    return ratio.numerator * limit.denominator <= limit.numerator * ratio.denominator


ALPHABET = string.digits + string.ascii_letters + "-_"
# Smaller matrices are written as numbers, which people can read.
LEAST_ENTRIES = 400


def in_palette(weights: Integers) -> dict[str, Any] | None:
    """Return the fields ``palette`` and ``rows`` of a matrix; None where numbers serve better."""
    if not LEAST_ENTRIES <= weights.size <= MOST_PALETTE_ENTRIES:
        return None
    palette, places = np.unique(weights, return_inverse=True)
    if len(palette) > len(ALPHABET):
        return None
    letters = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)[places.reshape(weights.shape)]
    return {"palette": palette.tolist(), "rows": [row.tobytes().decode() for row in letters]}


def from_palette(palette: Any, rows: Any) -> Integers:
    values = integers(palette)
    if values.ndim != 1 or not 1 <= len(values) <= len(ALPHABET):
        raise InvalidMechanism(f"A palette is a list of 1 to {len(ALPHABET)} weights.")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise InvalidMechanism("The rows of a palette are a list of texts.")
    length = len(rows[0])
    if length * len(rows) > MOST_PALETTE_ENTRIES:
        raise InvalidMechanism(
            f"A matrix in a palette may have {MOST_PALETTE_ENTRIES:,} entries; found more."
        )
    known = set(ALPHABET[: len(values)])
    if not length or any(len(row) != length or not known.issuperset(row) for row in rows):
        raise InvalidMechanism("The rows of a palette are of equal length, of its letters alone.")
    place = np.zeros(256, dtype=np.int64)
    place[np.frombuffer(ALPHABET.encode(), dtype=np.uint8)] = np.arange(len(ALPHABET))
    letters = np.frombuffer("".join(rows).encode(), dtype=np.uint8)
    return np.asarray(values[place[letters]].reshape(len(rows), length))


# Rows written with ten digits pass; rows of counts or percentages do not.
ROW_SUM_TOLERANCE = 1e-9


@frozen(eq=False, repr=False)
class General(Mechanism, kind="general"):
    """A mechanism that stores its whole (S, T) matrix of integer weights."""

    labels: Labels
    output_labels: Labels
    weights: NDArray[np.int64]

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.int64, order="C")
        if weights.shape != (len(self.labels), len(self.output_labels)):
            raise InvalidMechanism(
                f"Weights of shape {weights.shape} do not fit {len(self.labels)} categories "
                f"and {len(self.output_labels)} outputs."
            )
        if (weights < 0).any() or (weights > TOTAL).any():
            row, column = np.argwhere((weights < 0) | (weights > TOTAL))[0]
            raise InvalidMechanism(
                f"Weights must lie in 0..2**53; row {row}, column {column} holds "
                f"{weights[row, column]}."
            )
        off = np.flatnonzero([sum(row) != TOTAL for row in weights.tolist()])
        if off.size:
            raise InvalidMechanism(
                f"Weights of every row must sum to 2**53; row {off[0]} sums to "
                f"{sum(weights[off[0]].tolist())}."
            )
        object.__setattr__(self, "weights", weights)

    def row(self, x: int) -> NDArray[np.int64]:
        return np.asarray(self.weights[x])

    def to_body(self) -> dict[str, Any]:
        short = in_palette(self.weights)
        return {**both_labels(self), **(short or {"weights": self.weights.tolist()})}

    @classmethod
    def from_body(
        cls,
        *,
        categories: Any,
        weights: Any = None,
        palette: Any = None,
        rows: Any = None,
        outputs: Any = None,
    ) -> "General":
        if (weights is None) == (palette is None) or (palette is None) != (rows is None):
            raise InvalidMechanism("A general mechanism has weights, or a palette and rows.")
        found = integers(weights) if palette is None else from_palette(palette, rows)
        return cls(*labels_pair(categories, outputs), found)

    @classmethod
    def rounded(
        cls,
        M: ArrayLike,
        categories: int | Iterable[Label] | None,
        outputs: int | Iterable[Label] | None,
        *,
        alpha: float | None,
        distance: Any = None,
    ) -> "General":
        A = checked_matrix(M)
        S, T = A.shape
        labels = as_labels(S if categories is None else categories)
        if outputs is not None:
            output_labels = as_labels(outputs, what="outputs")
        else:
            output_labels = labels if T == S else as_labels(T, what="outputs")
        if (len(labels), len(output_labels)) != (S, T):
            raise InvalidMechanism(
                f"A {S} x {T} matrix needs {S} categories and {T} outputs; "
                f"found {len(labels)} and {len(output_labels)} labels."
            )
        private = privacy_test(A, labels, alpha=alpha, distance=distance)
        scaled = A / A.sum(axis=1, keepdims=True)
        mean = scaled.mean(axis=0)
        weights = least_mixing(lambda d: round_rows((1 - d) * scaled + d * mean, TOTAL), private)
        return cls(labels, output_labels, weights)


def privacy_test(
    A: NDArray[np.float64], labels: Labels, *, alpha: float | None, distance: Any
) -> Private | None:
    """Return what rounded weights must keep: α, by distance if one is given, or the matrix's own.

    None where the matrix keeps nothing. A matrix that is far from its α is refused.
    """
    if distance is not None:
        if alpha is None:
            raise InvalidMechanism("A distance needs the alpha that holds per unit of it.")
        metric, level = as_distance(distance, labels), check_alpha(alpha)
        refuse_far_from(max(float(slopes.max()) for slopes, _, _ in chunks(A, metric)), level)
        return lambda weights: keeps(weights, metric, level)
    ratio = own_ratio(A)
    if alpha is None:
        return None if ratio is None else ratios_within(ratio)
    level = check_alpha(alpha)
    refuse_far_from(math.inf if ratio is None else math.log(ratio), level)
    return ratios_within(exp_below(level))


def checked_matrix(M: ArrayLike) -> NDArray[np.float64]:
    try:
        A = np.array(M, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidMechanism(
            "A matrix of numbers is needed, with rows of equal length."
        ) from None
    if A.ndim != 2 or 0 in A.shape:
        raise InvalidMechanism(f"A matrix with rows and columns is needed; found shape {A.shape}.")
    bad = ~np.isfinite(A) | (A < 0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidMechanism(
            f"Entries must be probabilities; row {row}, column {column} holds {A[row, column]}."
        )
    sums = A.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if wrong.size:
        raise InvalidMechanism(
            f"Every row must sum to 1 within {ROW_SUM_TOLERANCE}; row {wrong[0]} sums to "
            f"{sums[wrong[0]]:.12g}. Divide the row by its sum if that is what was meant."
        )
    return A


def own_ratio(A: NDArray[np.float64]) -> Fraction | None:
    """Return the exact ratio, after row scaling, at the pair that floats call the largest.

    It is the ratio of one pair, hence at most the largest; None when a column mixes zero and
    non-zero.
    """
    scaled = A / A.sum(axis=1, keepdims=True)
    used = scaled[:, scaled.max(axis=0) > 0]
    if (used == 0).any():
        return None
    high, low = used.argmax(axis=0), used.argmin(axis=0)
    columns = np.arange(used.shape[1])
    with np.errstate(over="ignore"):
        z = int((used[high, columns] / used[low, columns]).argmax())
    # The given floats are exact rationals: scaled ones were rounded.
    column = A[:, scaled.max(axis=0) > 0][:, z]
    x, y = int(high[z]), int(low[z])
    ratio = Fraction(column[x]) * exact_sum(A[y]) / (Fraction(column[y]) * exact_sum(A[x]))
    return max(ratio, Fraction(1))


def exact_sum(row: NDArray[np.float64]) -> Fraction:
    return sum(map(Fraction, row.tolist()), Fraction(0))


def refuse_far_from(found: float, alpha: float) -> None:
    """Raise when the α of a matrix misses the one asked for by more than rounding can explain."""
    if found > alpha * (1 + 1e-6) + 1e-9:
        has = "infinite" if math.isinf(found) else f"{found:.9g}"
        raise PrivacyError(
            f"The matrix has alpha {has}, above the {alpha:.9g} asked for; "
            "design it for that alpha."
        )

r"""Arcs on a circle: a structured matrix for very many categories.

The T outputs are slots on a circle and every category has a position on it. A category is released
into each of the W slots up to its position with a high weight and into every other with a low one:

.. math:: w_{xz} = \begin{cases} h + 1 & d < r \\ h & r \le d < W \\ l & W \le d \end{cases},
          \qquad d = (b_x - \mathrm{slot}(z)) \bmod T, \quad W h + r + (T-W)\, l = 2^{53}.

Every category lies in exactly W of the T arcs, so all rows sum to :math:`2^{53}`, and two numbers
per category describe the matrix. As a linear map it is :math:`l\,11^\top + (h-l)\,A_W + A_r` in
units of :math:`2^{-53}`, with :math:`A_k` the indicator of the k slots back from a position: sums
over consecutive slots, so everything is in O(S + T) or by one Fourier transform.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidMechanism, NotIdentifiable, PrivacyError
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.json_form import both_labels, integers, labels_pair, one_integer
from pramble.mechanisms.operators.base import MechanismOperator, RightInverse, xlogx
from pramble.mechanisms.operators.dense import (
    DenseOperator,
    entropy_excess,
    indistinguishable,
)
from pramble.mechanisms.ratios import Ratio, exp_below, largest, ratio_within
from pramble.values import Floats, Integers, frozen, read_only

# Relative to the largest: below it an eigenvalue is rounding of a zero.
SMALLEST_EIGENVALUE = 1e-12
# Matrices of so few entries are looked at whole, to say exactly what cannot be told.
SMALL = 1 << 20


@frozen(eq=False)
class ArcsOperator(MechanismOperator):
    """The operator of arcs; what has no closed form is done on the array."""

    mechanism: "Arcs"

    @property
    def total(self) -> int:
        return int(TOTAL)

    def apply(self, p: Floats) -> Floats:
        arcs = self.mechanism
        top, arc = self.within(arcs.raised, p), self.within(arcs.width, p)
        mass = p.sum(axis=-1, keepdims=True)
        by_slot = (arcs.low * (mass - arc) + arcs.high * arc + top) / self.total
        released: Floats = np.empty_like(by_slot)
        released[..., arcs.slots] = by_slot
        return released

    def adjoint(self, v: Floats) -> Floats:
        arcs = self.mechanism
        by_slot = v[..., arcs.slots]
        sums = circular_sums(by_slot)
        T = len(arcs.slots)
        end = arcs.positions + T + 1
        arc = sums[..., end] - sums[..., end - arcs.width]
        top = sums[..., end] - sums[..., end - arcs.raised]
        whole = by_slot.sum(axis=-1, keepdims=True)
        return np.asarray((arcs.low * (whole - arc) + arcs.high * arc + top) / self.total)

    def within(self, reach: int, mass: Floats) -> Floats:
        """Return, per slot, the mass of the categories whose distance is below ``reach``."""
        T = len(self.mechanism.slots)
        rows = mass.reshape(-1, mass.shape[-1])
        index = (np.arange(len(rows))[:, None] * T + self.mechanism.positions).ravel()
        on_slot = np.bincount(index, weights=rows.ravel(), minlength=len(rows) * T)
        sums = circular_sums(np.asarray(on_slot, np.float64).reshape(*mass.shape[:-1], T))
        return np.asarray(sums[..., np.arange(T) + reach] - sums[..., :T])

    @property
    def diagonal(self) -> Floats:
        arcs, (S, T) = self.mechanism, self.shape
        slot = np.empty(T, dtype=np.int64)
        slot[arcs.slots] = np.arange(T)
        return np.asarray(arcs.pattern[(arcs.positions - slot[:S]) % T] / self.total)

    def stay(self) -> Floats:
        if self.mechanism.labels == self.mechanism.output_labels:
            return self.diagonal
        return DenseOperator(self.mechanism).stay()

    def row_entropies(self) -> Floats:
        own = float(-xlogx(self.mechanism.pattern / self.total).sum())
        return np.full(self.shape[0], own)

    def information(self, p: Floats) -> float:
        """Return the mutual information in O(S + T): every column holds three weights."""
        arcs = self.mechanism
        top, arc = self.within(arcs.raised, p), self.within(arcs.width, p)
        classes = (
            ((arcs.high + 1) / self.total, top),
            (arcs.high / self.total, np.maximum(arc - top, 0.0)),
            (arcs.low / self.total, np.maximum(1 - arc, 0.0)),
        )
        released = sum((weight * mass for weight, mass in classes), start=np.zeros(len(arc)))
        terms = (mass * entropy_excess((w - released) / released) for w, mass in classes)
        return float(sum(released @ term for term in terms))

    def estimation_variance(self, p: Floats) -> float:
        r"""Infinite when two categories share a position; else a circulant, if it is square.

        The rows of the inverse of a circulant have one norm,
        :math:`\tfrac1S\sum_k |\lambda_k|^{-2}` with its eigenvalues λ, by one Fourier transform.
        """
        S, T = self.shape
        if len(np.unique(self.mechanism.positions)) < S:
            return math.inf
        if S < T:
            return DenseOperator(self.mechanism).estimation_variance(p)
        size = np.abs(self.eigenvalues)
        return float((size**-2.0).mean() - p @ p) if self.is_invertible else math.inf

    @cached_property
    def eigenvalues(self) -> Floats:
        """The Fourier transform of the pattern: eigenvalues of the circulant, if it is square."""
        arcs = self.mechanism
        # Rows sum to one, so the first eigenvalue is one; the low weight adds to no other.
        first = np.arange(len(arcs.slots)) == 0
        return np.where(first, 1.0, np.fft.fft((arcs.pattern - arcs.low) / self.total))

    @property
    def is_invertible(self) -> bool:
        size = np.abs(self.eigenvalues)
        return bool(size.min() >= SMALLEST_EIGENVALUE * size.max())

    def right_inverse(self, released: Floats | None = None) -> RightInverse:
        """Return the inverse of a square circulant by a transform; else the dense one."""
        arcs, (S, T) = self.mechanism, self.shape
        _, place, count = np.unique(arcs.positions, return_inverse=True, return_counts=True)
        if S == T == len(count) and self.is_invertible:
            kernel = np.real(np.fft.ifft(1 / self.eigenvalues))
            return ArcsRightInverse(kernel, arcs.pattern / self.total, arcs.positions, arcs.slots)
        if S * T <= SMALL or (S < T and len(count) == S):
            return DenseOperator(arcs).right_inverse(released)
        if len(count) < S:
            shared = np.flatnonzero(count > 1)[:4]
            groups = [np.flatnonzero(place.ravel() == one).tolist() for one in shared]
            raise indistinguishable(groups, arcs.labels, rank=len(count))
        raise NotIdentifiable(
            "The mechanism must tell all categories apart to give every probability; these arcs "
            "lose some frequencies around their circle. Ask for a query= instead."
        )


def circular_sums(values: Floats) -> Floats:
    """Return the cumulative sums of two turns around the circle, a zero first."""
    twice = np.concatenate([values, values], axis=-1)
    zero = np.zeros((*values.shape[:-1], 1))
    return np.concatenate([zero, np.cumsum(twice, axis=-1)], axis=-1)


@frozen(eq=False)
class ArcsRightInverse(RightInverse):
    r"""The inverse of a square circulant: :math:`G_{zx} = g_{(s_z - b_x) \bmod T}`.

    With :math:`M_{xz} = f_{(b_x - s_z) \bmod T}`, positions b and slots s, pM is a correlation and
    Mv a convolution with f, and the transform of g is 1 over that of f.
    """

    kernel: Floats
    pattern: Floats
    positions: Integers
    slots: Integers

    def apply(self, c: Floats) -> Floats:
        transformed = np.fft.fft(c[..., self.slots]) * np.conj(np.fft.fft(self.kernel))
        return np.asarray(np.real(np.fft.ifft(transformed))[..., self.positions])

    def adjoint(self, w: Floats) -> Floats:
        by_position = np.empty_like(w, dtype=np.float64)
        by_position[..., self.positions] = w
        answer = np.empty_like(by_position)
        transformed = np.fft.fft(by_position) * np.fft.fft(self.kernel)
        answer[..., self.slots] = np.real(np.fft.ifft(transformed))
        return answer

    def squares(self, m: Floats) -> Floats:
        return ArcsRightInverse(self.kernel**2, self.pattern, self.positions, self.slots).apply(m)

    def own(self) -> Floats:
        back = np.roll(self.kernel[::-1], 1)
        return np.full(len(back), float(self.pattern @ back**2))


@frozen(eq=False, repr=False)
class Arcs(Mechanism, kind="arcs"):
    """High weights on W consecutive slots of a circle; see the module.

    Attributes
    ----------
    positions : (S,) array of int64
        The last slot in which each category is high.
    slots : (T,) array of int64
        The output (column) at each slot, a permutation.
    width : int
        W, from 1 to T − 1.
    low : int
        The weight l of every slot outside the arc.
    """

    labels: Labels
    output_labels: Labels
    positions: Integers
    slots: Integers
    width: int
    low: int

    def __post_init__(self) -> None:
        S, T = len(self.labels), len(self.output_labels)
        positions = np.array(self.positions, dtype=np.int64)
        slots = np.array(self.slots, dtype=np.int64)
        if positions.shape != (S,) or ((positions < 0) | (positions >= T)).any():
            raise InvalidMechanism(f"Arcs need {S} positions in 0..{T - 1}, one per category.")
        if slots.shape != (T,) or not np.array_equal(np.sort(slots), np.arange(T)):
            raise InvalidMechanism(f"The slots of arcs must be a permutation of 0..{T - 1}.")
        if not 1 <= self.width < T:
            raise InvalidMechanism(f"Arcs must be 1 to {T - 1} slots wide; found {self.width}.")
        if not 1 <= self.low <= TOTAL // T:
            raise InvalidMechanism(f"The low weight must lie in 1..2**53 // {T}; found {self.low}.")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "slots", slots)
        object.__setattr__(self, "width", int(self.width))
        object.__setattr__(self, "low", int(self.low))

    @property
    def high(self) -> int:
        return self._split[0]

    @property
    def raised(self) -> int:
        """How many slots of an arc, from its position backwards, hold h + 1 instead."""
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[int, int]:
        within = TOTAL - (len(self.slots) - self.width) * self.low
        return within // self.width, within % self.width

    @cached_property
    def pattern(self) -> Integers:
        """The weight at each distance d from a position, backwards."""
        pattern = np.full(len(self.slots), self.low)
        pattern[: self.width] = self.high
        pattern[: self.raised] += 1
        return read_only(pattern)

    def row(self, x: int) -> Integers:
        T = len(self.slots)
        row = np.empty(T, dtype=np.int64)
        row[self.slots] = self.pattern[(self.positions[x] - np.arange(T)) % T]
        return row

    @cached_property
    def weights(self) -> Integers:
        T = len(self.slots)
        weights = np.empty((len(self.positions), T), dtype=np.int64)
        weights[:, self.slots] = self.pattern[(self.positions[:, None] - np.arange(T)) % T]
        return read_only(weights)

    @cached_property
    def operator(self) -> ArcsOperator:
        return ArcsOperator(self)

    def to_body(self) -> dict[str, Any]:
        return {
            **both_labels(self),
            "positions": self.positions.tolist(),
            "slots": self.slots.tolist(),
            "width": self.width,
            "low": self.low,
        }

    @classmethod
    def from_body(
        cls,
        *,
        categories: Any,
        positions: Any,
        slots: Any,
        width: Any,
        low: Any,
        outputs: Any = None,
    ) -> "Arcs":
        labels, output_labels = labels_pair(categories, outputs)
        circle = integers(positions), integers(slots)
        return cls(labels, output_labels, *circle, one_integer(width), one_integer(low))

    def largest_ratio(self) -> Ratio:
        """Return the largest ratio of two weights of one column, in O(S + T)."""
        S, ones = len(self.positions), np.ones(len(self.positions))
        top = self.operator.within(self.raised, ones).round().astype(np.int64)
        arc = self.operator.within(self.width, ones).round().astype(np.int64)
        high = np.where(top > 0, self.high + 1, np.where(arc > 0, self.high, self.low))
        low = np.where(arc < S, self.low, np.where(top < S, self.high, self.high + 1))
        # Three weights make few pairs, however many slots there are.
        pairs, first = np.unique(np.stack([high, low]), axis=1, return_index=True)
        ratios = []
        for (numerator, denominator), slot in zip(pairs.T.tolist(), first.tolist(), strict=True):
            column = self.pattern[(self.positions - slot) % len(self.slots)]
            x, y = (int(np.flatnonzero(column == weight)[0]) for weight in (numerator, denominator))
            ratios.append(Ratio(numerator, denominator, x, y, int(self.slots[slot])))
        return largest(ratios)

    def same_weights(self, other: Mechanism) -> bool:
        if isinstance(other, Arcs) and (self.width, self.low) == (other.width, other.low):
            same = np.array_equal(self.positions, other.positions)
            if same and np.array_equal(self.slots, other.slots):
                return True
        return Mechanism.same_weights(self, other)


def least_low(outputs: int, width: int, alpha: float) -> int:
    r"""Return the smallest low weight whose arcs satisfy α, decided in integers."""
    # The bound below e^α makes this the least but for rounding; integers decide from here on.
    low = int(TOTAL / (outputs - width + width * exp_below(alpha)))
    low = max(low, 1)
    while not ratio_within(-((low * (outputs - width) - TOTAL) // width), low, alpha):
        low += 1
        if low > TOTAL // outputs:
            raise PrivacyError(
                f"alpha = {alpha!r} is too small for weights over 2**53 with {outputs} outputs; "
                "use a larger alpha."
            )
    return low

r"""Arcs on a circle: a structured matrix for very many categories.

The T outputs are slots on a circle and every category has a position on it. A category is released
into each of the W slots up to its position with a high weight and into every other with a low one:

.. math:: w_{xz} = \begin{cases} h + 1 & d < r \\ h & r \le d < W \\ l & W \le d \end{cases},
          \qquad d = (b_x - \mathrm{slot}(z)) \bmod T, \quad W h + r + (T-W)\, l = 2^{53}.

Every category lies in exactly W of the T arcs, so all rows sum to :math:`2^{53}`, and two numbers
per category describe the matrix.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidMechanism, PrivacyError
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.exponential import exp_below, ratio_within
from pramble.mechanisms.extremes import Ratio, largest
from pramble.mechanisms.json_form import both_labels, integers, labels_pair, one_integer
from pramble.mechanisms.operators.arcs import ArcsOperator
from pramble.values import Integers, read_only, value


@value(eq=False, repr=False)
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
        """The weight h of the slots of an arc."""
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
        """Return the weights of one row."""
        T = len(self.slots)
        row = np.empty(T, dtype=np.int64)
        row[self.slots] = self.pattern[(self.positions[x] - np.arange(T)) % T]
        return row

    @cached_property
    def weights(self) -> Integers:
        """The whole (S, T) matrix of weights."""
        T = len(self.slots)
        weights = np.empty((len(self.positions), T), dtype=np.int64)
        weights[:, self.slots] = self.pattern[(self.positions[:, None] - np.arange(T)) % T]
        return read_only(weights)

    @cached_property
    def operator(self) -> ArcsOperator:
        """The mechanism as a linear map, by sums around the circle."""
        return ArcsOperator(self)

    def to_body(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""
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
        """Return the mechanism of a JSON form."""
        labels, output_labels = labels_pair(categories, outputs)
        circle = integers(positions), integers(slots)
        return cls(labels, output_labels, *circle, one_integer(width), one_integer(low))

    def largest_ratio(self) -> Ratio:
        """Return the largest ratio of two weights of one column, in O(S + T)."""
        return largest(self._ratios())

    def _ratios(self) -> Iterator[Ratio]:
        """Yield one ratio for each pair of extreme weights that some column has."""
        S, ones = len(self.positions), np.ones(len(self.positions))
        top = self.operator.within(self.raised, ones).round().astype(np.int64)
        arc = self.operator.within(self.width, ones).round().astype(np.int64)
        high = np.where(top > 0, self.high + 1, np.where(arc > 0, self.high, self.low))
        low = np.where(arc < S, self.low, np.where(top < S, self.high, self.high + 1))
        pairs, first = np.unique(np.stack([high, low]), axis=1, return_index=True)
        for (numerator, denominator), slot in zip(pairs.T.tolist(), first.tolist(), strict=True):
            column = self.pattern[(self.positions - slot) % len(self.slots)]
            x, y = (int(np.flatnonzero(column == weight)[0]) for weight in (numerator, denominator))
            yield Ratio(numerator, denominator, x, y, int(self.slots[slot]))

    def same_weights(self, other: Mechanism) -> bool:
        """Whether both matrices have the same integer weights."""
        if isinstance(other, Arcs) and (self.width, self.low) == (other.width, other.low):
            turned = np.array_equal(self.positions, other.positions)
            if turned and np.array_equal(self.slots, other.slots):
                return True
        return Mechanism.same_weights(self, other)


def least_low(outputs: int, width: int, alpha: float) -> int:
    r"""Return the smallest low weight whose arcs satisfy α, decided in integers."""
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

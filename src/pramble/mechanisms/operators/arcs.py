r"""Arcs on a circle: sums over consecutive slots, so everything in O(S + T) or by one transform.

Row x has three weights: h + 1 on the first r slots back from its position, h on the other slots of
its arc, l elsewhere. So :math:`M = l\,11^\top + (h-l)\,A_W + A_r` in units of :math:`2^{-53}`, with
:math:`A_k` the indicator of the k slots back from a position.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramble.errors import NotIdentifiable
from pramble.mechanisms.operators.base import MechanismOperator, RightInverse, xlogx
from pramble.mechanisms.operators.dense import ArrayAlgebra, DenseOperator
from pramble.mechanisms.operators.excess import entropy_excess
from pramble.mechanisms.operators.identifiability import same_law
from pramble.values import Floats, Integers, value

if TYPE_CHECKING:
    from pramble.mechanisms.arcs import Arcs

SMALLEST_EIGENVALUE = 1e-12
SMALL = 1 << 20
"""Matrices of so few entries are looked at whole, to say exactly what cannot be told."""


@value(eq=False)
class ArcsOperator(MechanismOperator, ArrayAlgebra):
    """The operator of arcs; what has no closed form is done on the array."""

    mechanism: Arcs

    @property
    def total(self) -> int:
        """What the weights of a row sum to."""
        return int(2**self.mechanism.bits)

    def apply(self, p: Floats) -> Floats:
        """Return pM by sums over the circle, in O(S + T)."""
        arcs = self.mechanism
        top, arc = self.within(arcs.raised, p), self.within(arcs.width, p)
        mass = p.sum(axis=-1, keepdims=True)
        by_slot = (arcs.low * (mass - arc) + arcs.high * arc + top) / self.total
        released: Floats = np.empty_like(by_slot)
        released[..., arcs.slots] = by_slot
        return released

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv by sums over the circle, in O(S + T)."""
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
        """The entries M[x, x]."""
        arcs, (S, T) = self.mechanism, self.shape
        slot = np.empty(T, dtype=np.int64)
        slot[arcs.slots] = np.arange(T)
        return np.asarray(arcs.pattern[(arcs.positions - slot[:S]) % T] / self.total)

    def stay(self) -> Floats:
        """Return the probability of each category being released under its own label."""
        if self.mechanism.labels == self.mechanism.output_labels:
            return self.diagonal
        return DenseOperator(self.mechanism).stay()

    def row_entropies(self) -> Floats:
        """Return the entropy of every row: all rows have the same."""
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
        if size.min() < SMALLEST_EIGENVALUE * size.max():
            return math.inf
        return float((size**-2.0).mean() - p @ p)

    @cached_property
    def eigenvalues(self) -> Floats:
        """The Fourier transform of the pattern: eigenvalues of the circulant, if it is square."""
        arcs = self.mechanism
        first = np.arange(len(arcs.slots)) == 0
        return np.where(first, 1.0, np.fft.fft((arcs.pattern - arcs.low) / self.total))

    def right_inverse(self, law: Floats | None = None) -> RightInverse:
        """Return the inverse of a square circulant by a transform; else the dense one."""
        arcs, (S, T) = self.mechanism, self.shape
        size = np.abs(self.eigenvalues)
        invertible = size.min() >= SMALLEST_EIGENVALUE * size.max()
        _, place, count = np.unique(arcs.positions, return_inverse=True, return_counts=True)
        if S == T == len(count) and invertible:
            kernel = np.real(np.fft.ifft(1 / self.eigenvalues))
            return ArcsRightInverse(kernel, arcs.pattern / self.total, arcs.positions, arcs.slots)
        if S * T <= SMALL or (S < T and len(count) == S):
            return DenseOperator(arcs).right_inverse(law)
        if len(count) < S:
            shared = np.flatnonzero(count > 1)[:4]
            groups = [np.flatnonzero(place.ravel() == one).tolist() for one in shared]
            raise same_law(groups, arcs.labels, rank=len(count))
        raise NotIdentifiable(
            "The mechanism must tell all categories apart to give every probability; these arcs "
            "lose some frequencies around their circle. Ask for a query= instead."
        )


def circular_sums(values: Floats) -> Floats:
    """Return the cumulative sums of two turns around the circle, a zero first."""
    twice = np.concatenate([values, values], axis=-1)
    zero = np.zeros((*values.shape[:-1], 1))
    return np.concatenate([zero, np.cumsum(twice, axis=-1)], axis=-1)


@value(eq=False)
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
        """Return cG, a correlation with g."""
        turned = np.fft.fft(c[..., self.slots]) * np.conj(np.fft.fft(self.kernel))
        return np.asarray(np.real(np.fft.ifft(turned))[..., self.positions])

    def adjoint(self, w: Floats) -> Floats:
        """Return Gw, a convolution with g."""
        by_position = np.empty_like(w, dtype=np.float64)
        by_position[..., self.positions] = w
        answer = np.empty_like(by_position)
        turned = np.fft.fft(by_position) * np.fft.fft(self.kernel)
        answer[..., self.slots] = np.real(np.fft.ifft(turned))
        return answer

    def squares(self, m: Floats) -> Floats:
        """Return m G²."""
        return ArcsRightInverse(self.kernel**2, self.pattern, self.positions, self.slots).apply(m)

    def own(self) -> Floats:
        """Return the diagonal of M G²: one number."""
        back = np.roll(self.kernel[::-1], 1)
        return np.full(len(back), float(self.pattern @ back**2))

r"""Uniform rows, :math:`M = \operatorname{diag}(d) + \mathrm{off}\,1^\top`: everything in O(S)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramble.mechanisms.operators.base import (
    ArrayOperator,
    MechanismOperator,
    Operator,
    RightInverse,
    xlogx,
)
from pramble.mechanisms.operators.dense import DenseOperator, entropy_excess
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from pramble.mechanisms.uniform import UniformRows

# What weights are shares of; the base of mechanisms imports operators.
TOTAL = 2**53

# Relative to the largest, the least |keep − off| for which the closed inverse keeps its digits.
SMALLEST_DIFFERENCE = 1e-6


class UniformAlgebra(Operator):
    """What follows from ``off``, the entries beside the diagonal of each row, and ``d``."""

    off: Floats
    d: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.off), len(self.off)

    def apply(self, p: Floats) -> Floats:
        return np.asarray(p * self.d + (p @ self.off)[..., None])

    def adjoint(self, v: Floats) -> Floats:
        return np.asarray(v * self.d + v.sum(axis=-1, keepdims=True) * self.off)

    @property
    def diagonal(self) -> Floats:
        return self.off + self.d

    def dense(self) -> Floats:
        matrix = np.repeat(self.off[:, None], len(self.off), axis=1)
        np.fill_diagonal(matrix, self.diagonal)
        return matrix

    def entrywise(self, function: Callable[[Floats], Floats]) -> Operator:
        off = np.asarray(function(self.off))
        return BesideDiagonal(off, np.asarray(function(self.diagonal)) - off)

    def largest_moves(self) -> Floats:
        return self.off if len(self.off) > 1 else np.zeros(1)

    def between(self, rows: Integers, columns: Integers) -> Operator:
        if np.array_equal(rows, columns):
            return BesideDiagonal(self.off[rows], self.d[rows])
        own = np.equal.outer(rows, columns) * self.d[rows, None]
        return ArrayOperator(np.where(columns >= 0, self.off[rows, None] + own, 0.0))


@frozen(eq=False)
class BesideDiagonal(UniformAlgebra):
    """Rows that are constant beside the diagonal, stochastic or not."""

    off: Floats
    d: Floats


@frozen(eq=False)
class UniformRightInverse(RightInverse):
    r"""The inverse for uniform rows, :math:`G = \operatorname{diag}(i) - h i^\top`.

    With :math:`d = \mathrm{keep} - \mathrm{off}`, :math:`i = 1/d` and
    :math:`h_z = (i_z - 1)/\sum i`.
    """

    i: Floats
    h: Floats
    keep: Floats
    off: Floats

    def apply(self, c: Floats) -> Floats:
        return np.asarray(self.i * (c - (c @ self.h)[..., None]))

    def adjoint(self, w: Floats) -> Floats:
        return np.asarray(self.i * w - (w @ self.i)[..., None] * self.h)

    def squares(self, m: Floats) -> Floats:
        return np.asarray(self.i**2 * ((1 - 2 * self.h) * m + (m @ self.h**2)[..., None]))

    def own(self) -> Floats:
        moved = self.off * (self.h @ self.h) + (self.keep - self.off) * self.h**2
        return np.asarray(self.i**2 * (self.keep * (1 - 2 * self.h) + moved))


@frozen(eq=False)
class UniformOperator(MechanismOperator, UniformAlgebra):
    """The operator of a mechanism with uniform rows."""

    mechanism: UniformRows

    @cached_property
    def off(self) -> Floats:  # type: ignore[override]
        return np.asarray(self.mechanism.off / TOTAL)

    @cached_property
    def d(self) -> Floats:  # type: ignore[override]
        """Keep minus off, from the integers."""
        return np.asarray((self.mechanism.keep - self.mechanism.off) / TOTAL)

    @property
    def diagonal(self) -> Floats:
        return np.asarray(self.mechanism.keep / TOTAL)

    def stay(self) -> Floats:
        return self.diagonal

    @cached_property
    def has_closed_inverse(self) -> bool:
        difference = np.abs(self.mechanism.keep - self.mechanism.off)
        if difference.min() <= SMALLEST_DIFFERENCE * difference.max():
            return False
        i = 1 / self.d
        # Large entries of both signs may cancel in the sum by which h is divided.
        return bool(abs(i.sum()) >= 1e-9 * np.abs(i).sum())

    def right_inverse(self, released: Floats | None = None) -> RightInverse:
        if not self.has_closed_inverse:
            return DenseOperator(self.mechanism).right_inverse(released)
        i = 1 / self.d
        return UniformRightInverse(i, (i - 1) / i.sum(), self.off + self.d, self.off)

    def row_entropies(self) -> Floats:
        return np.asarray(-xlogx(self.diagonal) - (len(self.off) - 1) * xlogx(self.off))

    def information(self, p: Floats) -> float:
        r"""Return the mutual information by divergences to a law r that makes it O(S).

        r is uniform, or the row of a category with more than half of the mass: nothing cancels as
        α → 0, nor as one category takes all the mass.
        """
        mechanism, S = self.mechanism, len(p)
        # With most of the mass in one category, divergences to the uniform law would cancel.
        star = int(p.argmax())
        if p[star] > 0.5 and mechanism.off[star] and mechanism.keep[star]:
            return information_from_row(mechanism, p, star)
        off = (S * mechanism.off - TOTAL) / TOTAL
        keep = -(S - 1) * off
        rows = entropy_excess(keep) + (S - 1) * entropy_excess(off)
        released = p @ off - S * p * off
        return float(p @ rows - entropy_excess(released).sum()) / S

    def estimation_variance(self, p: Floats) -> float:
        r"""In O(S), without cancellation when one row is (nearly) flat.

        Let z be the category with the least :math:`|d_z|`, :math:`r_x = d_z/d_x` for the others,
        :math:`R = 1 + \sum_{x\ne z} r_x` and c the released shares. Then

        .. math:: \hat p_x = \frac1{d_x}\Big(c_x - \frac{c_z + \sum_{y\ne z} r_y c_y}{R}\Big)
                  + \dots, \qquad \hat p_z = \frac1R \sum_{x\ne z}\frac{c_z - c_x}{d_x} + \dots

        up to constants, and nothing is divided by :math:`d_z`. A row whose keep and off weights
        differ by less than S units is flat but for its rounding: with two of them p is lost.
        """
        difference = np.abs(self.mechanism.keep - self.mechanism.off)
        z = int(difference.argmin())
        rest = np.arange(len(p)) != z
        if difference[rest].min() < len(p):
            return math.inf
        inverse = 1 / self.d[rest]
        ratios = self.d[z] * inverse
        scale = 1 + ratios.sum()
        if abs(scale) < 1e-12 * (1 + np.abs(ratios).sum()):
            return math.inf
        released = self.apply(p)
        shares = np.ones(len(p))
        shares[rest] = ratios
        own = np.zeros(len(p))
        own[rest] = -inverse
        own[z] = inverse.sum()
        others = variances_beside(released, shares / scale)[rest]
        own = own / scale
        return float(others @ inverse**2 + released @ (own - released @ own) ** 2)


def variances_beside(released: Floats, shares: Floats) -> Floats:
    r"""Return the variance of :math:`1[Z = x] - \mathrm{share}_Z` for every x.

    What is left beside the likeliest value is summed, for 1 minus its probability has no digits.
    """
    left, away = 1 - released, shares - released @ shares
    most = int(released.argmax())
    beside = np.delete(released, most)
    left[most] = beside.sum()
    away[most] = beside @ (shares[most] - np.delete(shares, most))
    return np.asarray(released * (left - 2 * away) + released @ away**2)


def information_from_row(mechanism: UniformRows, p: Floats, star: int) -> float:
    """Take the row of a dominant category for r: nothing cancels as its probability nears 1."""
    rest = np.arange(len(p)) != star
    off, keep, q = mechanism.off[rest], mechanism.keep[rest], p[rest]
    off_star, keep_star = int(mechanism.off[star]), int(mechanism.keep[star])
    rows = off_star * entropy_excess((keep - off_star) / off_star)
    rows += keep_star * entropy_excess((off - keep_star) / keep_star)
    rows += (len(p) - 2) * off_star * entropy_excess((off - off_star) / off_star)
    shift = q @ (off - off_star)
    released = off_star * float(entropy_excess((shift + q * (keep - off)) / off_star).sum())
    own = np.asarray((shift - q.sum() * (keep_star - off_star)) / keep_star)
    released += keep_star * float(entropy_excess(own))
    return float((q @ rows - released) / TOTAL)

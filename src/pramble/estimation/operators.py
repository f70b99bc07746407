r"""A mechanism as a linear map along the last axis of an array, with its right inverse.

``operator_of`` picks the fastest algebra for a kind of mechanism; a new kind registers itself. Maps
act on the last axis, so one call serves a vector of shares and a whole table.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.estimation.identifiability import refuse_unless_full_rank
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats

LARGEST_INVERSE = 1e6
"""Norm of an inverse above which the rank is looked at."""

SMALLEST_DIFFERENCE = 1e-6
"""Relative to the largest, the least |keep − off| for which the closed inverse keeps its digits."""


class RightInverse(ABC):
    r"""A matrix G with :math:`MG = I`, so that :math:`\hat c\,G` is unbiased for p."""

    @abstractmethod
    def apply(self, c: Floats) -> Floats:
        """Return cG."""

    @abstractmethod
    def adjoint(self, w: Floats) -> Floats:
        """Return Gw: how much each released value counts for the query w."""

    @abstractmethod
    def squares(self, m: Floats) -> Floats:
        r"""Return :math:`\sum_z m_z G_{zx}^2`, the second moment of the estimator under m."""

    @abstractmethod
    def own(self) -> Floats:
        r"""Return :math:`\sum_z M_{xz} G_{zx}^2`, the second moment when the truth is x."""


class Operator(ABC):
    """The action of a mechanism on shares and on functions of the released value."""

    mechanism: Mechanism

    @property
    def matrix(self) -> Floats:
        """The dense matrix; only called where it is small."""
        return self.mechanism.matrix

    @abstractmethod
    def forward(self, p: Floats) -> Floats:
        """Return pM."""

    @abstractmethod
    def adjoint(self, v: Floats) -> Floats:
        """Return Mv."""

    @abstractmethod
    def right_inverse(self, law: Floats | None = None) -> RightInverse:
        """Return a right inverse that is efficient when ``law`` is the released law."""


@dataclass(frozen=True)
class DenseRightInverse(RightInverse):
    """A right inverse held as a (T, S) array."""

    G: Floats
    M: Floats

    def apply(self, c: Floats) -> Floats:
        """Return cG."""
        return np.asarray(c @ self.G)

    def adjoint(self, w: Floats) -> Floats:
        """Return Gw."""
        return np.asarray(w @ self.G.T)

    def squares(self, m: Floats) -> Floats:
        """Return m G²."""
        return np.asarray(m @ self.G**2)

    def own(self) -> Floats:
        """Return the diagonal of M G²."""
        return np.asarray(np.einsum("xz,zx->x", self.M, self.G**2))


@dataclass(frozen=True)
class DenseOperator(Operator):
    """Any matrix."""

    mechanism: Mechanism

    def forward(self, p: Floats) -> Floats:
        """Return pM."""
        return np.asarray(p @ self.matrix)

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv."""
        return np.asarray(v @ self.matrix.T)

    def right_inverse(self, law: Floats | None = None) -> DenseRightInverse:
        r"""Return :math:`G = R^{-1}M^\top (M R^{-1} M^\top)^{-1}` with R = diag(law).

        For a square matrix this is :math:`M^{-1}` whatever the law. Otherwise it is the
        generalised least squares inverse; with the law of the flat prior (the default)
        :math:`G1 = 1`, so estimates sum to one.
        """
        M = self.matrix
        S, T = M.shape
        if T < S:
            refuse_unless_full_rank(M, self.mechanism.categories)
        try:
            G = np.linalg.inv(M) if S == T else weighted_inverse(M, law)
        except np.linalg.LinAlgError:
            G = np.full((T, S), np.inf)
        if not (np.abs(G).sum(axis=1).max() < LARGEST_INVERSE and inverts(M, G)):
            refuse_unless_full_rank(M, self.mechanism.categories)
        return DenseRightInverse(np.asarray(G, dtype=np.float64), M)


def inverts(M: Floats, G: NDArray[np.floating[Any]]) -> bool:
    """Whether MG is the identity up to rounding, which a singular matrix need not show in G."""
    return bool(np.abs(M @ G - np.eye(len(M))).max() < 1e-6)


def weighted_inverse(M: Floats, law: Floats | None) -> Floats:
    """Return the generalised least squares right inverse of a wide matrix."""
    flat = M.mean(axis=0)
    used = flat > 0
    weights = flat if law is None else law + flat * 1e-9
    scaled = np.zeros_like(M)
    scaled[:, used] = M[:, used] / weights[used]
    return np.asarray(np.linalg.solve(M @ scaled.T, scaled).T, dtype=np.float64)


@dataclass(frozen=True)
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
        """Return cG in O(S)."""
        return np.asarray(self.i * (c - (c @ self.h)[..., None]))

    def adjoint(self, w: Floats) -> Floats:
        """Return Gw in O(S)."""
        return np.asarray(self.i * w - (w @ self.i)[..., None] * self.h)

    def squares(self, m: Floats) -> Floats:
        """Return m G² in O(S)."""
        return np.asarray(self.i**2 * ((1 - 2 * self.h) * m + (m @ self.h**2)[..., None]))

    def own(self) -> Floats:
        """Return the diagonal of M G² in O(S)."""
        moved = self.off * (self.h @ self.h) + (self.keep - self.off) * self.h**2
        return np.asarray(self.i**2 * (self.keep * (1 - 2 * self.h) + moved))


@dataclass(frozen=True)
class UniformOperator(Operator):
    r"""Uniform rows, :math:`M = \operatorname{diag}(d) + \mathrm{off}\,1^\top`, in O(S)."""

    mechanism: UniformRows

    @cached_property
    def off(self) -> Floats:
        """Probability of each other value."""
        return np.asarray(self.mechanism.off / TOTAL)

    @cached_property
    def d(self) -> Floats:
        """Keep minus off."""
        return np.asarray((self.mechanism.keep - self.mechanism.off) / TOTAL)

    def forward(self, p: Floats) -> Floats:
        """Return pM in O(S)."""
        return np.asarray(p * self.d + (p @ self.off)[..., None])

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv in O(S)."""
        return np.asarray(v * self.d + v.sum(axis=-1, keepdims=True) * self.off)

    def right_inverse(self, law: Floats | None = None) -> UniformRightInverse:
        """Return the inverse; it does not depend on the law."""
        del law
        i = 1 / self.d
        return UniformRightInverse(i, (i - 1) / i.sum(), self.off + self.d, self.off)


@singledispatch
def operator_of(mechanism: Mechanism) -> Operator:
    """Return the operator of a mechanism that acts on one axis."""
    return DenseOperator(mechanism)


@operator_of.register
def _(mechanism: UniformRows) -> Operator:
    difference = np.abs(mechanism.keep - mechanism.off)
    if difference.min() <= SMALLEST_DIFFERENCE * difference.max():
        return DenseOperator(mechanism)
    inverse = TOTAL / (mechanism.keep - mechanism.off)
    if abs(inverse.sum()) < 1e-9 * np.abs(inverse).sum():
        return DenseOperator(mechanism)
    return UniformOperator(mechanism)

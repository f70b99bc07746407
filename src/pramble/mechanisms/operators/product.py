r"""Several mechanisms side by side, :math:`M = M_1 \otimes \dots \otimes M_k`, axis by axis."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from pramble.mechanisms.operators.axes import Maps, along_axes
from pramble.mechanisms.operators.base import MechanismOperator, RightInverse, xlogx
from pramble.mechanisms.operators.dense import ArrayAlgebra, DenseOperator
from pramble.values import Floats, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pramble.mechanisms.base import Mechanism
    from pramble.mechanisms.product import Product

LARGEST_DENSE = 10**7
"""Entries up to which measures of information are computed on the whole matrix."""


def kron(vectors: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of vectors."""
    return reduce(lambda one, two: np.asarray(np.multiply.outer(one, two).ravel()), vectors)


def over_factors(maps: Maps, sizes: Sequence[int], values: Floats) -> Floats:
    """Apply one map per factor to a last axis that runs over combinations."""
    shaped = values.reshape(*values.shape[:-1], *sizes)
    return along_axes(maps, shaped).reshape(*values.shape[:-1], -1)


def axes_of(mechanism: Mechanism) -> tuple[MechanismOperator, ...]:
    """Return the operators, one per axis, that a mechanism acts by: a product's factors, or one."""
    operator = mechanism.operator
    if not isinstance(operator, ProductOperator):
        return (operator,)
    return tuple(axis for factor in operator.mechanism.factors for axis in axes_of(factor))


@value(eq=False)
class ProductRightInverse(RightInverse):
    """The product of the factors' right inverses."""

    factors: tuple[RightInverse, ...]
    shapes: tuple[tuple[int, int], ...]

    def apply(self, c: Floats) -> Floats:
        """Return cG."""
        return over_factors([f.apply for f in self.factors], [T for _, T in self.shapes], c)

    def adjoint(self, w: Floats) -> Floats:
        """Return Gw."""
        return over_factors([f.adjoint for f in self.factors], [S for S, _ in self.shapes], w)

    def squares(self, m: Floats) -> Floats:
        """Return m G²."""
        return over_factors([f.squares for f in self.factors], [T for _, T in self.shapes], m)

    def own(self) -> Floats:
        """Return the diagonal of M G²."""
        return kron([factor.own() for factor in self.factors])


@value(eq=False)
class ProductOperator(MechanismOperator, ArrayAlgebra):
    """The operator of a product; only measures of information build the matrix."""

    mechanism: Product

    @property
    def factors(self) -> tuple[MechanismOperator, ...]:
        """The operators of the factors."""
        return tuple(factor.operator for factor in self.mechanism.factors)

    def apply(self, p: Floats) -> Floats:
        """Return pM."""
        return over_factors([f.apply for f in self.factors], [f.shape[0] for f in self.factors], p)

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv."""
        sizes = [f.shape[1] for f in self.factors]
        return over_factors([f.adjoint for f in self.factors], sizes, v)

    @property
    def diagonal(self) -> Floats:
        """The entries M[x, x]."""
        return kron([factor.diagonal for factor in self.factors])

    def stay(self) -> Floats:
        """Return the probability of each combination being released as itself."""
        return kron([factor.stay() for factor in self.factors])

    def right_inverse(self, law: Floats | None = None) -> ProductRightInverse:
        """Return the product of the factors' right inverses."""
        del law
        inverses = tuple(factor.right_inverse() for factor in self.factors)
        return ProductRightInverse(inverses, tuple(factor.shape for factor in self.factors))

    def row_entropies(self) -> Floats:
        """Return the entropy of every row: entropies add."""
        return reduce(
            lambda one, two: np.add.outer(one, two).ravel(),
            [factor.row_entropies() for factor in self.factors],
        )

    def information(self, p: Floats) -> float:
        """Return the mutual information; of a large product as H(Z) − H(Z|X)."""
        if math.prod(self.shape) <= LARGEST_DENSE:
            return DenseOperator(self.mechanism).information(p)
        return float(-xlogx(self.apply(p)).sum() - p @ self.row_entropies())

    def estimation_variance(self, p: Floats) -> float:
        """Return the trace of the inverse Fisher information."""
        return DenseOperator(self.mechanism).estimation_variance(p)

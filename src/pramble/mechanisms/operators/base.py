r"""What an operator is: the action of a matrix M on shares and on functions of released values.

Maps act on the last axis of an array, so that one call serves a vector of shares and a whole table.
Nothing of the size of M is built unless ``dense`` is called.

Several operators act on the last axes of one array, so their Kronecker product is never built
either: leading axes are groups (observed combinations of untouched columns), which never mix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pramble.values import Floats, frozen

if TYPE_CHECKING:
    from pramble.mechanisms.base import Mechanism
    from pramble.values import Integers


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
    """The linear algebra of a matrix of shape (S, T): on the array, unless a kind knows better."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows (categories) and of columns (outputs)."""

    @abstractmethod
    def dense(self) -> Floats:
        """Return the matrix."""

    def apply(self, p: Floats) -> Floats:
        """Return pM along the last axis."""
        return np.asarray(p @ self.dense())

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv along the last axis."""
        return np.asarray(v @ self.dense().T)

    @property
    def diagonal(self) -> Floats:
        """The entries M[x, x] of a square matrix."""
        return np.asarray(np.diagonal(self.dense()), dtype=np.float64)

    def entrywise(self, function: Callable[[Floats], Floats]) -> Operator:
        """Return the operator of the matrix with a function applied to every entry."""
        return ArrayOperator(np.array(function(self.dense()), dtype=np.float64))

    def largest_moves(self) -> Floats:
        """Return the largest entry of each row beside the diagonal; 0 where there is none."""
        beside = np.array(self.dense())
        np.fill_diagonal(beside, 0.0)
        return np.asarray(beside.max(axis=1))

    def between(self, rows: Integers, columns: Integers) -> Operator:
        """Return the operator of some rows and columns; a column of −1 is all zero."""
        part = self.dense()[np.asarray(rows)[:, None], columns]
        return ArrayOperator(np.where(np.asarray(columns) >= 0, part, 0.0))


@frozen(eq=False)
class ArrayOperator(Operator):
    """A matrix given by its entries, stochastic or not."""

    matrix: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def dense(self) -> Floats:
        return self.matrix


class InvertibleOperator(Operator):
    """An operator that may have a right inverse."""

    @abstractmethod
    def right_inverse(self, released: Floats | None = None) -> RightInverse:
        """Return a right inverse that is efficient when ``released`` is the released law.

        Raises NotIdentifiable if there is none.
        """


class MechanismOperator(InvertibleOperator):
    """The operator of a whole mechanism, which also has measures of information.

    Attributes
    ----------
    mechanism : Mechanism
    """

    mechanism: Mechanism

    @property
    def shape(self) -> tuple[int, int]:
        return self.mechanism.shape

    def dense(self) -> Floats:
        return self.mechanism.matrix

    @abstractmethod
    def stay(self) -> Floats:
        """Return the probability of each category being released under its own label."""

    @abstractmethod
    def row_entropies(self) -> Floats:
        r"""Return :math:`-\sum_z M_{xz}\log M_{xz}` of every row."""

    @abstractmethod
    def information(self, p: Floats) -> float:
        r"""Return :math:`I(X;Z)` in nats, without cancellation as α → 0."""

    @abstractmethod
    def estimation_variance(self, p: Floats) -> float:
        """Return n × the summed asymptotic variance of the best estimate of p; may be infinite."""


def xlogx(values: Any) -> Floats:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)), dtype=np.float64)


Maps = Sequence[Callable[..., Floats]]
# One operator per randomised block.
Axes = Sequence[InvertibleOperator]


class Acting(Protocol):
    """What acts on the last axis of an array, as every operator does."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def apply(self, p: Floats) -> Floats: ...
    def adjoint(self, v: Floats) -> Floats: ...


class Inverting(Acting, Protocol):
    """What acts, and can be inverted."""

    def right_inverse(self, released: Floats | None = None) -> RightInverse: ...


def along_axes(maps: Maps, array: Floats) -> Floats:
    for position, apply in enumerate(maps):
        axis = array.ndim - len(maps) + position
        array = np.moveaxis(apply(np.moveaxis(array, axis, -1)), -1, axis)
    return np.ascontiguousarray(array)


def apply_axes(axes: Sequence[Acting], p: Floats) -> Floats:
    return along_axes([axis.apply for axis in axes], p)


def adjoint_axes(axes: Sequence[Acting], v: Floats) -> Floats:
    return along_axes([axis.adjoint for axis in axes], v)


def category_shape(axes: Sequence[Acting]) -> tuple[int, ...]:
    return tuple(axis.shape[0] for axis in axes)


def output_shape(axes: Sequence[Acting]) -> tuple[int, ...]:
    return tuple(axis.shape[1] for axis in axes)

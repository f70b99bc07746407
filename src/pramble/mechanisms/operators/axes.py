r"""Several operators on the axes of one array: :math:`M_1 \otimes \dots \otimes M_k`, never built.

An array has a leading axis of groups (observed combinations of untouched columns) and one axis per
randomised block. Untouched columns are identity axes, so groups never mix.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pramble.mechanisms.operators.base import InvertibleOperator, RightInverse
from pramble.values import Floats

Maps = Sequence[Callable[..., Floats]]
Axes = Sequence[InvertibleOperator]
"""One operator per randomised block."""


class Acting(Protocol):
    """What acts on the last axis of an array."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of categories and of outputs."""

    def apply(self, p: Floats) -> Floats:
        """Return pM."""

    def adjoint(self, v: Floats) -> Floats:
        """Return Mv."""


class Inverting(Acting, Protocol):
    """What acts, and can be inverted."""

    def right_inverse(self, law: Floats | None = None) -> RightInverse:
        """Return a right inverse that is efficient when ``law`` is the released law."""


def along_axes(maps: Maps, array: Floats) -> Floats:
    """Apply one map to each of the last ``len(maps)`` axes."""
    for position, apply in enumerate(maps):
        axis = array.ndim - len(maps) + position
        array = np.moveaxis(apply(np.moveaxis(array, axis, -1)), -1, axis)
    return np.ascontiguousarray(array)


def apply_axes(axes: Sequence[Acting], p: Floats) -> Floats:
    """Return pM along every axis."""
    return along_axes([axis.apply for axis in axes], p)


def adjoint_axes(axes: Sequence[Acting], v: Floats) -> Floats:
    """Return Mv along every axis."""
    return along_axes([axis.adjoint for axis in axes], v)


def category_shape(axes: Sequence[Acting]) -> tuple[int, ...]:
    """Return the number of categories on every axis."""
    return tuple(axis.shape[0] for axis in axes)


def output_shape(axes: Sequence[Acting]) -> tuple[int, ...]:
    """Return the number of outputs on every axis."""
    return tuple(axis.shape[1] for axis in axes)

r"""Independent mechanisms over several columns, :math:`M = M_1 \otimes \dots \otimes M_k`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import Label, Labels
from pramble.errors import InvalidMechanism
from pramble.limits import MOST_LABELS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import (
    Maps,
    MechanismOperator,
    RightInverse,
    along_axes,
    xlogx,
)
from pramble.mechanisms.operators.dense import DenseOperator
from pramble.values import Floats, read_only, value

# Entries up to which measures of information are computed on the whole matrix.
LARGEST_DENSE = 10**7


def kron(vectors: Sequence[Floats]) -> Floats:
    return reduce(lambda one, two: np.asarray(np.multiply.outer(one, two).ravel()), vectors)


def over_factors(maps: Maps, sizes: Sequence[int], values: Floats) -> Floats:
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
        return over_factors([f.apply for f in self.factors], [T for _, T in self.shapes], c)

    def adjoint(self, w: Floats) -> Floats:
        return over_factors([f.adjoint for f in self.factors], [S for S, _ in self.shapes], w)

    def squares(self, m: Floats) -> Floats:
        return over_factors([f.squares for f in self.factors], [T for _, T in self.shapes], m)

    def own(self) -> Floats:
        return kron([factor.own() for factor in self.factors])


@value(eq=False)
class ProductOperator(MechanismOperator):
    """The operator of a product; only measures of information build the matrix."""

    mechanism: "Product"

    @property
    def factors(self) -> tuple[MechanismOperator, ...]:
        return tuple(factor.operator for factor in self.mechanism.factors)

    def apply(self, p: Floats) -> Floats:
        return over_factors([f.apply for f in self.factors], [f.shape[0] for f in self.factors], p)

    def adjoint(self, v: Floats) -> Floats:
        sizes = [f.shape[1] for f in self.factors]
        return over_factors([f.adjoint for f in self.factors], sizes, v)

    @property
    def diagonal(self) -> Floats:
        return kron([factor.diagonal for factor in self.factors])

    def stay(self) -> Floats:
        return kron([factor.stay() for factor in self.factors])

    def right_inverse(self, released: Floats | None = None) -> ProductRightInverse:
        del released
        inverses = tuple(factor.right_inverse() for factor in self.factors)
        return ProductRightInverse(inverses, tuple(factor.shape for factor in self.factors))

    def row_entropies(self) -> Floats:
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
        return DenseOperator(self.mechanism).estimation_variance(p)


@value(eq=False, repr=False)
class Product(Mechanism, kind="product"):
    r"""Several columns randomised independently: :math:`M = M_1 \otimes \dots \otimes M_k`.

    Labels are tuples, one label per column. Nothing of the product's size is built unless asked:
    ``weights`` are then exact Python integers over
    :math:`2^{53k}`, and ``matrix`` their nearest floats.
    """

    factors: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        factors = tuple(self.factors)
        if not factors or not all(isinstance(factor, Mechanism) for factor in factors):
            raise InvalidMechanism("A product needs one or more mechanisms.")
        object.__setattr__(self, "factors", factors)

    @property
    def bits(self) -> int:  # type: ignore[override]  # a constant elsewhere
        return sum(factor.bits for factor in self.factors)

    @property
    def shape(self) -> tuple[int, int]:
        shapes = [factor.shape for factor in self.factors]
        return math.prod(s for s, _ in shapes), math.prod(t for _, t in shapes)

    @cached_property
    def labels(self) -> Labels:
        return Labels(tuple(cartesian(*(factor.categories for factor in self.factors))))

    @cached_property
    def output_labels(self) -> Labels:
        return Labels(tuple(cartesian(*(factor.outputs for factor in self.factors))))

    @cached_property
    def weights(self) -> NDArray[Any]:
        return read_only(
            # Products of weights pass 2^63, so they are Python integers.
            reduce(np.kron, (factor.weights.astype(object) for factor in self.factors))
        )

    def row(self, x: int) -> NDArray[Any]:
        indices = np.unravel_index(x, [factor.shape[0] for factor in self.factors])
        rows = (f.row(int(i)).astype(object) for f, i in zip(self.factors, indices, strict=True))
        return reduce(np.kron, rows)

    @cached_property
    def operator(self) -> ProductOperator:
        return ProductOperator(self)

    def to_body(self) -> dict[str, Any]:
        return {"factors": [factor.body() for factor in self.factors]}

    @classmethod
    def from_body(cls, *, factors: Any) -> "Product":
        if not isinstance(factors, list):
            raise InvalidMechanism("The factors of a product are a list.")
        made = cls(tuple(Mechanism.from_body_of_kind(factor) for factor in factors))
        if max(made.shape) > MOST_LABELS:
            raise InvalidMechanism(
                f"A product may have {MOST_LABELS:,} combinations of categories, or of outputs; "
                f"found {made.shape[0]:,} and {made.shape[1]:,}."
            )
        return made

    def same_weights(self, other: Mechanism) -> bool:
        if isinstance(other, Product) and len(other.factors) == len(self.factors):
            return self.factors == other.factors
        return Mechanism.same_weights(self, other)

    def __hash__(self) -> int:
        return hash(self.factors)


def product(plan: Mapping[Label, Mechanism] | Iterable[Mechanism]) -> Product:
    r"""Return the joint mechanism of several columns that are randomised independently.

    Its α is the sum of the columns' (:func:`~pramble.certify` finds the exact product of ratios).

    Parameters
    ----------
    plan : mapping from column to mechanism, or iterable of mechanisms

    Returns
    -------
    Mechanism
        Categories and outputs are tuples of labels, one per column.

    Examples
    --------
    >>> import pramble
    >>> pair = pramble.product({
    ...     "sex": pramble.randomized_response(["f", "m"], 1.0),
    ...     "age": pramble.randomized_response(["young", "old"], 0.5),
    ... })
    >>> pair.shape, pair.categories[1]
    ((4, 4), ('f', 'old'))
    >>> round(pramble.certify(pair).alpha, 9)
    1.5
    """
    return Product(tuple(plan.values() if isinstance(plan, Mapping) else plan))

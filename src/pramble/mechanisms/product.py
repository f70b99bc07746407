"""Independent mechanisms over several columns of one record."""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property, reduce
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import Label, Labels
from pramble.errors import InvalidMechanism
from pramble.limits import MOST_LABELS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.product import ProductOperator
from pramble.values import read_only, value


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
        """The weights are over ``2**bits``."""
        return sum(factor.bits for factor in self.factors)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of combinations of categories and of outputs."""
        shapes = [factor.shape for factor in self.factors]
        return math.prod(s for s, _ in shapes), math.prod(t for _, t in shapes)

    @cached_property
    def labels(self) -> Labels:
        """Tuples of labels of the rows."""
        return Labels(tuple(cartesian(*(factor.categories for factor in self.factors))))

    @cached_property
    def output_labels(self) -> Labels:
        """Tuples of labels of the columns."""
        return Labels(tuple(cartesian(*(factor.outputs for factor in self.factors))))

    @cached_property
    def weights(self) -> NDArray[Any]:
        """The Kronecker product of the factors' weights, as Python integers."""
        return read_only(
            reduce(np.kron, (factor.weights.astype(object) for factor in self.factors))
        )

    def row(self, x: int) -> NDArray[Any]:
        """Return the weights of one row, as Python integers."""
        indices = np.unravel_index(x, [factor.shape[0] for factor in self.factors])
        rows = (f.row(int(i)).astype(object) for f, i in zip(self.factors, indices, strict=True))
        return reduce(np.kron, rows)

    @cached_property
    def operator(self) -> ProductOperator:
        """The mechanism as a linear map, factor by factor."""
        return ProductOperator(self)

    def to_body(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""
        return {"factors": [factor.body() for factor in self.factors]}

    @classmethod
    def from_body(cls, *, factors: Any) -> "Product":
        """Return the mechanism of a JSON form."""
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
        """Whether both matrices have the same integer weights."""
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

"""Composition over the columns of a record: ratios multiply, so α adds up."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from pramble.mechanisms.product import Product, product
from pramble.privacy.certificate import Certificate, certify


def compose(certificates: Iterable[Certificate]) -> Certificate:
    r"""Return the certificate of independent columns of one record, randomised side by side.

    The largest ratio of a product is the product of the largest ratios, attained where each factor
    attains its own, so α is exactly the sum. Rows belong to different people and are protected one
    by one: α does not add over rows.

    Examples
    --------
    >>> import pramble
    >>> one = pramble.certify(pramble.randomized_response(4, 0.25))
    >>> pramble.compose([one] * 8).alpha <= 2.0
    True
    """
    parts = tuple(certificates)
    return Certificate(
        math.prod(part.numerator for part in parts),
        math.prod(part.denominator for part in parts),
        (
            tuple(part.witness[0] for part in parts),
            tuple(part.witness[1] for part in parts),
            tuple(part.witness[2] for part in parts),
        ),
    )


@certify.register
def _(mechanism: Product) -> Certificate:
    return compose(certify(factor) for factor in mechanism.factors)


@certify.register(Mapping)
def _(plan: Mapping[Any, Any]) -> Certificate:
    return certify(product(plan))


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above a rational.

    >>> Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)

"""Composition over the blocks and branches of a record: ratios multiply, so α adds up."""

import math
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import Any

from pramble.mechanisms.plan import as_plan
from pramble.mechanisms.product import Product
from pramble.mechanisms.views import Views
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
    """Certify a record: blocks of a branch multiply, and the worst branch counts."""
    branches = (
        compose(certify(mechanism) for mechanism in branch.blocks.values())
        for branch in as_plan(plan).branches
    )
    return max(branches, key=cmp_to_key(by_ratio))


@certify.register
def _(views: Views) -> Certificate:
    """Certify a record that is in several views: ratios multiply."""
    return compose(certify(plan) for plan in views.values())


def by_ratio(one: Certificate, two: Certificate) -> int:
    """Compare two certificates by their ratios, in integers; a zero denominator is infinite."""
    left, right = one.numerator * two.denominator, two.numerator * one.denominator
    if not one.denominator or not two.denominator:
        return bool(two.denominator) - bool(one.denominator)
    return (left > right) - (left < right)

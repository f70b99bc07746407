"""Composition over the blocks and branches of a record: ratios multiply, so α adds up."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key
from itertools import product
from typing import Any

import numpy as np

from pramble.data.labels import Labels, label_key, label_keys
from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.column_labels import labels_at
from pramble.mechanisms.distance import Distance, as_distance
from pramble.mechanisms.plan import Plan, as_plan
from pramble.mechanisms.product import Product
from pramble.privacy.certificate import Certificate, certify, certify_by


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
def _(mechanism: Product, *, distance: Any = None) -> Certificate:
    if distance is not None:
        return certify_by(mechanism, as_distance(distance, mechanism.labels))
    return compose(certify(factor) for factor in mechanism.factors)


@certify.register(Mapping)
def _(plan: Mapping[Any, Any], *, distance: Any = None) -> Certificate:
    """Certify a record: blocks of a branch multiply, and the worst branch counts.

    By distance only one column changes along an edge: the worst block counts.
    """
    if distance is not None:
        return certify_record_by(as_plan(plan), distance)
    branches = (
        compose(certify(mechanism) for mechanism in branch.blocks.values())
        for branch in as_plan(plan).branches
    )
    return max(branches, key=cmp_to_key(by_ratio))


def certify_record_by(plan: Plan, distances: Any) -> Certificate:
    """Return the certificate of a plan per unit of the distance summed over columns."""
    if not isinstance(distances, Mapping):
        raise InvalidInput("The distances of a plan are a mapping from columns to distances.")
    unknown = sorted(set(distances) - set(plan.columns))
    if unknown:
        raise InvalidInput(f"A distance is given for {unknown[0]!r}, which is in no block.")
    found = [
        certify_by(mechanism, distance_of_block(block, mechanism, distances))
        for branch in plan.branches
        for block, mechanism in branch.blocks.items()
    ]
    return max(found, key=lambda one: one.alpha)


def distance_of_block(
    block: tuple[str, ...], mechanism: Mechanism, distances: Mapping[str, Any]
) -> Distance:
    """Return the distance between the cells of a block: the sum over its columns."""
    columns = [labels_at(mechanism, k, columns=len(block)).labels for k in range(len(block))]
    parts = [between(distances.get(name), own) for name, own in zip(block, columns, strict=True)]
    complete = math.prod(map(len, columns)) == len(mechanism.labels)
    for name in () if complete else block:
        given = distances.get(name)
        if given is not None and getattr(given, "labels", None) is None:
            raise InvalidInput(
                f"Some cells of {', '.join(block)} cannot occur, so that the order of the "
                f"categories of {name!r} is not known; name them, as in "
                "Distance.path(3).named([...])."
            )
    return distance_of_cells(mechanism.labels, columns, parts)


def between(given: Any, labels: Labels) -> Distance:
    """Return the distance of a column: 1 between any two categories unless it is given."""
    return Distance.equal(len(labels)) if given is None else as_distance(given, labels)


def distance_of_cells(
    cells: Labels, columns: Sequence[Labels], parts: Sequence[Distance]
) -> Distance:
    """Return the distance between cells, summed over their columns, from those of the labels."""
    if len(columns) == 1:
        return parts[0].in_order_of(cells)
    if Labels(tuple(product(*(labels.values for labels in columns)))) == cells:
        return Distance.together(parts)
    sums = np.zeros((len(cells),) * 2)
    for k, (labels, part) in enumerate(zip(columns, parts, strict=True)):
        code = {key: i for i, key in enumerate(label_keys(labels))}
        at = [code[label_key(cell[k])] for cell in cells.values]
        sums += part.matrix[np.ix_(at, at)]
    return Distance.from_matrix(sums)


def by_ratio(one: Certificate, two: Certificate) -> int:
    """Compare two certificates by their ratios, in integers; a zero denominator is infinite."""
    left, right = one.numerator * two.denominator, two.numerator * one.denominator
    if not one.denominator or not two.denominator:
        return bool(two.denominator) - bool(one.denominator)
    return (left > right) - (left < right)

r"""What a mechanism on some columns tells of a table.

A mechanism M on the cells of a block has the Fisher information
:math:`F = M D_{pM}^{-1} M^\top` of their probabilities p. Of the margins :math:`A p` over the
columns that a table shares with the block it tells, whatever the rest of p is,

.. math:: F_A = (A F^{-1} A^\top)^{-1} .

A record's branch is drawn publicly, so informations add up with the shares of the branches, and n
times the summed variance of a table's cells is
:math:`\operatorname{tr}\big(\sum_b w_b B_b^\top F_b B_b\big)^{-1} - \lVert p\rVert^2`, with
:math:`B_b` from the cells of the table to those that branch b sees.
"""

import numpy as np

from pramble.mechanisms.base import Mechanism
from pramble.values import Floats, Integers

EMPTY = 1e-12
"""Cells that the law makes impossible count as if they were this likely."""

SINGULAR = 1e-9


def inner(law: Floats) -> Floats:
    """Return a law without zeros."""
    floored = np.maximum(law, EMPTY)
    return np.asarray(floored / floored.sum())


def fisher(matrix: Floats, law: Floats) -> Floats:
    """Return the Fisher information of cell probabilities from one record."""
    released = law @ matrix
    used = released > 0
    kept = matrix[:, used]
    return np.asarray((kept / released[used]) @ kept.T)


def covariance_of_cells(mechanism: Mechanism, law: Floats) -> Floats | None:
    r"""Return :math:`F^{-1}` of one record; None if the cells cannot all be estimated."""
    p = inner(law)
    root = np.sqrt(p)
    scaled = fisher(mechanism.operator.dense(), p) * np.outer(root, root)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] < SINGULAR * values[-1]:
        return None
    return np.asarray((vectors / values) @ vectors.T * np.outer(root, root))


def margin_information(covariance: Floats, onto: Integers) -> Floats:
    """Return what a covariance of cells tells of sums of them."""
    size = int(onto.max()) + 1
    summed = np.zeros((size, size))
    np.add.at(summed, (onto[:, None], onto[None, :]), covariance)
    return np.asarray(np.linalg.inv(summed))


def spread_information(information: Floats, onto: Integers) -> Floats:
    """Return an information of margins as one of the cells that are summed."""
    return np.asarray(information[np.ix_(onto, onto)])


def table_variance(information: Floats, law: Floats) -> float:
    """Return n times the summed variance of a table's cells; infinite if they cannot be told."""
    p = inner(law)
    root = np.sqrt(p)
    values, vectors = np.linalg.eigh(information * np.outer(root, root))
    if values[0] <= SINGULAR * values[-1]:
        return float("inf")
    spread = ((vectors * root[:, None]) ** 2 / values).sum()
    return float(spread - p @ p)

r"""What a mechanism on some columns tells of a table.

A mechanism M on the cells of a block has the Fisher information
:math:`F = M D_{pM}^{-1} M^\top` of their probabilities p. Of the margins :math:`A p` over the
columns that a table shares with the block it tells, whatever the rest of p is,

.. math:: F_A = (A F^{-1} A^\top)^{-1} .

Where F is singular some changes l of p are not shown at all. With Q an orthonormal basis of the
complement of all :math:`Al` and :math:`F^-` a generalised inverse,
:math:`F_A = Q (Q^\top A F^- A^\top Q)^{-1} Q^\top`: the least of :math:`x^\top F x` over
:math:`Ax = u`, as a form in u.

A record's branch is drawn publicly, so informations add up with the shares of the branches, and n
times the summed variance of a table's cells is
:math:`\operatorname{tr}\big(\sum_b w_b B_b^\top F_b B_b\big)^{-1} - \lVert p\rVert^2`, with
:math:`B_b` from the cells of the table to those that branch b sees.
"""

import numpy as np

from pramble.values import Floats, Integers, value

EMPTY = 1e-12
"""Cells that the law makes impossible count as if they were this likely."""

EVEN = 1e-3
"""Informations are scaled by roots of the law, mixed with so much of an even one."""

SINGULAR = 1e-13
LOST = 1e-6


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


@value(eq=False)
class CellCovariance:
    """What one record tells of cells: a generalised inverse of F, and what is not told at all.

    Attributes
    ----------
    matrix : (S, S) array
        Its sums over margins that are told are their covariances.
    lost : (S, L) array
        A basis of the changes of p that no release shows.
    """

    matrix: Floats
    lost: Floats

    def tells(self, onto: Integers) -> bool:
        """Whether anything of some sums of cells is told, beyond that they sum to one."""
        return int(self.told_sums(onto).shape[1]) > 1

    def told_sums(self, onto: Integers) -> Floats:
        """Return an orthonormal basis of the sums of sums of cells that are told."""
        size = int(onto.max()) + 1
        lost = summed(self.lost, onto)
        if not lost.shape[1]:
            return np.eye(size)
        left, values, _ = np.linalg.svd(lost)
        return np.asarray(left[:, int((values > LOST).sum()) :])


def summed(rows: Floats, onto: Integers) -> Floats:
    """Return sums of rows that go onto the same place."""
    order = np.argsort(onto, kind="stable")
    starts = np.searchsorted(onto[order], np.arange(int(onto.max()) + 1))
    return np.asarray(np.add.reduceat(rows[order], starts, axis=0))


def covariance_of_cells(matrix: Floats, law: Floats) -> CellCovariance:
    r"""Return what one record tells of cells under a matrix, :math:`F^{-1}` where there is one."""
    p = inner(law)
    root = np.sqrt(p + EVEN / len(p))
    scaled = fisher(matrix, p) * np.outer(root, root)
    values, vectors = np.linalg.eigh(scaled)
    told = values > SINGULAR * values[-1]
    kept = vectors[:, told]
    inverse = (kept / values[told]) @ kept.T * np.outer(root, root)
    lost = vectors[:, ~told] * root[:, None]
    return CellCovariance(np.asarray(inverse), np.asarray(lost))


def margin_information(covariance: CellCovariance, onto: Integers) -> Floats:
    """Return what a record tells of sums of cells; zero on changes of them that it does not."""
    sums = summed(summed(covariance.matrix, onto).T, onto)
    told = covariance.told_sums(onto)
    if told.shape[1] == len(sums):
        return np.asarray(np.linalg.inv(sums))
    return np.asarray(told @ np.linalg.inv(told.T @ sums @ told) @ told.T)


def spread_information(information: Floats, onto: Integers) -> Floats:
    """Return an information of margins as one of the cells that are summed."""
    return np.asarray(information[np.ix_(onto, onto)])


def table_variance(information: Floats, law: Floats) -> float:
    """Return n times the summed variance of a table's cells; infinite if they cannot be told."""
    p = inner(law)
    root = np.sqrt(p + EVEN / len(p))
    values, vectors = np.linalg.eigh(information * np.outer(root, root))
    if values[0] <= SINGULAR * values[-1]:
        return float("inf")
    spread = ((vectors * root[:, None]) ** 2 / values).sum()
    return float(spread - p @ p)

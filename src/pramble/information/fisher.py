r"""Fisher information: how precisely a released table can be estimated.

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

import math

import numpy as np
from numpy.typing import ArrayLike

from pramble.information.distributions import as_prior
from pramble.information.measures import check
from pramble.mechanisms.base import Mechanism
from pramble.values import Floats, Integers, frozen

# Cells that the prior makes impossible count as if they were this likely.
EMPTY = 1e-12

# Informations are scaled by roots of the prior, mixed with so much of an even one.
EVEN = 1e-3

SINGULAR = 1e-13
NO_INFORMATION = 1e-6


def inner(prior: Floats) -> Floats:
    floored = np.maximum(prior, EMPTY)
    return np.asarray(floored / floored.sum())


def fisher(matrix: Floats, prior: Floats) -> Floats:
    # An output that the prior makes impossible says nothing, and would divide by zero.
    released = prior @ matrix
    used = released > 0
    seen = matrix[:, used]
    return np.asarray((seen / released[used]) @ seen.T)


@frozen(eq=False)
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
        return int(self.estimable_sums(onto).shape[1]) > 1

    def estimable_sums(self, onto: Integers) -> Floats:
        """Return an orthonormal basis of the sums of sums of cells that are told."""
        size = int(onto.max()) + 1
        lost = sums_onto(self.lost, onto)
        if not lost.shape[1]:
            return np.eye(size)
        left, values, _ = np.linalg.svd(lost)
        return np.asarray(left[:, int((values > NO_INFORMATION).sum()) :])


def sums_onto(rows: Floats, onto: Integers) -> Floats:
    order = np.argsort(onto, kind="stable")
    starts = np.searchsorted(onto[order], np.arange(int(onto.max()) + 1))
    return np.asarray(np.add.reduceat(rows[order], starts, axis=0))


def covariance_of_cells(matrix: Floats, prior: Floats) -> CellCovariance:
    r"""Return what one record tells of cells under a matrix, :math:`F^{-1}` where there is one."""
    p = inner(prior)
    root = np.sqrt(p + EVEN / len(p))
    scaled = fisher(matrix, p) * np.outer(root, root)
    values, vectors = np.linalg.eigh(scaled)
    estimable = values > SINGULAR * values[-1]
    seen = vectors[:, estimable]
    inverse = (seen / values[estimable]) @ seen.T * np.outer(root, root)
    lost = vectors[:, ~estimable] * root[:, None]
    return CellCovariance(np.asarray(inverse), np.asarray(lost))


def margin_information(covariance: CellCovariance, onto: Integers) -> Floats:
    """Return what a record tells of sums of cells; zero on changes of them that it does not."""
    sums = sums_onto(sums_onto(covariance.matrix, onto).T, onto)
    estimable = covariance.estimable_sums(onto)
    if estimable.shape[1] == len(sums):
        return np.asarray(np.linalg.inv(sums))
    return np.asarray(estimable @ np.linalg.inv(estimable.T @ sums @ estimable) @ estimable.T)


def spread_information(information: Floats, onto: Integers) -> Floats:
    """Return an information of margins as one of the cells that are summed."""
    return np.asarray(information[np.ix_(onto, onto)])


def table_variance(information: Floats, prior: Floats) -> float:
    """Return n times the summed variance of a table's cells; infinite if they cannot be told."""
    p = inner(prior)
    root = np.sqrt(p + EVEN / len(p))
    values, vectors = np.linalg.eigh(information * np.outer(root, root))
    if values[0] <= SINGULAR * values[-1]:
        return float("inf")
    spread = ((vectors * root[:, None]) ** 2 / values).sum()
    return float(spread - p @ p)


def fisher_information(prior: ArrayLike, mechanism: Mechanism) -> Floats:
    r"""Return the Fisher information of p in one released value, on all S coordinates.

    .. math:: J = \sum_z \frac{M_z M_z^\top}{(pM)_z}

    with :math:`M_z` the columns. Outputs that the prior makes impossible are left out. Only its
    action on directions that sum to zero has a meaning.

    Examples
    --------
    >>> import pramble
    >>> pramble.fisher_information([0.5, 0.5], pramble.keep_probabilities([0.75, 0.75]))
    array([[1.25, 0.75],
           [0.75, 1.25]])
    """
    return fisher(mechanism.matrix, as_prior(prior, size=check(mechanism).shape[0]))


def estimation_variance(prior: ArrayLike, mechanism: Mechanism) -> float:
    r"""Return n times the summed asymptotic variance of the maximum likelihood estimate of p.

    .. math:: \operatorname{tr}\left[ B (B^\top J B)^{-1} B^\top \right]

    with J the Fisher information and B an orthonormal basis of the directions that sum to zero. For
    an invertible square matrix this is the trace of
    :math:`M^{-\top}(\operatorname{diag} m - m m^\top)M^{-1}`.

    Parameters
    ----------
    prior : (S,) array_like
    mechanism : Mechanism

    Returns
    -------
    float
        Infinite when p is not identifiable, that is when two priors give the same released law.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(2, 1.0)
    >>> round(pramble.estimation_variance([0.5, 0.5], m), 6)
    2.341347
    """
    p = as_prior(prior, size=check(mechanism).shape[0])
    return mechanism.operator.estimation_variance(p)


# Standard errors on either side of an estimate that make a 95 % interval.
HALF_WIDTH = 1.96


def typical_error(cost: float, *, cells: int, rows: float = 1) -> float:
    r"""Return the root mean square of the standard errors of the estimated shares of a table.

    .. math:: \sqrt{\frac1K \sum_k \operatorname{Var}(\hat p_k)} = \sqrt{\frac{C}{K n}}

    with K cells, n records, and the cost C: n times the summed variance of the estimates.

    >>> typical_error(4.0, cells=4, rows=100)
    0.1
    """
    return math.sqrt(cost / (cells * max(rows, 1)))

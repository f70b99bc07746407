"""Fisher information about the prior, and the variance it leaves to the best estimator."""

import math
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike

from pramble.information.measures import check, released_distribution
from pramble.information.priors import as_prior
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats


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
    p = as_prior(prior, size=check(mechanism).shape[0])
    released = released_distribution(p, mechanism)
    columns = mechanism.matrix[:, released > 0]
    return np.asarray(columns / released[released > 0] @ columns.T, dtype=np.float64)


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
    return _variance(check(mechanism), as_prior(prior, size=mechanism.shape[0]))


@singledispatch
def _variance(mechanism: Mechanism, p: Floats) -> float:
    matrix = mechanism.matrix
    matrix = matrix[:, matrix.any(axis=0)]
    if matrix.shape[1] < len(p) or np.linalg.matrix_rank(matrix) < len(p):
        return math.inf
    released = p @ matrix
    known = np.column_stack([np.ones(len(p)), matrix[:, released == 0]])
    left, values, _ = np.linalg.svd(known, full_matrices=True)
    rank = int((values > values[0] * 1e-12).sum())
    basis = left[:, rank:]
    if not basis.shape[1]:
        return 0.0
    scores = (basis.T @ matrix[:, released > 0]) / np.sqrt(released[released > 0])
    singular = np.linalg.svd(scores, compute_uv=False)
    return float((1 / singular**2).sum())


@_variance.register
def _(mechanism: UniformRows, p: Floats) -> float:
    r"""In O(S): :math:`\hat p_z = (c_z - t)/d_z`, d = keep − off, t a mean of the shares c.

    A row whose keep and off weights differ by less than S units is flat but for its rounding.
    """
    difference = (mechanism.keep - mechanism.off) / TOTAL
    stuck = int((np.abs(mechanism.keep - mechanism.off) < len(p)).sum())
    if stuck > 1:
        return math.inf
    if stuck == 1:
        return float(_variance.dispatch(Mechanism)(mechanism, p))
    inverse = 1 / difference
    if abs(inverse.sum()) < 1e-12 * np.abs(inverse).sum():
        return math.inf
    share = inverse / inverse.sum()
    released = released_distribution(p, mechanism)
    centre = released @ share
    spread = released @ share**2 - centre**2
    variance = released * (1 - released) - 2 * released * (share - centre) + spread
    return float((variance * inverse**2).sum())


@_variance.register
def _(mechanism: Arcs, p: Floats) -> float:
    r"""Infinite when two categories share a position; else a circulant, if it is square.

    The rows of the inverse of a circulant have one norm,
    :math:`\tfrac1S\sum_k |\lambda_k|^{-2}` with its eigenvalues λ, by one Fourier transform.
    """
    S, T = mechanism.shape
    if len(np.unique(mechanism.positions)) < S:
        return math.inf
    if S < T:
        return float(_variance.dispatch(Mechanism)(mechanism, p))
    size = np.abs(np.fft.fft(mechanism.pattern / TOTAL))
    if size.min() < 1e-12 * size.max():
        return math.inf
    return float((size**-2.0).mean() - p @ p)

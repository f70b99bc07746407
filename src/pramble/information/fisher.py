"""Fisher information about the prior, and the variance it leaves to the best estimator."""

import numpy as np
from numpy.typing import ArrayLike

from pramble.information.measures import check, released_distribution
from pramble.information.priors import as_prior
from pramble.mechanisms.base import Mechanism
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
    p = as_prior(prior, size=check(mechanism).shape[0])
    return mechanism.operator.estimation_variance(p)

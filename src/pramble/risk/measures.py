r"""Risk of a record under the Poisson model, and its sums over the sample uniques.

Population counts :math:`F \sim \mathrm{Poisson}(\lambda)`, each member sampled with probability π.
Given the sample count f, the unsampled rest :math:`F - f` is Poisson with mean
:math:`\nu = (1-\pi)\lambda`.
"""

import numpy as np
from numpy.typing import ArrayLike

from pramble.values import Floats

SMALLEST = 1e-200


def uniqueness_risk(rest: ArrayLike, sizes: ArrayLike = 1) -> Floats:
    r"""Return :math:`r_1 = P(F = 1 \mid f) = e^{-\nu}` where f = 1, and 0 where f > 1.

    >>> uniqueness_risk([0.0, 1.0, 1.0], [1, 1, 2]).round(6)
    array([1.      , 0.367879, 0.      ])
    """
    rest, sizes = np.asarray(rest, dtype=np.float64), np.asarray(sizes)
    return np.asarray(np.where(sizes == 1, np.exp(-rest), 0.0), dtype=np.float64)


def match_risk(rest: ArrayLike, sizes: ArrayLike = 1) -> Floats:
    r"""Return the chance that a match is right.

    .. math:: r_2 = E(1/F \mid f) = \int_0^1 t^{f-1} e^{-\nu(1-t)}\,dt
        = \frac1f\, {}_1F_1(1;\, f+1;\, -\nu),

    which is :math:`(1-e^{-\nu})/\nu` at f = 1.

    >>> match_risk([0.0, 1.0, 0.0], [1, 1, 2]).round(6)
    array([1.      , 0.632121, 0.5     ])
    """
    rest, sizes = np.broadcast_arrays(np.asarray(rest, dtype=np.float64), np.asarray(sizes))
    risk = np.empty(rest.shape)
    alone = sizes == 1
    risk[alone] = mean_exponential(rest[alone])
    if not alone.all():
        from scipy.special import hyp1f1

        normal = np.where(rest[~alone] < SMALLEST, 0.0, rest[~alone])
        risk[~alone] = hyp1f1(1.0, sizes[~alone] + 1.0, -normal) / sizes[~alone]
    return risk


def mean_exponential(x: ArrayLike) -> Floats:
    r"""Return :math:`(1-e^{-x})/x`, which is 1 at 0.

    >>> float(mean_exponential(0.0))
    1.0
    """
    x = np.asarray(x, dtype=np.float64)
    safe = np.where(x == 0, 1.0, x)
    return np.asarray(np.where(x == 0, 1.0, -np.expm1(-safe) / safe), dtype=np.float64)

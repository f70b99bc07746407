r"""Risk of a record under the Poisson model, and its sums over the sample uniques.

Population counts :math:`F \sim \mathrm{Poisson}(\lambda)`, each member sampled with probability π.
Given the sample count f, the unsampled rest :math:`F - f` is Poisson with mean
:math:`\nu = (1-\pi)\lambda`.

In weighted samples a class of f records whose weights sum to :math:`\hat F` has an unsampled rest
that is negative binomial with success probability :math:`p = f/\hat F` (Benedetti and Franconi
1998).
"""

import numpy as np
from numpy.typing import ArrayLike

from pramble.errors import InvalidInput
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


FEW = 50
"""From this class size on, twenty terms of the series reach full precision at any weight."""


def individual_risk(sizes: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Return the chance that a match on a class is right, by the negative binomial model.

    .. math:: r = E(1/F \mid f) = \frac pf\, {}_2F_1(1,1;\,f+1;\,q)
        = \int_0^1 \frac{p\,w^{f-1}}{p + q w}\,dw, \qquad p = f/\hat F,\; q = 1-p.

    All terms of the series are positive: term m+1 over term m is :math:`(m+1)q/(f+1+m)`. It
    converges like :math:`q^m` for small f, so there, with :math:`c = p/q < 1`, the integrals
    :math:`I_f = \int_0^1 w^{f-1}/(c+w)\,dw` come from :math:`I_1 = \log(1/p)` and
    :math:`I_{f+1} = 1/f - c I_f`, which shrinks errors. Every f and every weight keep 14 digits or
    more.

    Class sizes f are at least 1, and the summed weights of a class at least f.

    Examples
    --------
    >>> individual_risk([1, 2, 2], [17.0, 84.5, 110.0]).round(7)
    array([0.1770758, 0.0220423, 0.0171443])
    """
    f, total = np.broadcast_arrays(np.asarray(sizes, np.float64), np.asarray(weights, np.float64))
    if (f < 1).any() or (total < f * (1 - 1e-12)).any():
        raise InvalidInput("Class sizes must be at least 1, and weights at least the class size.")
    p = np.minimum(f / total, 1.0)
    risk = np.empty(f.shape)
    recur = (f < FEW) & (p < 0.5)
    risk[recur] = _by_recurrence(f[recur], p[recur])
    risk[~recur] = _by_series(f[~recur], p[~recur])
    return risk


def household_risk(risk: ArrayLike, household: ArrayLike) -> Floats:
    r"""Return, for each record, the chance that a member of its household is re-identified.

    .. math:: 1 - \prod_{i \in h} (1 - r_i)

    >>> household_risk([0.5, 0.5, 0.1], ["a", "a", "b"])
    array([0.75, 0.75, 0.1 ])
    """
    risk = np.asarray(risk, dtype=np.float64)
    _, member = np.unique(np.asarray(household), return_inverse=True)
    with np.errstate(divide="ignore"):
        escapes = np.bincount(member, weights=np.log1p(-risk))
    return np.asarray(-np.expm1(escapes)[member], dtype=np.float64)


def _by_series(f: Floats, p: Floats) -> Floats:
    term = np.ones_like(f)
    total = np.ones_like(f)
    m = 0
    while (term > 1e-18 * total).any():
        term = term * ((m + 1) * (1 - p) / (f + 1 + m))
        total += term
        m += 1
    return np.asarray(p / f * total, dtype=np.float64)


def _by_recurrence(f: Floats, p: Floats) -> Floats:
    c = p / (1 - p)
    integral = -np.log(p)
    for size in range(1, int(f.max(initial=1))):
        integral = np.where(f > size, 1 / size - c * integral, integral)
    return np.asarray(c * integral, dtype=np.float64)

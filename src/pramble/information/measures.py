r"""Entropy and mutual information, in nats.

Mutual information is computed from the compensation identity

.. math:: I(X;Z) = \sum_x p_x\, D(M_x \,\|\, r) - D(m \,\|\, r),

which holds for every law r with full support, and with divergences written through
:math:`\varphi(t) = (1+t)\log(1+t) - t \ge 0`. For general matrices :math:`r = m = pM`; for uniform
rows :math:`r = 1/S`, or the row of a category with more than half of the mass, which makes it O(S).
Neither loses digits as α → 0, nor as one category takes all the mass.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.errors import InvalidInput
from pramble.information.distributions import as_prior
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import xlogx
from pramble.mechanisms.operators.dense import log_excess
from pramble.mechanisms.ratios import check_alpha
from pramble.values import Floats


def entropy(p: ArrayLike) -> float:
    r"""Return :math:`H(X) = -\sum_x p_x \log p_x`, with :math:`0\log 0 = 0`.

    Examples
    --------
    >>> import pramble
    >>> pramble.entropy([0.5, 0.5, 0.0]) == 0.6931471805599453
    True
    """
    prior = as_prior(p)
    return float(-xlogx(prior).sum()) + 0.0


def released_distribution(prior: ArrayLike, mechanism: Mechanism) -> Floats:
    r"""Return :math:`m = pM`, the law of the released value.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.75])
    >>> pramble.released_distribution([0.5, 0.5], m)
    array([0.375, 0.625])
    """
    return check(mechanism).operator.apply(as_prior(prior, size=mechanism.shape[0]))


def conditional_entropy(prior: ArrayLike, mechanism: Mechanism) -> float:
    r"""Return :math:`H(Z|X) = -\sum_x p_x \sum_z M_{xz}\log M_{xz}`.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.keep_probabilities([0.5, 0.5])
    >>> pramble.conditional_entropy([0.3, 0.7], m) == 0.6931471805599453
    True
    """
    p = as_prior(prior, size=check(mechanism).shape[0])
    return float(p @ mechanism.operator.row_entropies())


def mutual_information(prior: ArrayLike, mechanism: Mechanism) -> float:
    r"""Return the information between true and released value.

    .. math:: I(X;Z) = \sum_{x,z} p_x M_{xz} \log\frac{M_{xz}}{(pM)_z} = H(Z) - H(Z|X)

    in O(S) for uniform rows and O(S·T) otherwise.

    Parameters
    ----------
    prior : (S,) array_like
        Probabilities of the categories; zeros are fine.
    mechanism : Mechanism

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(2, 1.0)
    >>> round(pramble.mutual_information([0.5, 0.5], m), 6)
    0.110944
    """
    prior = as_prior(prior, size=check(mechanism).shape[0])
    return max(mechanism.operator.information(prior), 0.0)


def check(mechanism: Any) -> Mechanism:
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(f"A mechanism is needed; found {type(mechanism).__name__}.")
    return mechanism


def information_bound(alpha: float) -> float:
    r"""Return the most mutual information that any α-DP mechanism carries, for any prior and any S.

    .. math:: I(X;Z) \le u - 1 - \log u, \qquad u = \frac{\alpha}{1 - e^{-\alpha}}

    in nats. Never more than :math:`H(X)` either.

    Parameters
    ----------
    alpha : float
        Positive.

    Returns
    -------
    float

    Examples
    --------
    >>> import pramble
    >>> round(pramble.information_bound(1.0), 6)
    0.123302
    """
    alpha = check_alpha(alpha)
    # The excess of u over one: below, a difference would lose digits, and five terms of its
    # Bernoulli series are exact.
    if alpha < 0.3:
        a2 = alpha * alpha
        tail = 1 / 12 - a2 * (1 / 720 - a2 * (1 / 30240 - a2 * (1 / 1209600 - a2 / 47900160)))
        excess = alpha / 2 + a2 * tail
    else:
        excess = -alpha / np.expm1(-alpha) - 1
    return float(log_excess(np.array(excess)))


def best_high_mass(alpha: float) -> float:
    r"""Return the prior mass of an ideal high set.

    .. math:: t^* = (\alpha a - a + 1)/(a-1)^2, \qquad a = e^\alpha.

    A column that is :math:`a` times likelier on a set of prior mass t carries the most information
    per released value at :math:`t = t^*`;
    :math:`t^* \to 1/2` as :math:`\alpha \to 0`.
    """
    alpha = check_alpha(alpha)
    # The quotient loses all digits as α → 0; its series has no term of second order.
    if alpha < 1e-2:
        return 0.5 - alpha / 6 + alpha**3 / 180
    shrink = np.exp(-alpha)
    return float((alpha * shrink + np.expm1(-alpha) * shrink) / np.expm1(-alpha) ** 2)

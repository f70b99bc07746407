"""How much information α allows at all."""

import numpy as np

from pramble.mechanisms.exponential import check_alpha
from pramble.mechanisms.operators.excess import log_excess


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
    return float(log_excess(np.array(excess_of_u(alpha))))


def excess_of_u(alpha: float) -> float:
    r"""Return :math:`\alpha/(1-e^{-\alpha}) - 1`, by its Bernoulli series when α is small."""
    if alpha < 0.3:
        a2 = alpha * alpha
        tail = 1 / 12 - a2 * (1 / 720 - a2 * (1 / 30240 - a2 * (1 / 1209600 - a2 / 47900160)))
        return alpha / 2 + a2 * tail
    return float(-alpha / np.expm1(-alpha) - 1)


def best_high_mass(alpha: float) -> float:
    r"""Return the prior mass of an ideal high set.

    .. math:: t^* = (\alpha a - a + 1)/(a-1)^2, \qquad a = e^\alpha.

    A column that is :math:`a` times likelier on a set of prior mass t carries the most information
    per released value at :math:`t = t^*`;
    :math:`t^* \to 1/2` as :math:`\alpha \to 0`.
    """
    alpha = check_alpha(alpha)
    if alpha < 1e-2:
        return 0.5 - alpha / 6 + alpha**3 / 180
    shrink = np.exp(-alpha)
    return float((alpha * shrink + np.expm1(-alpha) * shrink) / np.expm1(-alpha) ** 2)

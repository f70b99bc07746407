r"""Maximum likelihood for equal rows of randomised response, exactly and in finitely many steps."""

import numpy as np

from pramble.values import Floats


def fill_to_the_boundary(shares: Floats, *, off: float, difference: float) -> Floats:
    r"""Return the p that maximises :math:`\sum_z \hat c_z \log(t + d\,p_z)` on the simplex.

    Here :math:`t` is the probability of each other value and :math:`d` = keep − off, not zero. The
    conditions for the maximum are :math:`d\,\hat c_z/(t + d p_z) \le \lambda`, with equality where
    :math:`p_z > 0`. So on the support the released law is proportional to the shares, and
    it is t elsewhere:

    .. math:: t + d\,p_z = \hat c_z \frac{1 - (S-k)\,t}{C_k}, \qquad
              C_k = \sum_{z \in \text{support}} \hat c_z .

    For d > 0 the support is the k largest shares (for d < 0 the k smallest). The right k is the
    largest for which the last one taken is still positive: taking z in changes
    :math:`\lambda` by a mean with :math:`d \hat c_z/t`, so once a share is too small all later ones
    are.
    """
    order = np.argsort(-shares if difference > 0 else shares, kind="stable")
    ordered = shares[order]
    k = np.arange(1, len(shares) + 1)
    room = 1 - (len(shares) - k) * off
    mass = np.cumsum(ordered)
    taken = (ordered * room - off * mass) * np.sign(difference) > 0
    taken[0] |= not taken.any()
    last = int(np.flatnonzero(taken)[-1])
    p = np.zeros_like(shares)
    scale = room[last] / mass[last] if mass[last] > 0 else 0.0
    p[order[: last + 1]] = (ordered[: last + 1] * scale - off) / difference
    np.maximum(p, 0.0, out=p)
    return np.asarray(p / p.sum())

r"""Two convex functions behind every information measure, accurate near zero.

.. math:: \varphi(t) = (1+t)\log(1+t) - t \ge 0, \qquad \psi(d) = d - \log(1+d) \ge 0.
"""

import numpy as np

from pramble.values import Floats

SMALL = 1e-3


def entropy_excess(t: Floats) -> Floats:
    r"""Return :math:`(1+t)\log(1+t) - t` for :math:`t \ge -1`, by its series when t is small."""
    small = np.abs(t) < SMALL
    if small.all():
        return _entropy_series(t)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.where(t > -1, (1 + t) * np.log1p(t) - t, 1.0)
    if not small.any():
        return direct
    return np.where(small, _entropy_series(np.where(small, t, 0.0)), direct)


def _entropy_series(t: Floats) -> Floats:
    return t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42)))))


def log_excess(d: Floats) -> Floats:
    r"""Return :math:`d - \log(1+d)` for :math:`d > -1`, by its series when d is small."""
    direct = d - np.log1p(d)
    small = np.abs(d) < SMALL
    near = np.where(small, d, 0.0)
    series = near**2 * (
        1 / 2 - near * (1 / 3 - near * (1 / 4 - near * (1 / 5 - near * (1 / 6 - near / 7))))
    )
    return np.where(small, series, direct)

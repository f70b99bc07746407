"""How well a log-linear model serves to estimate risk (Skinner and Shlomo 2008)."""

import math

import numpy as np

from pramble.values import Floats, value

SMALL = 0.05
TERMS = 10


@value
class FitCriteria:
    r"""Estimated biases of τ1 and τ2, and their standardised values.

    With :math:`\varepsilon = f - \pi\lambda`, summed over all cells,

    .. math:: B_i = \sum a_i \varepsilon + b_i(\varepsilon^2 - f), \qquad
        v_i = \sum a_i^2 \pi\lambda + 2 b_i^2 (\pi\lambda)^2.

    Large positive :math:`B/\sqrt v`: the model underfits and overstates the risk. Negative: it
    overfits.

    Examples
    --------
    >>> FitCriteria(B1=3.0, B2=-1.0, v1=9.0, v2=4.0).standardised
    (1.0, -0.5)
    """

    B1: float
    B2: float
    v1: float
    v2: float

    @property
    def standardised(self) -> tuple[float, float]:
        """``B1 / sqrt(v1)`` and ``B2 / sqrt(v2)``; 0 where the variance is 0."""
        return _ratio(self.B1, self.v1), _ratio(self.B2, self.v2)

    def __add__(self, other: "FitCriteria") -> "FitCriteria":
        return FitCriteria(
            self.B1 + other.B1, self.B2 + other.B2, self.v1 + other.v1, self.v2 + other.v2
        )


def fit_criteria(counts: Floats, fitted: Floats, fraction: float) -> FitCriteria:
    r"""Return the criteria for sample counts f and fitted sample means :math:`\mu = \pi\lambda`.

    .. math:: a_1 = (1-\pi)\lambda e^{-\lambda}, \quad
        b_1 = \frac{(1-\pi)^2 \lambda e^{-\lambda}}{2\pi}, \quad
        a_2 = e^{-\pi\lambda}(h - e^{-\nu}), \quad
        b_2 = e^{-\pi\lambda}\,\frac{h - e^{-\nu}(1+\nu/2)}{\pi\lambda},

    with :math:`\nu = (1-\pi)\lambda` and :math:`h = (1-e^{-\nu})/\nu`. Cells whose fitted mean is 0
    add nothing.
    """
    rates, rest = fitted / fraction, fitted * ((1 - fraction) / fraction)
    residual = counts - fitted
    excess = residual**2 - counts
    a1 = rest * np.exp(-rates)
    b1 = a1 * ((1 - fraction) / (2 * fraction))
    first, second = _differences(rest)
    decay = np.exp(-fitted)
    a2 = decay * first
    b2 = decay * second / np.where(fitted > 0, fitted, 1.0)
    return FitCriteria(
        float((a1 * residual + b1 * excess).sum()),
        float((a2 * residual + b2 * excess).sum()),
        float((a1**2 * fitted + 2 * (b1 * fitted) ** 2).sum()),
        float((a2**2 * fitted + 2 * (b2 * fitted) ** 2).sum()),
    )


def _differences(rest: Floats) -> tuple[Floats, Floats]:
    r"""Return :math:`h - e^{-\nu}` and :math:`h - e^{-\nu}(1+\nu/2)`, by series where small."""
    safe = np.maximum(rest, SMALL)
    decay = np.exp(-safe)
    mean = -np.expm1(-safe) / safe
    first, second = mean - decay, mean - decay * (1 + safe / 2)
    small = np.flatnonzero(rest < SMALL)
    nu = rest[small]
    power, first_sum, second_sum = np.ones_like(nu), np.zeros_like(nu), np.zeros_like(nu)
    for m in range(1, TERMS):
        power = power * -nu
        first_sum -= power * (m / math.factorial(m + 1))
        second_sum += power * (m * (m - 1) / (2 * math.factorial(m + 1)))
    first[small], second[small] = first_sum, second_sum
    return first, second


def _ratio(value: float, variance: float) -> float:
    return value / math.sqrt(variance) if variance > 0 else 0.0

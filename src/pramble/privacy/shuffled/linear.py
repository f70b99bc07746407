r"""What a reader of several views can surely do: one linear test of all of them together.

All other records are w, and one is x or x'. View v shows n rows of outputs Z, and the reader adds

.. math:: T = \sum_v \sum_{i \le n} u_v(Z_{vi}), \qquad
          u_v(z) = \frac{M^v_{xz} - M^v_{x'z}}{M^v_{wz}},

over all views, without knowing which rows are one record's. With an independent normal ξ of
standard deviation s he says "x" if :math:`T + \xi > c`. For every ε and every choice of s and c

.. math:: \delta \ge P(T + \xi > c) - e^\varepsilon P'(T + \xi > c).

Under x the transform of T is :math:`\prod_v K_{w,v}(z)^{n-1} K_{x,v}(z)`, and with
:math:`z = \theta + it`,
:math:`P(T + \xi > c) = \frac1{2\pi}\int K(z) e^{s^2z^2/2 - cz}/z\, dt`. The trapezoidal rule of
step τ gives :math:`\sum_j e^{-\theta jP} P(T + \xi + jP > c)`, :math:`P = 2\pi/\tau`: it bounds
the probability from above, and from below after the other terms are taken away as in
:mod:`pramble.privacy.shuffled.excess`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.privacy.shuffled.excess import NEGLIGIBLE, UNIT
from pramble.values import Floats, value

FINE = 0.01
PERIODS = 14.0


@value(eq=False)
class Rows:
    """Rows x, x' and w of one view, as probabilities of its outputs, 24 units right."""

    x: Floats
    other: Floats
    crowd: Floats

    @property
    def scores(self) -> Floats:
        """The score u of each output; nothing for outputs that w never has."""
        seen = self.crowd > 0
        apart = np.where(seen, self.x - self.other, 0.0)
        return np.asarray(apart / np.where(seen, self.crowd, 1.0))


@value(eq=False)
class Moments:
    """Mean and variance of the sum of scores, under x and under x'."""

    mean: float
    other: float
    variance: float


class LinearTest:
    """The test of some views of so many rows.

    Parameters
    ----------
    views : sequence of Rows
    rows : int
        The number n of records.
    """

    def __init__(self, views: Sequence[Rows], *, rows: int) -> None:
        self.views, self.rows = list(views), rows
        self.scores = [view.scores for view in self.views]
        self.moments = self.summed()

    def summed(self) -> Moments:
        """Return mean and variance of T."""
        mean = other = variance = 0.0
        for view, u in zip(self.views, self.scores, strict=True):
            crowd = float(view.crowd @ u)
            mean += (self.rows - 1) * crowd + float(view.x @ u)
            other += (self.rows - 1) * crowd + float(view.other @ u)
            variance += self.rows * (float(view.crowd @ u**2) - crowd**2)
        return Moments(mean, other, max(variance, 0.0))

    def delta(self, epsilon: float) -> float:
        """Return a δ below which no promise at ε stays, rounded down."""
        found = self.moments
        apart, deviation = found.mean - found.other, math.sqrt(found.variance)
        if apart <= 0 or deviation <= 0:
            return 0.0
        cut = (found.mean + found.other) / 2 + epsilon * found.variance / apart
        sure, _ = self.beyond(cut, side="x")
        _, false = self.beyond(cut, side="other")
        return max(sure - math.exp(epsilon) * (1 + 4 * UNIT) * false, 0.0) * (1 - 1e-12)

    def beyond(self, cut: float, *, side: str) -> tuple[float, float]:
        """Return bounds of P(T + ξ > cut) under x, or under x'."""
        found = self.moments
        deviation = math.sqrt(found.variance)
        spread = FINE * deviation
        mean = found.mean if side == "x" else found.other
        theta = max((cut - mean) / found.variance, 0.5 / deviation)
        period = max(PERIODS * deviation, (NEGLIGIBLE + 8) / theta)
        step = 2 * math.pi / period
        points = math.ceil(math.sqrt(2 * NEGLIGIBLE + 8) / spread / step)
        t = step * np.arange(points + 1, dtype=np.float64)
        z = theta + 1j * t
        logs, off = self.log_transform(z, side=side)
        peak = float(logs[0].real)
        damp = (spread * z) ** 2 / 2 - cut * z
        scale = peak + (spread * theta) ** 2 / 2 - cut * theta
        twice = np.where(t > 0, 2.0, 1.0) * (step / (2 * math.pi))
        terms = np.exp(logs + damp - scale) / z
        total = float(twice @ terms.real)
        exponent = np.minimum(logs.real + damp.real - scale, 50.0)
        rounding = off + 32 * UNIT * (1 + np.abs(logs) + np.abs(damp) + points)
        wrong = float(twice @ (np.exp(exponent) * np.expm1(np.minimum(rounding, 50.0)) / np.abs(z)))
        end = step * points
        wrong += math.exp(-((spread * end) ** 2) / 2) / (math.pi * end)
        whole = math.exp(min(scale, 700.0)) * (1 + 1e-9)
        ratio = math.exp(-theta * period)
        later = ratio / (1 - ratio)
        steeper, _ = self.log_transform(np.array([complex(2 * theta)]), side=side)
        before = float(steeper[0].real) + (2 * spread * theta) ** 2 / 2 - 2 * cut * theta
        earlier = math.exp(min(before - theta * period, 700.0)) * 2 / (1 - ratio)
        low = (total - wrong) * math.exp(min(scale, 700.0)) * (1 - 1e-9) - later - earlier
        return max(low, 0.0), (total + wrong) * whole

    def log_transform(
        self, z: NDArray[np.complexfloating[Any, Any]], *, side: str
    ) -> tuple[NDArray[np.complex128], Floats]:
        """Return log E exp(zT), and how far each value may be off."""
        logs = np.zeros(len(z), dtype=np.complex128)
        off = np.zeros(len(z))
        for view, u in zip(self.views, self.scores, strict=True):
            raised = np.exp(np.multiply.outer(z, u))
            own = view.x if side == "x" else view.other
            for masses, times in ((view.crowd, self.rows - 1), (own, 1)):
                found = raised @ masses
                size = float(np.exp(z[0].real * u) @ masses) + 1
                unit = UNIT * (len(u) + 48 + 8 * np.abs(z) * float(np.abs(u).max(initial=0.0)))
                logs += times * np.log(np.where(found == 0, 1e-300, found))
                least = np.maximum(np.abs(found), 1e-300)
                off += times * np.log1p(np.minimum(unit * size / least, 1e6))
        return logs, off

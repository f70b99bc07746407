r"""What a reader can surely do, so that no smaller δ can be proven.

**One pair in one crowd, exactly.** If every other record is w, the released rows are n draws of
which one is from :math:`M_x` or :math:`M_{x'}`, the others from :math:`M_w`, in random order. The
best event then has exactly

.. math:: \frac1n\, E\Big[\sum_{i \le n} \frac{M_{xZ_i} - e^\varepsilon M_{x'Z_i}}{M_{wZ_i}}\Big]_+
          + \sum_{z: M_{wz} = 0} (M_{xz} - e^\varepsilon M_{x'z})_+,
          \qquad Z_i \sim M_w,

by the argument of the blanket with nothing told beside. Whatever is below it is no δ for ε. The
reader may also look at some of the output only, which gives a smaller δ.

**A linear test of the rows.** All other records are w, and one is x or x'. The file shows n rows of
outputs Z, and the reader adds

.. math:: T = \sum_{i \le n} u(Z_i), \qquad u(z) = \frac{M_{xz} - M_{x'z}}{M_{wz}}.

With an independent normal ξ of standard deviation s he says "x" if :math:`T + \xi > c`. For every
ε and every choice of s and c

.. math:: \delta \ge P(T + \xi > c) - e^\varepsilon P'(T + \xi > c).

If the record is in the file with the chance q alone, as in a secret sample, and w stands there
else, both probabilities are averages with that of w.

Under x the transform of T is :math:`K(z) = K_w(z)^{n-1} K_x(z)`, and with
:math:`z = \theta + it`,
:math:`P(T + \xi > c) = \frac1{2\pi}\int K(z) e^{s^2z^2/2 - cz}/z\, dt`. The trapezoidal rule of
step τ gives :math:`\sum_j e^{-\theta jP} P(T + \xi + jP > c)`, :math:`P = 2\pi/\tau`: it bounds
the probability from above, and from below after the other terms are taken away as in
:mod:`pramble.privacy.hockey_stick`.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.privacy.hockey_stick import (
    NEGLIGIBLE,
    UNIT,
    Contour,
    Summand,
    excess_below,
    rounding,
)
from pramble.values import Floats, value

TRIED = 3
MOST_OUTPUTS = 4096
MOST_SEEN = 12


@value(eq=False)
class Attack:
    """Rows x and x' against a crowd of w, as probabilities of the outputs that are looked at."""

    x: Floats
    other: Floats
    crowd: Floats

    def delta(self, epsilon: float, *, rows: int) -> float:
        """Return a δ below which no mechanism of these rows stays at ε."""
        factor = math.exp(epsilon) * (1 + 4 * UNIT)
        seen = self.crowd > 0
        x, other = self.x[seen] / self.crowd[seen], self.other[seen] / self.crowd[seen]
        largest = max(float(x.max(initial=0.0)), float(other.max(initial=0.0)))
        law = Summand(x - factor * other, self.crowd[seen], rounding(largest, factor))
        alone = np.maximum(self.x[~seen] - factor * self.other[~seen], 0).sum()
        sure = float(alone) - 64 * UNIT * int((~seen).sum()) * (1 + factor)
        return excess_below(law, rows) + max(sure, 0.0)

    def sampled(self, share: float) -> "Attack":
        """Return the same where x, or x', is in the file with this chance, and w else."""
        x, other = ((1 - share) * self.crowd + share * row for row in (self.x, self.other))
        return Attack(x, other, self.crowd)

    def power(self) -> float:
        """Return how far the two rows are apart in this crowd (a guide)."""
        seen = self.crowd > 0
        apart = (self.x - self.other) ** 2
        return float((apart[seen] / self.crowd[seen]).sum()) + 1e6 * float(apart[~seen].sum())


def attacks_on(masses: Floats) -> list[Attack]:
    """Return the most promising attacks among rows of probabilities, both ways round.

    Examples
    --------
    >>> best = attacks_on(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]))[0]
    >>> sorted(best.crowd.tolist())
    [0.1, 0.1, 0.8]
    """
    made: list[Attack] = []
    for w, crowd in enumerate(masses):
        scaled = masses / np.sqrt(np.where(crowd > 0, crowd, 1e-6))
        squares = (scaled**2).sum(axis=1)
        apart = squares[:, None] + squares - 2 * scaled @ scaled.T
        x, y = np.unravel_index(int(apart.argmax()), apart.shape)
        made += [Attack(masses[x], masses[y], masses[w]), Attack(masses[y], masses[x], masses[w])]
    return sorted(made, key=Attack.power, reverse=True)[: 2 * TRIED]


def attacks_together(looks: Sequence[Floats]) -> list[Attack]:
    """Return attacks on independent outputs seen together, as many of them as fit.

    Outputs whose two ratios to the crowd agree to nine digits are not told apart, which the reader
    is free to do. Each of at most twelve outputs rounds twice.

    Examples
    --------
    >>> coin = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> [len(attack.x) for attack in attacks_together([coin] * 3)]
    [4, 4]
    """
    rows = np.ones((3, 1))
    for masses in looks[:MOST_SEEN]:
        best = attacks_on(masses)[0]
        part = np.stack([best.x, best.other, best.crowd])
        grown = merge_alike(np.einsum("ij,ik->ijk", rows, part).reshape(3, -1))
        if grown.shape[1] > MOST_OUTPUTS:
            break
        rows = grown
    return [Attack(rows[0], rows[1], rows[2]), Attack(rows[1], rows[0], rows[2])]


def merge_alike(rows: Floats) -> Floats:
    """Return three rows with the columns added up that are proportional to nine digits."""
    shares = np.round(rows / rows.sum(axis=0), 9)
    _, kind = np.unique(shares, axis=1, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(kind.ravel()))[:-1]
    return np.array([[math.fsum(part) for part in np.split(row[order], ends)] for row in rows])


def attack_delta(attacks: list[Attack], epsilon: float, *, rows: int) -> float:
    """Return the largest δ that one of the attacks proves."""
    return max((attack.delta(epsilon, rows=rows) for attack in attacks), default=0.0)


FINE = 0.01
PERIODS = 14.0
STEEP = 600.0
"""Exponents beyond which no float is taken: the trivial bounds are."""
CUTS, CUTS_WITHIN = 2001, 10.0


@value(eq=False)
class Rows:
    """Rows x, x' and w of a matrix, as probabilities of its outputs, 24 units right."""

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
    """Means of the sum of scores under x, under x' and under w, and its variance."""

    mean: float
    other: float
    crowd: float
    variance: float


class LinearTest:
    """The test of a file of so many rows.

    Parameters
    ----------
    look : Rows
    rows : int
        The number n of records.
    share : float, optional
        The chance q that the record is in the file.
    """

    def __init__(self, look: Rows, *, rows: int, share: float = 1.0) -> None:
        self.look, self.rows, self.share = look, rows, share
        self.scores = look.scores
        self.moments = self.summed()

    def summed(self) -> Moments:
        """Return mean and variance of T."""
        look, u, others = self.look, self.scores, self.rows - 1
        crowd = float(look.crowd @ u)
        variance = self.rows * (float(look.crowd @ u**2) - crowd**2)
        return Moments(
            mean=others * crowd + float(look.x @ u),
            other=others * crowd + float(look.other @ u),
            crowd=self.rows * crowd,
            variance=max(variance, 0.0),
        )

    def sampled(self, share: float) -> "LinearTest":
        """Return the test of a record that is in the file with this chance."""
        return LinearTest(self.look, rows=self.rows, share=share)

    def delta(self, epsilon: float) -> float:
        """Return a δ below which no promise at ε stays, rounded down."""
        found = self.moments
        apart, deviation = found.mean - found.other, math.sqrt(found.variance)
        if apart <= 0 or deviation <= 0:
            return 0.0
        cut = self.cut(epsilon)
        sure, _ = self.beyond(cut, side="x")
        _, false = self.beyond(cut, side="other")
        factor = math.exp(epsilon) * (1 + 4 * UNIT)
        told = self.share * (sure - factor * false)
        if self.share < 1:
            told -= (1 - self.share) * (factor - 1) * self.beyond(cut, side="crowd")[1]
        return max(told, 0.0) * (1 - 1e-12)

    def cut(self, epsilon: float) -> float:
        """Return where the reader says "x"; any choice is valid, this one is nearly the best."""
        found = self.moments
        if self.share == 1:
            apart = found.mean - found.other
            return (found.mean + found.other) / 2 + epsilon * found.variance / apart
        from scipy.special import ndtr

        deviation = math.sqrt(found.variance)
        cuts = found.mean + deviation * np.linspace(-CUTS_WITHIN, CUTS_WITHIN, CUTS)
        x, other, crowd = (
            ndtr((mean - cuts) / deviation) for mean in (found.mean, found.other, found.crowd)
        )
        factor = math.exp(epsilon)
        told = self.share * (x - factor * other) - (1 - self.share) * (factor - 1) * crowd
        return float(cuts[int(told.argmax())])

    @cached_property
    def steepest(self) -> float:
        """The largest score, in absolute value."""
        return float(np.abs(self.scores).max(initial=0.0))

    def beyond(self, cut: float, *, side: str) -> tuple[float, float]:
        """Return bounds of P(T + ξ > cut) under x, under x' or under w."""
        line = self.line(cut, side=side)
        if 2 * line.theta * self.steepest > STEEP:
            return 0.0, 1.0
        total, wrong, height = self.trapezoid(line, cut, side=side)
        scale = math.exp(min(height, 700.0))
        low = (total - wrong) * scale * (1 - 1e-9) - self.periods(line, cut, side=side)
        return max(low, 0.0), (total + wrong) * scale * (1 + 1e-9)

    def line(self, cut: float, *, side: str) -> Contour:
        """Return where the integral is taken; any choice is valid, this one is sharp."""
        found = self.moments
        deviation = math.sqrt(found.variance)
        mean = {"x": found.mean, "other": found.other, "crowd": found.crowd}[side]
        theta = max((cut - mean) / found.variance, 0.5 / deviation)
        step = 2 * math.pi / max(PERIODS * deviation, (NEGLIGIBLE + 8) / theta)
        end = math.sqrt(2 * NEGLIGIBLE + 8) / (FINE * deviation)
        return Contour(theta, FINE * deviation, step, math.ceil(end / step))

    def trapezoid(self, line: Contour, cut: float, *, side: str) -> tuple[float, float, float]:
        """Return the sum over all frequencies, how far it may be off, and log of their unit."""
        t = line.step * np.arange(line.points + 1, dtype=np.float64)
        z = line.theta + 1j * t
        logs, off = self.log_transform(z, side=side)
        damp = (line.spread * z) ** 2 / 2 - cut * z
        height = float((logs[0] + damp[0]).real)
        twice = np.where(t > 0, 2.0, 1.0) * (line.step / (2 * math.pi))
        total = float(twice @ (np.exp(logs + damp - height) / z).real)
        size = np.exp(np.minimum((logs + damp).real - height, 50.0)) / np.abs(z)
        off = off + 32 * UNIT * (1 + np.abs(logs) + np.abs(damp) + line.points)
        end = line.step * line.points
        wrong = float(twice @ (size * np.expm1(np.minimum(off, 50.0))))
        return total, wrong + math.exp(-((line.spread * end) ** 2) / 2) / (math.pi * end), height

    def periods(self, line: Contour, cut: float, *, side: str) -> float:
        """Return a bound of the periods j ≠ 0 of the trapezoidal rule."""
        theta, period = line.theta, 2 * math.pi / line.step
        ratio = math.exp(-theta * period)
        logs, _ = self.log_transform(np.array([complex(2 * theta)]), side=side)
        steeper = float(logs[0].real) + (2 * line.spread * theta) ** 2 / 2 - 2 * cut * theta
        before = math.exp(min(steeper - theta * period, 700.0)) * 2
        return (ratio + before) / (1 - ratio)

    def log_transform(
        self, z: NDArray[np.complexfloating[Any, Any]], *, side: str
    ) -> tuple[NDArray[np.complex128], Floats]:
        """Return log E exp(zT), and how far each value may be off."""
        logs, off = np.zeros(len(z), dtype=np.complex128), np.zeros(len(z))
        u, look = self.scores, self.look
        raised = np.exp(np.multiply.outer(z, u))
        unit = UNIT * (len(u) + 48 + 8 * np.abs(z) * self.steepest)
        own = {"x": look.x, "other": look.other, "crowd": look.crowd}[side]
        for masses, rows in ((look.crowd, self.rows - 1), (own, 1)):
            found = raised @ masses
            size = float(np.exp(z[0].real * u) @ masses) + 1
            logs += rows * np.log(np.where(found == 0, 1e-300, found))
            least = np.maximum(np.abs(found), 1e-300)
            off += rows * np.log1p(np.minimum(unit * size / least, 1e6))
        return logs, off

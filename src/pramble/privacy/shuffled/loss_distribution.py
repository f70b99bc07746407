r"""Laws of the privacy loss that dominate a mechanism, and their sums.

Let :math:`f(a) = \sup_E P(E) - a P'(E)` be the curve of two neighbouring files, with
:math:`f(e^\varepsilon) \le \delta(\varepsilon)`, and :math:`\delta` the same with the files
exchanged. Then :math:`f` is convex, :math:`f(0) = 1`, and
:math:`f(a) \le 1 - a + a\,\delta(-\log a)` for :math:`a < 1`.

**A law on a grid.** The lower convex hull g of the points :math:`(e^{ih}, f_i)` with proven
:math:`f_i \ge f(e^{ih})` lies above :math:`f`: it is the largest convex function below the chords,
and f is convex and below them ("connect the dots", Doroshenko, Ghazi, Kamath, Kumar and Manurangsi
2022). It is the curve of a pair of laws whose loss :math:`L = \log P/P'` takes the values
:math:`ih`, where g has kinks, and infinity, with :math:`P(L = \log a) = a\,\Delta g'(a)`; by
symmetry :math:`P(L = -\ell) = e^{-\ell} P(L = \ell)`.

**Sums.** If each of several releases is dominated by such a pair, all of them together are
dominated by the pair of independent draws, whose loss is the sum (Zhu, Dong and Wang 2022), and

.. math:: \delta(\varepsilon) = E\left[1 - e^{\varepsilon - L}\right]_+ .

The sum's law is found by one Fourier transform of the laws *tilted* by :math:`e^{\theta L}`, so
that errors are small beside :math:`\delta` itself, however small. All masses are rounded up: a
larger measure dominates.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pramble.privacy.shuffled.hockey_stick import UNIT, Curve, smallest_epsilon
from pramble.values import Floats, value

SAFE = 1e-12
STEEPEST = 200.0


@value(eq=False)
class Losses:
    """The loss of a dominating pair on the grid of multiples of a step.

    Attributes
    ----------
    step : float
    masses : (2m + 1,) array
        Probabilities of −m…m steps, rounded up.
    never : float
        Probability of an infinite loss, rounded up.
    """

    step: float
    masses: Floats
    never: float

    @property
    def reach(self) -> int:
        """The largest loss in steps."""
        return len(self.masses) // 2

    @cached_property
    def values(self) -> Floats:
        return np.asarray(self.step * np.arange(-self.reach, self.reach + 1), dtype=np.float64)

    def tilted(self, theta: float) -> tuple[Floats, float]:
        """Return the masses times e^{θL}, of sum one, and the logarithm of what they summed to."""
        exponent = theta * self.values
        most = float(exponent.max())
        raised = self.masses * np.exp(exponent - most)
        total = float(raised.sum())
        return raised / total, math.log(total) + most


def dominating(curve: Curve, *, step: float, top: float) -> Losses:
    """Return losses that dominate every pair of files with this curve, up to the loss ``top``.

    Examples
    --------
    >>> half = dominating(lambda e: max((math.exp(1) - math.exp(e)) / (1 + math.exp(1)), 0.0),
    ...                   step=0.125, top=1.0)
    >>> half.masses[[0, -1]].round(4).tolist(), half.never
    ([0.2689, 0.7311], 0.0)
    """
    m = max(math.ceil(top / step * (1 - 1e-12)), 1)
    deltas = np.array([min(curve(i * step), 1.0) for i in range(m + 1)])
    kinks = hull(deltas, step)
    masses = positive_masses(deltas, kinks, step)
    never = float(deltas[m])
    grown = shortfall(deltas, kinks, masses, never=never, step=step)
    if math.isinf(grown):
        masses, never, grown = np.zeros(m + 1), float(deltas[0]), 0.0
    masses *= 1 + grown
    mirrored = masses[1:] * np.exp(-step * np.arange(1, m + 1)) * (1 + SAFE)
    rest = max(1 - float(never + masses[1:].sum() + mirrored.sum()), 0.0) + SAFE
    return Losses(step, np.concatenate([mirrored[::-1], [rest], masses[1:]]), never)


def hull(deltas: Floats, step: float) -> list[int]:
    """Return the places from zero on that are corners of the lower hull of the symmetric curve."""
    m = len(deltas) - 1
    a = np.exp(step * np.arange(-m, m + 1))
    heights = np.concatenate([1 - a[:m] + a[:m] * deltas[:0:-1], deltas])
    corners: list[int] = []
    for i in range(2 * m + 1):
        while len(corners) > 1 and not is_below(a, heights, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    return [i - m for i in corners if i >= m]


def is_below(a: Floats, heights: Floats, first: int, middle: int, last: int) -> bool:
    """Whether the middle point is below the chord of the other two."""
    rise = (heights[last] - heights[first]) * (a[middle] - a[first])
    return bool(heights[middle] - heights[first] < rise / (a[last] - a[first]))


def positive_masses(deltas: Floats, kinks: Sequence[int], step: float) -> Floats:
    """Return P(L = i steps) from the kinks of the curve, i > 0; nothing at zero."""
    masses = np.zeros(len(deltas))
    a = np.exp(step * np.array(kinks))
    slopes = [*(np.diff(deltas[list(kinks)]) / np.diff(a)).tolist(), 0.0]
    before = None
    for place, x, slope in zip(kinks, a.tolist(), slopes, strict=True):
        if place > 0:
            if before is None:  # the chord from the mirror image of the first kink
                mirror = 1 - 1 / x + deltas[place] / x
                before = (deltas[place] - mirror) / (x - 1 / x)
            masses[place] = max(x * (slope - before), 0.0)
        before = slope
    return masses


def shortfall(
    deltas: Floats, kinks: Sequence[int], masses: Floats, *, never: float, step: float
) -> float:
    """Return by what part the masses must grow so that their curve is above at every kink.

    It is infinite where no growth helps.
    """
    places = np.flatnonzero(masses)
    worst = 0.0
    for place in kinks:
        beyond = places[places > place]
        found = never + float(masses[beyond] @ -np.expm1(-step * (beyond - place)))
        short = float(deltas[place]) * (1 + SAFE) - found
        if short > 0 and deltas[place] > never:
            worst = max(worst, short / (found - never) if found > never else math.inf)
    return worst * (1 + SAFE) + SAFE


def pure(epsilon: float, *, step: float) -> Losses:
    """Return the losses of any mechanism that is ε-differentially private.

    Examples
    --------
    >>> pure(0.5, step=0.25).reach
    2
    """
    both = 1 + math.exp(epsilon)
    top = math.ceil(epsilon / step * (1 - 1e-12)) * step

    def curve(at: float) -> float:
        return 0.0 if at >= epsilon else (math.exp(epsilon) - math.exp(at)) / both * (1 + SAFE)

    return dominating(curve, step=step, top=max(top, step))


def approximate(epsilon: float, delta: float, *, step: float) -> Losses:
    """Return the losses of any mechanism that is (ε, δ)-differentially private."""
    exact = pure(epsilon, step=step)
    grown = exact.masses * max(1 - delta, 0.0) * (1 + SAFE)
    return Losses(step, grown, delta)


@value(eq=False)
class LossSum:
    """The sum of independent losses on one grid."""

    parts: tuple[Losses, ...]

    @property
    def step(self) -> float:
        """The grid's step."""
        return self.parts[0].step

    @property
    def never(self) -> float:
        """Probability of an infinite loss, rounded up."""
        return min(sum(part.never for part in self.parts) * (1 + SAFE), 1.0)

    @property
    def reach(self) -> int:
        """The largest loss in steps."""
        return sum(part.reach for part in self.parts)

    def steepness(self, epsilon: float) -> float:
        r"""Return θ that nearly minimises :math:`\log E e^{\theta L} - \theta\varepsilon`."""
        low, high = 0.0, STEEPEST / max(self.step * max(p.reach for p in self.parts), 1e-300)
        for _ in range(40):
            theta = (low + high) / 2
            mean = 0.0
            for part in self.distinct:
                masses, _ = part[0].tilted(theta)
                mean += part[1] * float(masses @ part[0].values)
            low, high = (theta, high) if mean < epsilon else (low, theta)
        return low

    @cached_property
    def distinct(self) -> list[tuple[Losses, int]]:
        """Each part once, with how often it stands."""
        times: dict[int, int] = {}
        for part in self.parts:
            times[id(part)] = times.get(id(part), 0) + 1
        known = {id(part): part for part in self.parts}
        return [(known[key], number) for key, number in times.items()]

    def delta(self, epsilon: float) -> float:
        """Return δ at ε, rounded up."""
        if epsilon >= self.reach * self.step * (1 + SAFE):
            return self.never
        theta = self.steepness(epsilon)
        law, height, wrong = self.tilted_sum(theta)
        losses = self.step * np.arange(-self.reach, self.reach + 1)
        slack = SAFE * (1 + abs(epsilon)) + 8 * UNIT * self.reach * self.step
        above = losses > epsilon - slack
        excess = -np.expm1(epsilon - slack - losses[above])
        weights = np.exp(-theta * (losses[above] - epsilon)) * excess
        found = float(np.maximum(law[above], 0.0) @ weights) + wrong
        scale = math.exp(min(height - theta * epsilon, 700.0)) * (1 + 1e-9)
        return min(found * scale + self.never, 1.0)

    def tilted_sum(self, theta: float) -> tuple[Floats, float, float]:
        r"""Return the tilted law of the sum, the logarithm of its total, and how far it may be off.

        A transform of N points is off by at most :math:`16 \cdot 2^{-52} \log_2 N` of its norm.
        """
        size = 1 << (2 * self.reach).bit_length()
        whole = np.ones(size // 2 + 1, dtype=np.complex128)
        height = wrong = 0.0
        off = 16 * UNIT * math.log2(size) * math.sqrt(size)
        for part, times in self.distinct:
            masses, own = part.tilted(theta)
            whole *= np.fft.rfft(masses, size) ** times
            height += times * own
            wrong += times * (off * float(np.linalg.norm(masses)) + 8 * UNIT)
        law = np.fft.irfft(whole, size)[: 2 * self.reach + 1]
        wrong = (wrong + off * float(np.linalg.norm(law)) / math.sqrt(size)) * math.sqrt(size)
        return np.asarray(law), height, wrong

    def epsilon(self, allowed: Curve, *, most: float) -> float:
        """Return the smallest ε whose δ is allowed, infinite if there is none up to ``most``."""
        return smallest_epsilon(
            lambda epsilon: self.delta(epsilon) <= allowed(epsilon), low=0.0, high=most
        )

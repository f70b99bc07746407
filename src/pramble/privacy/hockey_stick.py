r"""The expected excess of a sum of independent values, bounded from both sides.

Let :math:`U` take the value :math:`u_j` with probability :math:`p_j` and 0 otherwise, and let
:math:`S` be the sum of :math:`n` independent copies. Wanted is :math:`E[S]_+ / n`.

**One integral.** With :math:`K(z) = E e^{zU}`, any :math:`\theta > 0`, :math:`c` and an independent
normal :math:`\xi` of variance :math:`s^2`,

.. math:: E[S + c + \xi]_+ = \frac1{2\pi} \int_{-\infty}^{\infty}
          \frac{K(z)^n e^{s^2 z^2/2 + c z}}{z^2}\, dt, \qquad z = \theta + i t,

since :math:`\int_0^\infty y\, e^{-zy}\, dy = z^{-2}`. No lattice is needed.

**Smoothing is safe.** :math:`E[S + c + \xi]_+ \ge E[S]_+` for :math:`c \ge 0` (Jensen), and
:math:`(S - c + \xi)_+ \le S_+ + (\xi - c)_+` gives
:math:`E[S]_+ \ge E[S - c + \xi]_+ - s e^{-c^2/2s^2}`.

**The trapezoidal rule is safe.** With step :math:`\tau` over *all* :math:`t = m\tau` it gives
(Poisson) :math:`\sum_j e^{-\theta j P} E[Y + jP]_+` with :math:`P = 2\pi/\tau` and :math:`Y` the
smoothed sum: terms that are positive, of which :math:`j = 0` is wanted. From below, the others are
taken away: :math:`\sum_{j \ge 1} e^{-\theta jP}(E|Y| + jP)`, and for :math:`j \le -1`, by
:math:`y_+ \le e^{\eta y}/(e\eta)` with :math:`\eta = 2\theta`, a geometric series.

**Truncation.** :math:`|K(z)| \le K(\theta)`, so frequencies above :math:`T` sum to at most
:math:`K(\theta)^n e^{s^2\theta^2/2 + c\theta} e^{-s^2T^2/2}/(\pi T)`.

**Floats.** :math:`K(z)` is a sum of J terms whose absolute values sum to at most
:math:`K(\theta) + 1`; with elementary functions within 4 units in the last place its computed value
is off by at most :math:`e = 2^{-52}(J + 48 + 8|z| \max|u|)(K(\theta) + 1)`, hence
:math:`K^n` by at most :math:`n e (|\hat K| + e)^{n-1}`. These errors are summed beside the terms,
and the values' own rounding is a shift of the whole sum.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramble.values import Floats, frozen

# Twice the unit roundoff: every bound counts errors in it.
UNIT = 2.0**-52
# Of θ times the largest value: its exponential squared is still a float.
LARGEST_EXPONENT = 300.0
# e^-36 is below the rounding of the sum: what is cut off the contour is lost in it.
NEGLIGIBLE = 36.0
# Terms that are held at once, 8 MB of complex numbers.
CHUNK = 2**19
# Standard deviations of the smoothing: the bound is then about a part in 10^4 too large.
FINE = 0.02
# Points of the contour, after which the smoothing is coarser instead.
MOST_POINTS = 2**14
# Exponents of bounds that are as good as zero; their exponential is still a float.
HOPELESS = 500.0
# They find the saddle to a part in a million of 18 decades.
HALVINGS = 26

# δ as a function of ε.
Curve = Callable[[float], float]
# Relative: how near to the least ε a search comes.
TOLERANCE = 1e-4


class Transform(Protocol):
    """The transform E exp(zU) of one law or of several, at complex points."""

    @property
    def terms(self) -> int:
        """How many terms are added up."""

    @property
    def largest(self) -> float:
        """A bound of the absolute values that are multiplied by a point."""

    def __call__(self, z: NDArray[np.complex128], /) -> NDArray[np.complex128]:
        """Return an array of shape (points, laws)."""


@frozen(eq=False)
class Summand:
    """One law: values with probabilities, zero otherwise.

    - ``values``, ``probabilities``: Probabilities are right to 24 units in the last place.
    - ``slack``: How far each value may be off, either way.
    """

    values: Floats
    probabilities: Floats
    slack: float = 0.0

    @property
    def terms(self) -> int:
        return len(self.values)

    @property
    def largest(self) -> float:
        return float(np.abs(self.values).max(initial=0.0))

    def __call__(self, z: NDArray[np.complex128], /) -> NDArray[np.complex128]:
        rest = max(1.0 - float(self.probabilities.sum()), 0.0)
        found = rest + np.exp(np.multiply.outer(z, self.values)) @ self.probabilities
        return np.asarray(found, dtype=np.complex128)[:, None]

    def moments(self, theta: float) -> tuple[float, float, float]:
        """Return log K(θ), and mean and variance of the tilted law."""
        weights = self.probabilities * np.exp(theta * self.values)
        total = max(1.0 - float(self.probabilities.sum()), 0.0) + float(weights.sum())
        mean = float(weights @ self.values) / total
        return math.log(total), mean, float(weights @ self.values**2) / total - mean**2


@frozen
class Contour:
    """Where the integral is taken: tilt θ, spread s of the smoothing, step and number of points."""

    theta: float
    spread: float
    step: float
    points: int


def contour(
    summand: Summand,
    trials: int,
    *,
    smoothing: float,
    depth: float = 0.0,
    most: int = MOST_POINTS,
    steepest: float = math.inf,
) -> Contour:
    """Return the line through the saddle point, and how finely it is cut.

    Any choice is valid; this one makes the bounds sharp. ``smoothing`` is the spread of the added
    noise in standard deviations of the sum; ``depth`` makes other periods smaller by so many
    exponents; where more than ``most`` points were needed the smoothing is coarser; θ is at most
    ``steepest``.
    """
    theta = min(saddle(summand, trials), steepest)
    deviation = math.sqrt(trials * max(summand.moments(theta)[2], 1e-12 * summand.largest**2))
    period = max(14 * deviation, (NEGLIGIBLE + 8 + depth) / theta)
    step = 2 * math.pi / period
    end = min(math.sqrt(2 * NEGLIGIBLE + 8) / (smoothing * deviation), most * step)
    spread = math.sqrt(2 * NEGLIGIBLE + 8) / end
    return Contour(theta, spread, step, math.ceil(end / step))


def saddle(summand: Summand, trials: int) -> float:
    """Return θ that nearly minimises K(θ)^n / θ², by bisection of the logarithm's derivative."""
    high = LARGEST_EXPONENT / summand.largest
    low = high * 1e-18
    for _ in range(HALVINGS):
        theta = math.sqrt(low * high)
        if trials * summand.moments(theta)[1] * theta < 2:
            low = theta
        else:
            high = theta
    return low


def excess_above(summand: Summand, trials: int, *, smoothing: float = FINE) -> float:
    r"""Return an upper bound of :math:`E[S]_+/n`."""
    if not summand.terms or summand.values.max() + summand.slack <= 0:
        return 0.0
    if not summand.largest:  # no value but zero, to within its rounding
        return summand.slack * (1 + UNIT)
    line = contour(summand, trials, smoothing=smoothing)
    height = summand.moments(line.theta)[0] + summand.slack * line.theta
    if trials * height < -HOPELESS:
        return math.exp(-HOPELESS / 2) * (1 + 1 / (line.theta * trials))
    above, _ = integrate(summand, trials, line, shift=trials * summand.slack)
    return float(above[0])


def excess_below(summand: Summand, trials: int, *, smoothing: float = FINE / 8) -> float:
    r"""Return a lower bound of :math:`E[S]_+/n`, at least 0."""
    if not summand.terms or summand.values.max() - summand.slack <= 0:
        return 0.0
    depth = -min(trials * summand.moments(saddle(summand, trials))[0], 0.0)
    if depth > HOPELESS:
        return 0.0
    line = contour(summand, trials, smoothing=smoothing, depth=depth)
    spread, depth = line.spread, NEGLIGIBLE + depth
    shift = -spread * math.sqrt(2 * depth) - trials * summand.slack
    _, below = integrate(summand, trials, line, shift=shift)
    lost = spread * math.exp(-depth * (1 - 1e-9)) + periods(summand, trials, line, shift=shift)
    return max(0.0, (float(below[0]) - lost * (1 + 1e-9) / trials) * (1 - 1e-12))


def periods(summand: Summand, trials: int, line: Contour, *, shift: float) -> float:
    """Return a bound of the periods j ≠ 0 of the trapezoidal rule."""
    theta, period = line.theta, 2 * math.pi / line.step
    _, mean, variance = summand.moments(0.0)
    typical = math.hypot(trials * mean + shift, math.sqrt(trials * max(variance, 0.0)), line.spread)
    ratio = math.exp(-theta * period)
    after = ratio * (1.001 * typical + period) / (1 - ratio) ** 2
    steeper = 2 * theta
    exponent = (
        trials * summand.moments(steeper)[0] + (line.spread * steeper) ** 2 / 2 + shift * steeper
    )
    exponent += 64 * UNIT * (trials + abs(exponent)) - theta * period
    before = math.exp(min(exponent, 700.0)) / (math.e * steeper) / (1 - ratio)
    return after + (before if exponent < 700 else math.inf)


def integrate(
    transform: Transform, trials: int, line: Contour, *, shift: float
) -> tuple[Floats, Floats]:
    r"""Return bounds from above and below of the sum over all frequencies, by n, for each law.

    Terms are in units of :math:`B^n e^{s^2\theta^2/2 + c\theta}` with :math:`B \ge K(\theta)`.
    """
    theta, s = line.theta, line.spread
    base = transform(np.array([complex(theta)]))[0].real
    peak = base + UNIT * (transform.terms + 48 + 8 * theta * transform.largest) * (base + 1)
    total, wrong = np.zeros_like(base), np.zeros_like(base)
    size = max(1, CHUNK // max(transform.terms, len(base)))
    for start in range(0, line.points + 1, size):
        t = line.step * np.arange(start, min(start + size, line.points + 1), dtype=np.float64)
        terms, errors = at_frequencies(transform, trials, line, shift=shift, t=t, peak=peak)
        twice = np.where(t > 0, 2.0, 1.0) * (line.step / (2 * math.pi))
        total += twice @ terms
        wrong += twice @ errors
    end = line.step * line.points
    wrong = wrong * (1 + 1e-9) + math.exp(-((s * end) ** 2) / 2) * (1 + 1e-9) / (math.pi * end)
    exponent = trials * np.log(peak) + (s * theta) ** 2 / 2 + shift * theta
    slack = 32 * UNIT * (trials + np.abs(exponent))
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.maximum(total + wrong, 0) * np.exp(exponent + slack) * (1 + 1e-12) / trials
    below = np.maximum(total - wrong, 0) * np.exp(np.minimum(exponent - slack, 700.0)) / trials
    return np.where(np.isnan(above), np.inf, above), below


def at_frequencies(
    transform: Transform, trials: int, line: Contour, *, shift: float, t: Floats, peak: Floats
) -> tuple[Floats, Floats]:
    """Return the real parts of the terms and bounds of their errors, in units of the peak."""
    z = np.asarray(line.theta + 1j * t, dtype=np.complex128)
    found = transform(z)
    found[found == 0] = 1e-300  # its logarithm is needed; the error bound covers the rest
    unit = UNIT * (transform.terms + 48 + 8 * np.abs(z) * transform.largest)
    off = unit[:, None] * (peak + 1)
    damp = (-((line.spread * t) ** 2) / 2)[:, None]
    turn = 1j * t * (shift + line.spread**2 * line.theta)
    exponent = trials * (np.log(found) - np.log(peak)) + damp + turn[:, None]
    terms = (np.exp(exponent) / (z**2)[:, None]).real
    grown = (trials - 1) * np.log((np.abs(found) + off) / peak) + damp + 32 * UNIT * trials
    powers = trials * off / peak * np.exp(grown)
    powers += 32 * UNIT * np.exp(exponent.real) * (trials + np.abs(exponent) + line.points)
    return terms, powers / (np.abs(z) ** 2)[:, None]


def smallest_epsilon(
    enough: Callable[[float], bool], *, low: float, most: float, step: float
) -> float:
    """Return an ε from low on that is enough, near the least; infinite if none up to most is.

    The bracket grows from below, each step twice the last: at the upper end a bound may have lost
    all that it proves lower down.

    Examples
    --------
    >>> near = smallest_epsilon(lambda e: 0.5 <= e < 3, low=0.0, most=40.0, step=0.01)
    >>> 0.5 <= near < 0.5001
    True
    """
    if enough(low):
        return low
    high = min(low + step, most)
    while not enough(high):
        if high >= most:
            return math.inf
        low, step = high, 2 * step
        high = min(low + step, most)
    while high - low > TOLERANCE * high and high > TOLERANCE**3:
        middle = math.sqrt(low * high) if low > high / 1e3 else high / 30
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def factor_below(epsilon: float) -> float:
    r"""Return a float at most :math:`e^\varepsilon`."""
    return math.exp(epsilon) * (1 - 4 * UNIT)


def rounding(largest: float, factor: float) -> float:
    """Return how far a difference of two ratios, computed in floats, may be off."""
    return 64 * UNIT * largest * (1 + factor)

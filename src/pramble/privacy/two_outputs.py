r"""Mechanisms with two outputs: the exact promise of a shuffled file, for any rows of a person.

A reader of the file sees how many records came out as the second output. The largest and the
smallest probability of it decide, :math:`h \ge l`; the proof, and that of the cells by which many
rows are covered, is :ref:`here <proof-two-outputs>`. There is nothing to search: ε at a given δ is
the logarithm of a largest ratio.

**Floats.** Masses of a binomial are multiplied up from its mode by their ratios, each right to 4
units in the last place, and divided by their sum; a window loses at most :math:`2e^{-L}`
(Bernstein). Sums of positive masses keep their relative error. Long ones are convolved by Fourier
transforms, which adds an absolute error of at most :math:`16 \log_2 N` units for each transform,
in norms. Odds of h and l are moved apart by more than they round, which can only reveal more.
"""

import math
from collections.abc import Iterator

import numpy as np

from pramble.privacy.hockey_stick import UNIT
from pramble.values import Floats, frozen

# Cells that cover all a: one costs a share 1/(2 CELLS) of ε.
CELLS = 200
# Rows beyond which the others are revealed: the time grows with the square root.
MOST_ROWS = 10**7
# Exponents that a window goes beyond δ, and at most beyond δ e^-ε.
DEPTH, DEEPEST = 12.0, 25.0
# Products of masses up to which sums are multiplied out, and keep their relative error.
DIRECT = 2**22
# Units by which probabilities may be off: those of a crowd by 24, twice, and a division.
OFF = 64 * UNIT


@frozen(eq=False)
class Tails:
    """Tail probabilities of two files' counts, the likelier and the less likely, at all thresholds.

    - ``wrong``, ``lost``: How far they may be off, of themselves and in all.
    """

    more: Floats
    less: Floats
    wrong: float
    lost: float

    def delta(self, epsilon: float, *, up: bool = True) -> float:
        """Return δ at ε, rounded up, or down as an attack."""
        wrong, lost = (self.wrong, self.lost) if up else (-self.wrong, -self.lost)
        factor = math.exp(min(epsilon, 700.0)) * (1 - wrong)
        excess = float((self.more * (1 + wrong) - factor * self.less).max())
        return max(excess + (1 + factor) * lost, 0.0)

    def epsilon(self, delta: float, *, up: bool = True) -> float:
        """Return ε at δ, rounded up, or down as an attack; infinite where nothing is below."""
        wrong, lost = (self.wrong, self.lost) if up else (-self.wrong, -self.lost)
        more = self.more * (1 + wrong) + lost - delta
        less = np.maximum(self.less - lost, 0) * (1 - wrong)
        if not (more > 0).any():
            return 0.0
        with np.errstate(divide="ignore"):
            found = float(np.log(more[more > 0] / less[more > 0]).max())
        sign = 1 if up else -1
        return max(found * (1 + sign * 4 * UNIT) + sign * 8 * UNIT, 0.0)


@frozen
class TwoOutputs:
    """The least and the largest odds of the second output, and the rows of a file and a person."""

    low: float
    high: float
    rows: int
    people: int

    @staticmethod
    def of(masses: Floats, *, rows: int, people: int, outward: bool = True) -> "TwoOutputs | None":
        """Return the range of a matrix with two columns, rounded outward or inward."""
        if masses.shape[1] != 2:
            return None
        with np.errstate(divide="ignore"):
            odds = masses[:, 1] / masses[:, 0]
        off = OFF if outward else -OFF
        low, high = float(odds.min()) * (1 - off), float(odds.max()) * (1 + off)
        return TwoOutputs(low, high, rows, min(people, rows))

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yield how many of the others are at h and at l, so that every file is in some cell."""
        others = min(self.rows, max(MOST_ROWS, self.people)) - self.people
        width = others // CELLS
        for high in range(0, others - width, width + 1):
            yield high, others - width - high
        yield others - width, 0

    def tails(self, high: int, low: int, depth: float) -> tuple[Tails, Tails]:
        """Return the tails of the counts with so many others at h and l, both ways round."""
        k = self.people
        one = binomial_sum(high + k, self.high, low, self.low, depth=depth)
        two = binomial_sum(high, self.high, low + k, self.low, depth=depth)
        start = min(one.start, two.start)
        size = max(one.start + len(one.masses), two.start + len(two.masses)) - start
        more, less = one.over(start, size), two.over(start, size)
        wrong, lost = 16 * UNIT * (size + 16), one.lost + two.lost
        above = Tails(rising(more[::-1]), rising(less[::-1]), wrong, lost)
        return above, Tails(rising(less), rising(more), wrong, lost)

    def depth(self, delta: float) -> float:
        """Return the exponent of what windows may lose at δ."""
        spread = math.log(self.high / self.low) if self.low and self.high < math.inf else math.inf
        return DEPTH - math.log(max(delta, 1e-300)) + min(self.people * spread, DEEPEST)

    def delta(self, epsilon: float) -> float:
        """Return δ at ε for the worst two files, rounded up."""
        depth = self.depth(UNIT)
        return min(
            max(one.delta(epsilon) for cell in self.cells() for one in self.tails(*cell, depth)),
            1.0,
        )

    def epsilon(self, delta: float) -> float:
        """Return ε at δ for the worst two files, rounded up."""
        depth = self.depth(delta)
        return max(one.epsilon(delta) for cell in self.cells() for one in self.tails(*cell, depth))


@frozen(eq=False)
class Counts:
    """The distribution of a count from ``start`` on, and what it may have lost."""

    start: int
    masses: Floats
    lost: float

    def over(self, start: int, size: int) -> Floats:
        found = np.zeros(size)
        found[self.start - start : self.start - start + len(self.masses)] = self.masses
        return found


def binomial_sum(m: int, odds: float, m2: int, odds2: float, *, depth: float) -> Counts:
    """Return the distribution of the sum of two binomial counts."""
    (start, one), (start2, two) = (binomial(*of, depth=depth) for of in ((m, odds), (m2, odds2)))
    lost = 4 * math.exp(-depth)
    if len(one) * len(two) <= DIRECT:
        return Counts(start + start2, np.convolve(one, two), lost)
    total = len(one) + len(two) - 1
    size = 1 << (total - 1).bit_length()
    masses = np.maximum(np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(two, size), size), 0)
    norms = float(np.linalg.norm(one) * np.linalg.norm(two))
    # three transforms, and sums over the whole length
    off = 64 * UNIT * math.log2(size) * norms * math.sqrt(total)
    return Counts(start + start2, masses[:total], lost + off)


def binomial(trials: int, odds: float, *, depth: float) -> tuple[int, Floats]:
    r"""Return a window of a binomial distribution that loses at most :math:`2e^{-depth}`."""
    if not trials or not odds or math.isinf(odds):
        return (trials if math.isinf(odds) else 0), np.ones(1)
    mean = trials * (odds / (1 + odds))
    reach = depth / 3 + math.sqrt((depth / 3) ** 2 + 2 * depth * mean / (1 + odds)) + 2
    first, last = max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), trials)
    mode = min(max(round(mean), first), last)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    above = np.cumprod((trials - up) / (up + 1) * odds)
    below = np.cumprod(down / ((trials - down + 1) * odds))
    masses = np.concatenate([below[::-1], [1.0], above])
    return first, masses / masses.sum()


def rising(masses: Floats) -> Floats:
    return np.asarray(np.cumsum(masses))

r"""Attacks on a shuffled file: no proof can go below what they reach.

**One pair in one crowd, exactly.** If every other record is w, the released rows are n draws of
which one is from :math:`M_x` or :math:`M_{x'}`, the others from :math:`M_w`, in random order. The
best event then has exactly

.. math:: \frac1n\, E\Big[\sum_{i \le n} \frac{M_{xZ_i} - e^\varepsilon M_{x'Z_i}}{M_{wZ_i}}\Big]_+
          + \sum_{z: M_{wz} = 0} (M_{xz} - e^\varepsilon M_{x'z})_+,
          \qquad Z_i \sim M_w,

by the argument of the blanket with nothing told beside. Whatever is below it is no δ for ε. The
reader may also look at some of the output only, which gives a smaller δ.

**All rows of a person at once.** The reader may give every output a whole number for its score and
look at their sum modulo N, so that one Fourier transform of N points has its distribution, whatever
the person's k rows: both files' are :math:`\hat w^{n-k} \hat x^k` and
:math:`\hat w^{n-k} \hat x'^k`, and every threshold is an attack.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramble.privacy.hockey_stick import UNIT, Summand, excess_below, rounding
from pramble.privacy.two_outputs import Tails, rising
from pramble.values import Floats, frozen

# Crowds that are tried, both ways round.
TRIED = 3
# Rows up to which all rows of a person are attacked, and the finest score of an output.
LARGEST_SEEN, FINEST = 10**7, 8
# Outputs seen together, and how many releases they come from: each rounds twice.
MOST_OUTPUTS = 4096
MOST_SEEN = 12


@frozen(eq=False)
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
        summand = Summand(x - factor * other, self.crowd[seen], rounding(largest, factor))
        alone = np.maximum(self.x[~seen] - factor * self.other[~seen], 0).sum()
        sure = float(alone) - 64 * UNIT * int((~seen).sum()) * (1 + factor)
        return excess_below(summand, rows) + max(sure, 0.0)

    def tails(self, *, rows: int, people: int) -> Tails:
        """Return the tails of the sum of scores, all rows of a person being x or x'."""
        scores = self.scores()
        levels, kind = np.unique(scores, return_inverse=True)
        rest = np.maximum(1 - np.array([self.x.sum(), self.other.sum(), self.crowd.sum()]), 0)
        x, other, crowd = (np.bincount(kind, own) for own in (self.x, self.other, self.crowd))
        x, other, crowd = np.column_stack([np.stack([x, other, crowd]), rest])
        levels = np.append(levels, 0)
        deviation = math.sqrt(max(float(crowd @ levels**2) - float(crowd @ levels) ** 2, 0.0))
        size = 16 * (math.sqrt(rows) * deviation + FINEST) + 2 * people * float(np.ptp(levels))
        size = 1 << math.ceil(math.log2(size))
        waves = np.zeros((3, size // 2 + 1), dtype=np.complex128)
        for level, *masses in zip(levels.tolist(), x, other, crowd, strict=True):
            # exact remainders of whole turns, so that angles round once
            turns = np.arange(size // 2 + 1) * level % size
            waves += np.multiply.outer(masses, np.exp(turns * (-2j * math.pi / size)))
        middle = (rows - people) * float(crowd @ levels) + people * float(other @ levels)
        others = waves[2] ** (rows - people)
        unit = UNIT * (len(levels) + 60)
        errors = (np.abs(waves[2]) + unit) ** (rows - people - 1) * rows * unit
        lost = 1.5 * float(np.linalg.norm(errors)) * math.exp(2 * rows * unit)
        lost += 128 * UNIT * math.log2(size) * float(np.linalg.norm(others))
        found = []
        for own in waves[:2]:
            sums = np.fft.irfft(others * own**people, size)
            sums = np.roll(sums, size // 2 - round(middle) % size)
            found.append(rising(np.maximum(sums, 0)[::-1]))
        return Tails(found[0], found[1], 16 * UNIT * size, lost)

    def scores(self) -> NDArray[np.int64]:
        """Return whole scores of the outputs, nearly in proportion to what they tell."""
        gaps = self.x - self.other
        values = np.divide(gaps, self.crowd, out=np.zeros_like(gaps), where=self.crowd > 0)
        scores = np.rint(FINEST * values / np.abs(values).max(initial=1e-300)).astype(np.int64)
        return np.asarray(scores // max(int(np.gcd.reduce(scores)), 1))

    def power(self) -> float:
        """Return how far the two rows are apart in this crowd (a guide)."""
        seen = self.crowd > 0
        squared = (self.x - self.other) ** 2
        return float((squared[seen] / self.crowd[seen]).sum()) + 1e6 * float(squared[~seen].sum())


def attacks_on(masses: Floats) -> list[Attack]:
    """Return the most promising attacks among rows of probabilities, both ways round."""
    made: list[Attack] = []
    for w, crowd in enumerate(masses):
        # An output that w never has gives a record away: it counts as nearly impossible.
        scaled = masses / np.sqrt(np.where(crowd > 0, crowd, 1e-6))
        squares = (scaled**2).sum(axis=1)
        squared = squares[:, None] + squares - 2 * scaled @ scaled.T
        x, y = np.unravel_index(int(squared.argmax()), squared.shape)
        made += [Attack(masses[x], masses[y], masses[w]), Attack(masses[y], masses[x], masses[w])]
    return sorted(made, key=Attack.power, reverse=True)[: 2 * TRIED]


def attacks_together(seen_rows: Sequence[Floats]) -> list[Attack]:
    """Return attacks on independent outputs seen together, as many of them as fit.

    Outputs whose two ratios to the crowd agree to nine digits are not told apart, which the reader
    is free to do. Each of at most twelve outputs rounds twice.
    """
    rows = np.ones((3, 1))
    for masses in seen_rows[:MOST_SEEN]:
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

r"""What a reader can surely do, so that no smaller δ can be proven.

**One pair in one crowd, exactly.** If every other record is w, the released rows are n draws of
which one is from :math:`M_x` or :math:`M_{x'}`, the others from :math:`M_w`, in random order. The
best event then has exactly

.. math:: \frac1n\, E\Big[\sum_{i \le n} \frac{M_{xZ_i} - e^\varepsilon M_{x'Z_i}}{M_{wZ_i}}\Big]_+
          + \sum_{z: M_{wz} = 0} (M_{xz} - e^\varepsilon M_{x'z})_+,
          \qquad Z_i \sim M_w,

by the argument of the blanket with nothing told beside. Whatever is below it is no δ for ε. The
reader may also look at some of the output only, which gives a smaller δ.
"""

import math
from collections.abc import Sequence

import numpy as np

from pramble.privacy.hockey_stick import UNIT, Summand, excess_below, rounding
from pramble.values import Floats, value

# Crowds that are tried, both ways round.
TRIED = 3
# Outputs seen together, and how many releases they come from: each rounds twice.
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
        summand = Summand(x - factor * other, self.crowd[seen], rounding(largest, factor))
        alone = np.maximum(self.x[~seen] - factor * self.other[~seen], 0).sum()
        sure = float(alone) - 64 * UNIT * int((~seen).sum()) * (1 + factor)
        return excess_below(summand, rows) + max(sure, 0.0)

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

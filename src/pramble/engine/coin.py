r"""The public coin: which branch of a plan treats each record.

The coin has a stream of its own and never looks at the record, so privacy does not hang on it. It
is drawn like every other value, from weights over :math:`2^{53}`: exactly by shares that are
multiples of :math:`2^{-53}`, and otherwise by the nearest weights with the same sum, each within
one unit of its share.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from pramble.data.arrays import Rows, picked
from pramble.engine.keystream import KeyStream
from pramble.engine.sampling import AliasSampler, code_type
from pramble.engine.threads import draw_rows
from pramble.mechanisms.base import TOTAL
from pramble.values import Integers, value

Positions = slice | Integers
"""Where some of the rows at hand stand: all of them as a slice, or an array of places."""


@value(eq=False)
class Coin:
    """The shares of the branches and the bits that choose between them."""

    shares: tuple[Fraction, ...]
    stream: KeyStream
    threads: int = 1

    @cached_property
    def sampler(self) -> AliasSampler:
        """The sampler of the one row of shares."""
        return AliasSampler.of(share_weights(self.shares)[None, :])

    def positions(self, rows: Rows) -> list[Positions]:
        """Return for each branch where its rows stand, in order."""
        if len(self.shares) == 1:
            return [slice(None)]
        none = np.zeros(len(rows), dtype=code_type(len(self.shares)))
        drawn = draw_rows(self.sampler, none, stream=self.stream, rows=rows, threads=self.threads)
        ends = np.bincount(drawn, minlength=len(self.shares)).cumsum()
        return list(np.split(np.argsort(drawn, kind="stable"), ends[:-1]))


def share_weights(shares: Sequence[Fraction]) -> Integers:
    """Return shares as integer weights with sum ``2**53``, rounded by largest remainders.

    >>> share_weights([Fraction(1, 4), Fraction(3, 4)]).tolist() == [2**51, 3 * 2**51]
    True
    >>> int(share_weights([Fraction(1, 3)] * 3).sum()) == 2**53
    True
    """
    scaled = [share * TOTAL for share in shares]
    weights = np.array([int(exact) for exact in scaled], dtype=np.int64)
    remainders = [exact - int(exact) for exact in scaled]
    largest = sorted(range(len(shares)), key=lambda b: remainders[b], reverse=True)
    weights[largest[: TOTAL - int(weights.sum())]] += 1
    return weights


def rows_at(rows: Rows, positions: Positions) -> Rows:
    return rows[positions] if isinstance(positions, slice) else picked(rows, positions)

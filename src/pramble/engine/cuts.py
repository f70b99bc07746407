r"""Where a secret order is cut into pieces, found without holding a row.

Rows are sorted by words that depend on key and row number alone (:mod:`pramble.engine.order`), and
by their numbers where all words agree. The row that begins a piece of :math:`s` rows is the one of
rank :math:`s, 2s, …`. One pass over the numbers of the rows counts them by leading bits of their
words; a second takes the words of the few rows in whose bins a piece begins. A row then belongs to
the piece before whose end it sorts, which can be said of every row by itself.
"""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pramble.engine.order import Words, leading_words, sorting_words
from pramble.values import Integers, value

AT_ONCE = 1 << 22
"""Row numbers that are looked at together."""

MOST_BIN_BITS, ROWS_OF_A_BIN = 20, 64
"""Leading bits to count by, and rows of a bin below which fewer bits do."""


@value(eq=False)
class Cuts:
    """The words and numbers of the rows that begin a piece, but for the first piece."""

    first: NDArray[np.uint64]
    last: NDArray[np.uint32]
    row: Integers

    def pieces(self, words: Words, start: int) -> Integers:
        """Return the pieces of consecutive rows, from their words and the number of the first."""
        first, last = words
        found = np.searchsorted(self.first, first, side="left").astype(np.int64)
        for place in np.flatnonzero(np.isin(first, self.first)).tolist():
            own = (int(first[place]), int(last[place]), start + place)
            while found[place] < len(self.first) and self.at(int(found[place])) <= own:
                found[place] += 1
        return found

    def at(self, cut: int) -> tuple[int, int, int]:
        """Return by what the row that begins a piece is sorted."""
        return int(self.first[cut]), int(self.last[cut]), int(self.row[cut])


def cuts_of(rows: int, size: int, *, key: bytes) -> Cuts:
    """Return the rows at which the secret order of so many rows is cut into pieces of one size.

    >>> cuts = cuts_of(10, 4, key=bytes(32))
    >>> np.bincount(cuts.pieces(sorting_words(range(10), key=bytes(32)), 0)).tolist()
    [4, 4, 2]
    """
    ranks = np.arange(size, rows, size)
    bits = min(max((rows // ROWS_OF_A_BIN).bit_length(), 1), MOST_BIN_BITS)
    shift = np.uint32(32 - bits)
    counts = np.zeros(1 << bits, dtype=np.int64)
    spans = [range(at, min(at + AT_ONCE, rows)) for at in range(0, rows, AT_ONCE)]
    if not len(ranks):
        spans = []
    for span in spans:
        counts += np.bincount(leading_words(span, key=key) >> shift, minlength=1 << bits)
    ends = np.cumsum(counts)
    bins = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(1 << bits, dtype=np.bool_)
    wanted[bins] = True
    chosen = [
        np.flatnonzero(wanted[leading_words(span, key=key) >> shift]) + span.start for span in spans
    ]
    row = np.fromiter(chain.from_iterable(chosen), dtype=np.int64)
    first, last = sorting_words(row, key=key)
    order = np.lexsort((row, last, first))
    before = np.cumsum(np.where(wanted, counts, 0)) - np.where(wanted, counts, 0)
    places = order[before[bins] + ranks - (ends - counts)[bins]]
    return Cuts(first[places], last[places], row[places])

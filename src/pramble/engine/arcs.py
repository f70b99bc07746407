"""Drawing from arcs without a table: two divisions per row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramble.engine.alias import Width
from pramble.engine.sampling import Codes, WordSampler


@dataclass(frozen=True)
class ArcsSampler(WordSampler):
    """Draws a distance from the category's position, then the output at that slot."""

    positions: NDArray[np.int64]
    slots: NDArray[np.int64]
    arc: int
    low: int
    high: int
    raised: int
    width: Width

    def exact(self, codes: Codes, words: Codes, extras: Codes) -> Codes:
        """Return the output that each (code, word, extra) stands for."""
        unit = (words.astype(np.int64) << self.width.extra) | extras
        top = self.raised * (self.high + 1)
        inside = top + (self.arc - self.raised) * self.high
        distance = np.where(
            unit < top,
            unit // (self.high + 1),
            np.where(
                unit < inside,
                self.raised + (unit - top) // max(self.high, 1),
                self.arc + (unit - inside) // self.low,
            ),
        )
        return self.slots[(self.positions[codes] - distance) % len(self.slots)]

    def fast(self, codes: Codes, words: Codes, *, out: Codes, ties: Codes) -> int:
        """Write what words alone decide and list the other rows."""
        out[:] = self.exact(codes, words, np.zeros(len(words), dtype=np.int64))
        last = np.full(len(words), (1 << self.width.extra) - 1, dtype=np.int64)
        tied = np.flatnonzero(self.exact(codes, words, last) != out)
        ties[: len(tied)] = tied
        return len(tied)

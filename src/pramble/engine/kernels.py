"""A compiled loop. Import this module only where many rows are at hand: it loads numba.

The kernel draws what one 32-bit word decides and lists the rows where it does not; those are drawn
with further bits by the sampler's ``exact`` method, which states the same distribution. Widths come
in as arguments, so that tests can run this very kernel over every word of a narrow build.
"""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def draw_alias(
    codes: Any, words: Any, table: Any, index_bits: int, shift: int, out: Any, ties: Any
) -> int:
    """Draw from packed alias cells; return how many rows were tied and list them in ``ties``."""
    found = 0
    up, down = np.uint64(index_bits), np.uint32(shift)
    for i in range(len(codes)):
        word = words[i]
        cell = word >> down  # the top bits name the cell of this row of the table
        entry = table[(np.uint64(codes[i]) << up) | np.uint64(cell)]
        cut = np.uint32(entry >> np.uint64(32))  # the threshold, as a word of the whole line
        out[i] = cell if word < cut else np.uint32(entry)
        if word == cut:  # the threshold lies within this word: further bits must tell the side
            ties[found] = i
            found += 1
    return found

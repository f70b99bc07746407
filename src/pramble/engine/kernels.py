"""Compiled loops. Import this module only where many rows are at hand: it loads numba.

Each kernel draws what one 32-bit word decides and lists the rows where it does not; those are drawn
with further bits by the sampler's ``exact`` method, which states the same distribution. Widths come
in as arguments, so that tests can run these very kernels over every word of a narrow build.
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


@compiled
def draw_uniform(
    codes: Any, words: Any, off: Any, total: int, extra: int, out: Any, ties: Any
) -> int:
    """Draw from uniform rows without a table; return how many rows were tied and list them."""
    found = 0
    others = np.int64(len(off) - 1)
    last = (np.int64(1) << np.int64(extra)) - np.int64(1)
    for i in range(len(codes)):
        x = np.int64(codes[i])
        step = off[x]
        # the word stands for the units lowest, …, lowest + last, counted from the end of keeping
        lowest = (np.int64(words[i]) << np.int64(extra)) - (total - others * step)
        if lowest + last < 0:
            out[i] = x
        elif lowest < 0:  # some of its units keep the value and some do not
            ties[found] = i
            found += 1
        else:
            z = np.int64(np.uint64(lowest) // np.uint64(step))
            if lowest + last >= (z + 1) * step:  # its units reach into the next output
                ties[found] = i
                found += 1
            out[i] = z + 1 if z >= x else z  # the z-th of the outputs other than x
    return found


@compiled
def draw_arc(
    codes: Any, words: Any, circle: Any, stretches: Any, extra: int, out: Any, ties: Any
) -> int:
    """Draw a distance and walk it back on the circle; list and count the rows that were tied."""
    positions, slots = circle
    distances, units, steps = stretches
    found = 0
    last = (np.int64(1) << np.int64(extra)) - np.int64(1)
    for i in range(len(codes)):
        lowest = np.int64(words[i]) << np.int64(extra)  # the word's first unit
        stretch = (1 if lowest >= units[1] else 0) + (1 if lowest >= units[2] else 0)
        step = steps[stretch]
        passed = np.int64(np.uint64(lowest - units[stretch]) // np.uint64(step))
        end = units[stretch] + (passed + 1) * step
        if lowest + last >= end:  # its units reach beyond this slot
            ties[found] = i
            found += 1
        slot = positions[codes[i]] - (distances[stretch] + passed)  # may pass the circle's start
        out[i] = slots[slot + len(slots) if slot < 0 else slot]
    return found


@compiled
def hash_texts(ends: Any, data: Any) -> Any:
    """Return 64 bits for each text, by FNV-1a, from where texts end in some bytes."""
    found = np.empty(len(ends) - 1, np.uint64)
    for i in range(len(found)):
        h = np.uint64(14695981039346656037)
        for j in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(data[j])) * np.uint64(1099511628211)
        found[i] = h
    return found

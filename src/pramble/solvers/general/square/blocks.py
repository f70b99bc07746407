"""Compiled annealing over blocks of a group; imported on first use."""

import numpy as np

from pramble.compiled import compiled
from pramble.values import Floats, Integers

EMPTY = 1e-9


@compiled
def anneal_block(
    order: Integers,
    size: int,
    real: Floats,
    imaginary: Floats,
    picks: Integers,
    luck: Floats,
    heat: float,
) -> float:
    """Swap members ``order[:size]`` for others; return the sum of inverse powers of the best block.

    ``order`` ends as that block. ``picks`` are pairs of a member and another, by place.
    """
    count = real.shape[1]
    re, im = np.zeros(count), np.zeros(count)
    for i in range(size):
        for f in range(count):
            re[f] += real[order[i], f]
            im[f] += imaginary[order[i], f]
    value = 0.0
    for f in range(count):
        value += 1 / max(re[f] * re[f] + im[f] * im[f], EMPTY)
    best, kept = value, order.copy()
    for t in range(len(picks)):
        i, j = picks[t, 0], size + picks[t, 1]
        out, into = order[i], order[j]
        tried = 0.0
        for f in range(count):
            u = re[f] - real[out, f] + real[into, f]
            v = im[f] - imaginary[out, f] + imaginary[into, f]
            tried += 1 / max(u * u + v * v, EMPTY)
        cool = heat * (1 - t / len(picks)) ** 2 + 1e-9
        if tried < value or luck[t] < (value / tried) ** (1 / cool):
            order[i], order[j] = into, out
            for f in range(count):
                re[f] += real[into, f] - real[out, f]
                im[f] += imaginary[into, f] - imaginary[out, f]
            value = tried
            if value < best:
                best = value
                kept[:] = order
    order[:] = kept
    return best

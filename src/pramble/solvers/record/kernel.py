"""Compiled annealing over high sets of a product of cycles; imported on first use."""

import math

import numpy as np
from numpy.typing import NDArray

from pramble.compiled import compiled
from pramble.values import Floats, Integers

TINY = 1e-14


@compiled
def anneal_set(
    inside: NDArray[np.bool_],
    real: Floats,
    imaginary: Floats,
    weights: Floats,
    others: Floats,
    scale: float,
    excess: float,
    moves: Integers,
    luck: Floats,
    heat: float,
) -> float:
    r"""Flip and swap members of a set; return the least :math:`\sum_\chi w_\chi/(y_\chi + x_\chi)`.

    With :math:`x_\chi = c\,|\hat y_\chi|^2 / (k(a-1) + S)^2`, k members of S, c the ``scale``,
    :math:`a - 1` the ``excess``. ``inside`` ends as the best set. ``moves`` are pairs of cells, the
    second -1 for a flip of the first alone.
    """
    cells, count = real.shape
    re, im = np.zeros(count), np.zeros(count)
    members = 0
    for i in range(cells):
        if inside[i]:
            members += 1
            for f in range(count):
                re[f] += real[i, f]
                im[f] += imaginary[i, f]
    factor = scale / (members * excess + cells) ** 2
    value = 0.0
    for f in range(count):
        value += weights[f] / (others[f] + factor * (re[f] ** 2 + im[f] ** 2) + TINY)
    best, retained = value, inside.copy()
    for t in range(len(moves)):
        i, j = moves[t, 0], moves[t, 1]
        one = -1 if inside[i] else 1
        other = -one if j >= 0 and inside[i] != inside[j] else 0
        after = members + one + other
        if after < 1 or after > cells - 1:
            continue
        factor = scale / (after * excess + cells) ** 2
        tried = 0.0
        for f in range(count):
            u, v = re[f] + one * real[i, f], im[f] + one * imaginary[i, f]
            if other != 0:
                u += other * real[j, f]
                v += other * imaginary[j, f]
            tried += weights[f] / (others[f] + factor * (u * u + v * v) + TINY)
        cool = heat * (1 - t / len(moves)) ** 2 + 1e-9
        if tried < value or luck[t] < math.exp((value - tried) / (value + TINY) / cool):
            inside[i] = not inside[i]
            if other != 0:
                inside[j] = not inside[j]
            for f in range(count):
                re[f] += one * real[i, f]
                im[f] += one * imaginary[i, f]
                if other != 0:
                    re[f] += other * real[j, f]
                    im[f] += other * imaginary[j, f]
            members, value = after, tried
            if value < best:
                best = value
                retained[:] = inside
    inside[:] = retained
    return best

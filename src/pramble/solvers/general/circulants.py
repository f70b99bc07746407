r"""Square matrices whose columns are the turns of one high set, around a circle or a torus.

On an abelian group of S elements with characters χ the turns of a block with indicator y have the
singular values :math:`|\hat y_\chi|`, so for flat priors the variance grows with
:math:`\sum_{\chi\ne1} |\hat y_\chi|^{-2}`. Annealing over swaps of one member keeps the transform
up to date in O(S).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.patterns import Sets
from pramble.values import Floats

SWAPS = 12_000
RESTARTS = 2
HEAT = 0.05

Group = tuple[int, int]
"""The orders of the two cycles whose product the group is; the first is 1 for a circle."""


def circulant(block: NDArray[np.bool_]) -> Sets:
    """Return all turns of one high set."""
    return turns(block, (1, len(block)))


def turns(block: NDArray[np.bool_], group: Group) -> Sets:
    """Return all turns of one high set on a torus."""
    m, n = group
    x = np.arange(m * n)
    first = (x[None, :] // n - x[:, None] // n) % m
    second = (x[None, :] % n - x[:, None] % n) % n
    return np.asarray(block[first * n + second])


def random_circulants(size: int, count: int, rng: np.random.Generator) -> Iterator[Sets]:
    """Yield circulants of random blocks of every cardinality, on randomly ordered categories."""
    for t in range(count):
        block = np.zeros(size, dtype=np.bool_)
        block[rng.permutation(size)[: 1 + t % max(size // 2, 1)]] = True
        yield circulant(block)[:, rng.permutation(size)]


def groups(size: int) -> list[Group]:
    """Return the circle, and every torus that is no circle in another order."""
    cycles = (m for m in range(2, math.isqrt(size) + 1) if size % m == 0)
    return [(1, size), *((m, size // m) for m in cycles if math.gcd(m, size // m) > 1)]


def best_turns(size: int, cardinality: int, *, rng: np.random.Generator) -> Sets:
    """Return the turns of the block, of so many members, that annealing finds flattest."""
    from pramble.solvers.general.square.blocks import anneal_block

    best, least = circulant(np.arange(size) < cardinality), math.inf
    for group in groups(size):
        real, imaginary = characters(group)
        for _ in range(RESTARTS):
            order = rng.permutation(size)
            picks = rng.integers(0, [cardinality, size - cardinality], (SWAPS, 2))
            luck = rng.random(SWAPS)
            value = anneal_block(order, cardinality, real, imaginary, picks, luck, HEAT)
            if value < least:
                block = np.zeros(size, dtype=np.bool_)
                block[order[:cardinality]] = True
                best, least = turns(block, group), value
    return best


def characters(group: Group) -> tuple[Floats, Floats]:
    """Return the real and imaginary parts of all characters but the constant one, by element."""
    m, n = group
    x = np.arange(m * n)
    angle = 2 * np.pi * (np.outer(x // n, x // n) / m + np.outer(x % n, x % n) / n)[:, 1:]
    return np.cos(angle), np.sin(angle)

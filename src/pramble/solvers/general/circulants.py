"""Circulants: square matrices whose columns are the turns of one high set."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.patterns import Sets


def circulant(block: NDArray[np.bool_]) -> Sets:
    """Return all turns of one high set."""
    S = len(block)
    return np.asarray(block[(np.arange(S)[None, :] - np.arange(S)[:, None]) % S])


def random_circulants(size: int, count: int, rng: np.random.Generator) -> Iterator[Sets]:
    """Yield circulants of random blocks of every cardinality, on randomly ordered categories."""
    for t in range(count):
        block = np.zeros(size, dtype=np.bool_)
        block[rng.permutation(size)[: 1 + t % max(size // 2, 1)]] = True
        yield circulant(block)[:, rng.permutation(size)]


def best_random_circulant(
    size: int, cardinality: int, *, count: int, rng: np.random.Generator
) -> Sets:
    """Return the circulant whose smallest eigenvalue is largest among random blocks."""
    best, score = np.zeros(size, dtype=np.bool_), -1.0
    for _ in range(count):
        block = np.zeros(size, dtype=np.bool_)
        block[rng.permutation(size)[:cardinality]] = True
        spectrum = np.abs(np.fft.rfft(block.astype(float)))[1:]
        if spectrum.min() == 0:
            continue
        flatness = 1 / (spectrum**-2).mean()
        if flatness > score:
            best, score = block, flatness
    return circulant(best)

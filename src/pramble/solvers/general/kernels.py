"""What compiled kernels share; imported on first use, for numba is slow to import."""

import math

from pramble.compiled import compiled


@compiled
def excess(t: float) -> float:
    """Return (1+t)·log(1+t) − t, by its series when t is small."""
    if abs(t) < 1e-3:
        tail = 1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42))
        return t * t * (1 / 2 - t * (1 / 6 - t * tail))
    return (1 + t) * math.log1p(t) - t


@compiled
def gain(mass: float, a1: float, slope: float) -> float:
    """Return φ at one mass; see :class:`~pramble.solvers.general.patterns.Gain`."""
    return slope * mass - excess(a1 * mass)

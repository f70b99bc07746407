r"""Symmetric block designs: S sets of k points, any two of which share λ.

The columns of such a design, high on its blocks, form the flattest square matrix there is. Cyclic
designs are the turns of a difference set D modulo S, in which every non-zero residue is a
difference of two members of D exactly λ = k(k−1)/(S−1) times.

A difference set is looked for among the sets fixed by a multiplier: if a prime t > λ divides k − λ
and not S, some translate of D satisfies tD = D (Hall's multiplier theorem), so D is a union of
orbits of x ↦ tx. Smaller primes are tried too, which finds more than the theorem promises. For
:math:`S = 4^m` the zeros of a quadratic bent function give a design on :math:`(\mathbb Z_2)^{2m}`.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pramble.solvers.general.circulants import circulant
from pramble.solvers.general.patterns import Sets

MOST_POINTS = 260
MOST_TRIES = 20_000


def block_designs(size: int) -> list[Sets]:
    """Return symmetric designs on ``size`` points with their complements; none may be known."""
    found = [np.array(rows, dtype=np.bool_) for rows in _designs(size)]
    return found + [~rows for rows in found]


def known_designs(size: int) -> list[Sets]:
    """Return randomised response and the block designs of this size."""
    return [np.eye(size, dtype=np.bool_), *block_designs(size)]


@lru_cache(maxsize=64)
def _designs(size: int) -> tuple[Sets, ...]:
    designs = []
    for k in range(2, size // 2 + 1):
        if size <= MOST_POINTS and k * (k - 1) % (size - 1) == 0:
            block = difference_set(size, k)
            if block is not None:
                designs.append(circulant(block))
    if size >= 16 and size <= MOST_POINTS and size & (size - 1) == 0 and size.bit_length() % 2:
        designs.append(bent_design(size))
    return tuple(designs)


def difference_set(size: int, k: int) -> NDArray[np.bool_] | None:
    """Return the indicator of a cyclic difference set with k members, or None if none was found."""
    shared = k * (k - 1) // (size - 1)
    for prime in prime_factors(k - shared):
        if size % prime == 0:
            continue
        block = _union_of_orbits(orbits(size, prime), size, k, shared)
        if block is not None:
            return block
    return None


def _union_of_orbits(
    parts: list[list[int]], size: int, k: int, shared: int
) -> NDArray[np.bool_] | None:
    """Search unions of orbits with k members for a difference set, depth first."""
    parts = sorted(parts, key=len, reverse=True)
    left = np.concatenate([np.cumsum([len(part) for part in parts][::-1])[::-1], [0]])
    tries = 0
    stack: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    while stack and tries < MOST_TRIES:
        at, count, chosen = stack.pop()
        tries += 1
        if count == k:
            block = np.zeros(size, dtype=np.bool_)
            block[[x for i in chosen for x in parts[i]]] = True
            if is_difference_set(block, shared):
                return block
            continue
        if at == len(parts) or count + left[at] < k:
            continue
        stack.append((at + 1, count, chosen))
        if count + len(parts[at]) <= k:
            stack.append((at + 1, count + len(parts[at]), (*chosen, at)))
    return None


def is_difference_set(block: NDArray[np.bool_], shared: int) -> bool:
    """Whether every non-zero residue is a difference of two members ``shared`` times."""
    members = np.flatnonzero(block)
    differences = (members[:, None] - members[None, :]) % len(block)
    counts = np.bincount(differences.ravel(), minlength=len(block))
    return bool((counts[1:] == shared).all())


def orbits(size: int, factor: int) -> list[list[int]]:
    """Return the orbits of multiplication by ``factor`` modulo ``size``."""
    seen: set[int] = set()
    found = []
    for x in range(size):
        if x in seen:
            continue
        orbit, y = [], x
        while y not in seen:
            seen.add(y)
            orbit.append(y)
            y = y * factor % size
        found.append(orbit)
    return found


def prime_factors(n: int) -> list[int]:
    """Return the distinct prime factors, largest first."""
    found, d = [], 2
    while n > 1:
        if n % d == 0:
            found.append(d)
            while n % d == 0:
                n //= d
        d += 1
    return found[::-1]


def bent_design(size: int) -> Sets:
    r"""Return the design of :math:`x_1x_2 + x_3x_4 + \dots = 1` on bit strings, turned by XOR."""
    points = np.arange(size)
    bits = (size - 1).bit_length()
    value = np.zeros(size, dtype=np.int64)
    for i in range(0, bits, 2):
        value ^= (points >> i) & (points >> (i + 1)) & 1
    return np.asarray(value[points[:, None] ^ points[None, :]] == 1)

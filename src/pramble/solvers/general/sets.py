r"""Two-valued columns: high sets, what they gain, and the matrix that a mixture of them makes.

A column :math:`\theta s` has a pattern :math:`s \in \{1, a\}^S`, :math:`a = e^\alpha`, which is
high on a set A of categories. Sets are rows of a boolean array.

Square matrices whose columns are the turns of one high set, around a circle or a torus.

On an abelian group of S elements with characters χ the turns of a block with indicator y have the
singular values :math:`|\hat y_\chi|`, so for flat priors the variance grows with
:math:`\sum_{\chi\ne1} |\hat y_\chi|^{-2}`. Annealing over swaps of one member keeps the transform
up to date in O(S).

Symmetric block designs: S sets of k points, any two of which share λ.

The columns of such a design, high on its blocks, form the flattest square matrix there is. Cyclic
designs are the turns of a difference set D modulo S, in which every non-zero residue is a
difference of two members of D exactly λ = k(k−1)/(S−1) times.

A difference set is looked for among the sets fixed by a multiplier: if a prime t > λ divides k − λ
and not S, some translate of D satisfies tD = D (Hall's multiplier theorem), so D is a union of
orbits of x ↦ tx. Smaller primes are tried too, which finds more than the theorem promises. For
:math:`S = 4^m` the zeros of a quadratic bent function give a design on :math:`(\mathbb Z_2)^{2m}`.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.dense import entropy_excess
from pramble.values import Floats

Sets = NDArray[np.bool_]

# How nearly rows must sum to 1 before they are scaled, which moves the ratios of columns.
CLOSE = 1e-7


class Gain:
    r"""The information of a column by the prior mass P of its high set, for one α.

    The column adds :math:`\theta\varphi(p(A))` to the mutual information, with the concave function

    .. math:: \varphi(P) = \alpha a P - (1+(a-1)P)\log(1+(a-1)P)
              = P\,\psi(a-1) - \psi((a-1)P), \qquad \psi(t) = (1+t)\log(1+t) - t.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.a1 = float(np.expm1(alpha))
        self.slope = float(entropy_excess(np.array(self.a1)))

    def __call__(self, mass: Floats) -> Floats:
        return self.slope * mass - entropy_excess(self.a1 * mass)

    def derivative(self, mass: Floats) -> Floats:
        return np.asarray(self.slope - self.a1 * np.log1p(self.a1 * mass))

    def mass_at(self, price: Floats) -> Floats:
        r"""Return the mass where :math:`\varphi' = price`; at least 0, enormous when price ≪ 0."""
        exponent = np.minimum((self.slope - price) / self.a1, 600.0)
        return np.maximum(np.expm1(exponent) / self.a1, 0.0)


def all_sets(size: int) -> Sets:
    return sets_numbered(np.arange(1 << size), size)


def sets_numbered(numbers: NDArray[np.int64], size: int) -> Sets:
    return np.asarray((numbers[:, None] >> np.arange(size)) & 1 == 1)


def two_valued(sets: Sets, a1: float) -> Floats:
    return np.asarray(1 + a1 * sets, dtype=np.float64)


def matrix_of(sets: Sets, theta: Floats, alpha: float) -> Floats:
    """Return the row-stochastic matrix of columns with these high sets and weights."""
    columns = theta[:, None] * np.where(sets, math.exp(alpha), 1.0)
    return np.asarray((columns / columns.sum(axis=0)).T)


def polish_weights(sets: Sets, theta: Floats, gain: Gain) -> Floats:
    r"""Return θ with the equations solved again on these columns, unless that turns one negative.

    So that they stay apart from each other however small α, they are taken as
    :math:`\sum_A \vartheta_A [x \in A] = E` for every x and
    :math:`\sum_A \vartheta_A/a + (1-1/a) E = 1`, with :math:`\vartheta = a\theta`. The step is the
    least relative to each.
    """
    shrink, kappa = math.exp(-gain.alpha), -math.expm1(-gain.alpha)
    T, S = sets.shape
    system = np.zeros((S + 1, T + 1))
    system[:S, :T], system[:S, T] = sets.T, -1.0
    system[S, :T], system[S, T] = shrink, kappa
    system *= np.append(theta / shrink, (1 - theta.sum()) / kappa)
    step = np.linalg.lstsq(system, np.append(np.zeros(S), 1.0) - system.sum(axis=1))[0][:T]
    return np.asarray(theta * (1 + step)) if step.min() > -1 else theta


def trim(sets: Sets, theta: Floats, gain: Gain, *, most: float = 1e-6) -> tuple[Sets, Floats]:
    """Return the columns that matter, with weights that satisfy the equations without the others.

    Left out are those of less than ``most`` times the largest weight. Where the equations have no
    positive solution on few columns, more are kept.
    """
    for least in (most, most * 1e-2, most * 1e-4):
        used = theta > least * theta.max()
        better = polish_weights(sets[used], theta[used], gain)
        if off(sets[used], better, gain) < CLOSE:
            return sets[used], better
    return sets, theta


def off(sets: Sets, theta: Floats, gain: Gain) -> float:
    """Return by how much rows miss 1, relative to a - 1 where that is small."""
    rows = two_valued(sets, gain.a1).T @ theta
    return float(np.abs(rows - 1).max() / min(gain.a1, 1.0))


def response_matrix(size: int, alpha: float) -> Floats:
    a1 = float(np.expm1(alpha))
    return (1 + a1 * np.eye(size)) / (size + a1)


def matrix_information(prior: Floats, matrix: Floats) -> float:
    released = prior @ matrix
    return float(prior @ entropy_excess(matrix / released - 1) @ released)


SWAPS = 12_000
RESTARTS = 2
HEAT = 0.05

# The orders of the two cycles whose product the group is; the first is 1 for a circle.
Group = tuple[int, int]


def circulant(block: NDArray[np.bool_]) -> Sets:
    return turns(block, (1, len(block)))


def turns(block: NDArray[np.bool_], group: Group) -> Sets:
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


def cyclic_groups(size: int) -> list[Group]:
    """Return the circle, and every torus that is no circle in another order."""
    cycles = (m for m in range(2, math.isqrt(size) + 1) if size % m == 0)
    return [(1, size), *((m, size // m) for m in cycles if math.gcd(m, size // m) > 1)]


def best_turns(size: int, cardinality: int, *, rng: np.random.Generator) -> Sets:
    """Return the turns of the block, of so many members, that annealing finds flattest."""
    from pramble.solvers.general.kernels import anneal_block

    best, least = circulant(np.arange(size) < cardinality), math.inf
    for group in cyclic_groups(size):
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


MOST_POINTS = 260
MOST_TRIES = 20_000


def block_designs(size: int) -> list[Sets]:
    """Return symmetric designs on ``size`` points with their complements; none may be known."""
    found = [np.array(rows, dtype=np.bool_) for rows in _designs(size)]
    return found + [~rows for rows in found]


def known_designs(size: int) -> list[Sets]:
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
            # every non-zero residue has to be a difference of two members equally often
            members = np.flatnonzero(block)
            differences = (members[:, None] - members[None, :]) % size
            if (np.bincount(differences.ravel(), minlength=size)[1:] == shared).all():
                return block
            continue
        if at == len(parts) or count + left[at] < k:
            continue
        stack.append((at + 1, count, chosen))
        if count + len(parts[at]) <= k:
            stack.append((at + 1, count + len(parts[at]), (*chosen, at)))
    return None


def orbits(size: int, factor: int) -> list[list[int]]:
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

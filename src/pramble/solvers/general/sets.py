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
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pramble.mechanisms.operators.dense import entropy_excess
from pramble.values import Floats, Integers

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


@dataclass(frozen=True)
class Mixture:
    """Columns by their high sets (rows of ``sets``) and weights θ, with a bound and its prices."""

    sets: Sets
    theta: Floats
    value: float
    bound: float
    prices: Floats
    stopped: str

    def matrix(self, alpha: float) -> Floats:
        return matrix_of(self.sets, self.theta, alpha)


def shares_in_groups(groups: Integers, prior: Floats) -> Floats:
    """Return the share of each category in its group, by mass; alike where there is none."""
    mass, size = np.bincount(groups, weights=prior), np.bincount(groups)
    heavy = mass[groups] > 0
    return np.where(heavy, prior / np.where(mass > 0, mass, 1.0)[groups], 1 / size[groups])


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
        rows = two_valued(sets[used], gain.a1).T @ better
        if np.abs(rows - 1).max() < CLOSE * min(gain.a1, 1.0):
            return sets[used], better
    return sets, theta


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


def best_turns(size: int, cardinality: int, *, rng: np.random.Generator) -> Sets:
    """Return the turns of the block, of so many members, that annealing finds flattest."""
    from pramble.solvers.general.kernels import anneal_block

    best, least = circulant(np.arange(size) < cardinality), math.inf
    # the circle, and every torus that is no circle in another order
    tori = [
        m for m in range(2, math.isqrt(size) + 1) if size % m == 0 and math.gcd(m, size // m) > 1
    ]
    for m, n in ((m, size // m) for m in (1, *tori)):
        x = np.arange(size)
        angle = 2 * np.pi * (np.outer(x // n, x // n) / m + np.outer(x % n, x % n) / n)[:, 1:]
        real, imaginary = np.cos(angle), np.sin(angle)
        for _ in range(RESTARTS):
            order = rng.permutation(size)
            picks = rng.integers(0, [cardinality, size - cardinality], (SWAPS, 2))
            luck = rng.random(SWAPS)
            value = anneal_block(order, cardinality, real, imaginary, picks, luck, HEAT)
            if value < least:
                best, least = turns(np.isin(x, order[:cardinality]), (m, n)), value
    return best


MOST_POINTS = 260
# Unions of orbits that are looked at for one prime: more find no more up to MOST_POINTS.
MOST_TRIES = 6_000


def known_designs(size: int) -> list[Sets]:
    return [np.eye(size, dtype=np.bool_), *block_designs(size)]


@lru_cache(maxsize=64)
def block_designs(size: int) -> tuple[Sets, ...]:
    """Return symmetric designs on ``size`` points with their complements; none may be known."""
    if size > MOST_POINTS:
        return ()
    sizes = [k for k in range(2, size // 2 + 1) if k * (k - 1) % (size - 1) == 0]
    blocks = [block for k in sizes if (block := difference_set(size, k)) is not None]
    found = [circulant(block) for block in blocks]
    if size >= 16 and size & (size - 1) == 0 and size.bit_length() % 2:
        found.append(bent_design(size))
    return (*found, *(~rows for rows in found))


def difference_set(size: int, k: int) -> NDArray[np.bool_] | None:
    """Return the indicator of a cyclic difference set with k members, or None if none was found."""
    shared = k * (k - 1) // (size - 1)
    for prime in prime_factors(k - shared):
        if size % prime == 0:
            continue
        parts = sorted(orbits(size, prime), key=len, reverse=True)
        for chosen in islice(unions(parts, k), MOST_TRIES):
            # every non-zero residue has to be a difference of two members equally often
            members = np.array(chosen)
            differences = (members[:, None] - members) % size
            if (np.bincount(differences.ravel(), minlength=size)[1:] == shared).all():
                return np.isin(np.arange(size), members)
    return None


def unions(parts: list[list[int]], size: int) -> Iterator[list[int]]:
    """Yield the members of the unions of some parts that have so many."""
    if not size:
        yield []
    if sum(map(len, parts)) < size:
        return
    for i, part in enumerate(parts):
        if len(part) <= size:
            for rest in unions(parts[i + 1 :], size - len(part)):
                yield [*part, *rest]


def orbits(size: int, factor: int) -> list[list[int]]:
    left, found = set(range(size)), []
    while left:
        x, orbit = min(left), []
        while x in left:
            left.remove(x)
            orbit.append(x)
            x = x * factor % size
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

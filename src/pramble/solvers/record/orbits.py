r"""Turns of sets around products of cycles: at a uniform prior everything is diagonal.

The categories of column j form a cycle of :math:`S_j`; the cells of some columns T a product G of
cycles. Let a matrix have the turns of one set of k cells as its columns, a for members and 1 for
others. Scaled by the root of a uniform prior its information is diagonal in the characters χ of G,
with

.. math:: x_\chi = \Big(\frac{(a-1)\,|\hat 1_\chi|}{k(a-1) + S}\Big)^2 ,

and the same holds for every T with the same characters of the whole record. Branches and orbits
that are mixed with shares θ hence cost

.. math:: \sum_\chi \frac{w_\chi}{\sum_i \theta_i x_{i\chi}}, \qquad
          w_\chi = \sum_{\text{wanted } T \supseteq \operatorname{supp}\chi} \frac1{|T|} ,

which is convex in θ. New sets are found by annealing: of each T the one that lowers the cost most
when it gets a small share.

Orbits packed into branches that analysts can tell apart.

An analyst knows a branch by the columns that are not blank, so there is one matrix for each set C
of columns that is shown, with as many outputs as C has possible cells. The turns of a set on
:math:`T \subseteq C` take as many outputs as there are different ones; what is left of C carries
others. The columns of C outside T are not looked at by them.

Which columns travel together, at a uniform prior, without forming the cells of records.

There the information is diagonal in the ANOVA components :math:`\emptyset \ne A \subseteq` columns,
one number :math:`x_A` each if mechanisms are symmetric, of which there are
:math:`m_A = \prod_{j\in A}(S_j - 1)`. A branch that shows block B by a symmetric mechanism adds the
same number to every :math:`A \subseteq B`, and the value is
:math:`\sum_A w_A m_A / x_A` with :math:`w_A = \sum_{T \supseteq A} 1/|T|` over the wanted tables T.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from pramble.information.distributions import Table
from pramble.information.fisher import inner
from pramble.mechanisms.base import Mechanism
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.outputs import best_places
from pramble.solvers.record.matrices import (
    LEAST,
    Blocks,
    best_cardinality,
    column_sets,
    multiplicative_shares,
    without_unused,
)
from pramble.solvers.record.problem import RecordProblem
from pramble.values import Floats, Integers, frozen

# The share at which a new set is judged, unless there are very few.
LEAST_STEP = 0.1

# What new sets weigh together at first, beside those whose shares are known.
FRESH = 0.3

MOVES, HEAT, ALONE = 4000, 0.01, 0.4
ROUNDS, ENOUGH, WORTHLESS = 40, 1e-3, 1e-4
STEPS, GAP = 400, 1e-4
MOST_CHARACTERS = 20_000


@frozen(eq=False)
class Orbit:
    """The turns of one set of cells of some columns."""

    columns: Table
    inside: NDArray[np.bool_] | None  # by cells; None where all characters are told alike
    information: Floats  # of each character
    outputs: int  # how many turns are different


class Characters:
    """The characters that bear on the wanted tables, a pair of conjugates taken as one."""

    def __init__(self, sizes: Mapping[str, int], tables: Sequence[Table], alpha: float) -> None:
        self.sizes, self.excess = sizes, math.expm1(alpha)
        names = list(sizes)
        components = sorted({
            part for table in tables for k in range(1, len(table) + 1)
            for part in combinations(table, k)
        })  # fmt: skip
        frequencies, weights = [], []
        for part in components:
            own = sum(1 / self.cells(table) for table in tables if set(part) <= set(table))
            for turn in product(*(range(1, sizes[name]) for name in part)):
                back = tuple(sizes[n] - f for n, f in zip(part, turn, strict=True))
                if back >= turn:
                    row = np.zeros(len(names), dtype=np.int64)
                    row[[names.index(name) for name in part]] = turn
                    frequencies.append(row)
                    weights.append(own * (1 if back == turn else 2))
        self.frequencies, self.weights = np.array(frequencies), np.array(weights)
        self.known: dict[Table, tuple[Integers, Floats, Floats]] = {}

    def cells(self, columns: Sequence[str]) -> int:
        return math.prod(self.sizes[name] for name in columns)

    def within(self, columns: Table) -> tuple[Integers, Floats, Floats]:
        """Return which characters some columns tell of, and their values on the cells."""
        if columns not in self.known:
            there = np.array([name in columns for name in self.sizes])
            which = np.flatnonzero((self.frequencies[:, ~there] == 0).all(axis=1))
            shape = [self.sizes[name] for name in columns]
            cells = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
            order = [list(self.sizes).index(name) for name in columns]
            angle = 2 * np.pi * (cells / shape) @ self.frequencies[which][:, order].T
            self.known[columns] = which, np.cos(angle), np.sin(angle)
        return self.known[columns]

    def orbit(self, columns: Table, inside: NDArray[np.bool_]) -> Orbit:
        which, real, imaginary = self.within(columns)
        members, size = inside.sum(), inside.size
        flat = inside.ravel().astype(np.float64)
        power = (flat @ real) ** 2 + (flat @ imaginary) ** 2
        found = np.zeros(len(self.weights))
        found[which] = (self.excess / (members * self.excess + size)) ** 2 * power
        alike = np.fft.ifftn(np.abs(np.fft.fftn(inside)) ** 2).real
        same = int((np.abs(alike - members) < 1e-6).sum())
        return Orbit(columns, inside, found, size // same)

    def better(
        self,
        columns: Table,
        others: Floats,
        share: float,
        budget: SearchBudget,
        *,
        rng: np.random.Generator,
        start: NDArray[np.bool_] | None = None,
        heat: float = HEAT,
        moves: int = MOVES,
    ) -> Orbit:
        from pramble.solvers.general.kernels import anneal_set

        which, real, imaginary = self.within(columns)
        size = len(real)
        inside = rng.random(size) < 1 / (2 + self.excess) if start is None else start.flatten()
        if inside.all() or not inside.any():
            inside = np.arange(size) == 0
        picks = rng.integers(0, size, (moves, 2))
        budget.spend(moves * (5.0 * len(which) + 40) + 10 * real.size)
        picks[rng.random(moves) < ALONE, 1] = -1
        anneal_set(
            inside, real, imaginary, self.weights[which], np.ascontiguousarray(others[which]),
            share * self.excess**2, self.excess, picks, rng.random(moves), heat,
        )  # fmt: skip
        return self.orbit(columns, inside.reshape([self.sizes[name] for name in columns]))

    def cost(self, orbits: Sequence[Orbit], shares: Floats) -> float:
        whole = shares @ np.array([one.information for one in orbits])
        return float((self.weights / np.maximum(whole, 1e-300)).sum())

    def best_shares(
        self, orbits: Sequence[Orbit], budget: SearchBudget, *, start: Floats | None = None
    ) -> Floats:
        informations = np.array([one.information for one in orbits])

        def gains(shares: Floats) -> Floats:
            whole = np.maximum(shares @ informations, 1e-150)
            return np.asarray(informations @ (self.weights / whole**2))

        return multiplicative_shares(
            gains, len(orbits), budget, operations=informations.size,
            steps=STEPS, gap=GAP, start=start,
        )  # fmt: skip


def generated(
    characters: Characters, sets: Sequence[Table], fixed: Sequence[Orbit], budget: SearchBudget
) -> tuple[list[Orbit], Floats]:
    """Return orbits on some sets of columns, and their best shares, by column generation."""
    rng = np.random.default_rng(len(characters.weights))
    pool: list[Orbit] = list(fixed)
    whole, step = np.zeros(len(characters.weights)), 1.0
    shares, least = np.zeros(0), math.inf
    for _ in range(ROUNDS):
        for columns in sets:
            pool.append(characters.better(columns, (1 - step) * whole, step, budget, rng=rng))
            if len(pool) > len(sets) + len(fixed) and budget.is_over():
                break
        fresh = len(pool) - len(shares)
        start = np.append(shares, np.full(fresh, max(FRESH, not len(shares)) / fresh))
        shares = characters.best_shares(pool, budget, start=start)
        retained = [i for i in range(len(pool)) if shares[i] > WORTHLESS or i < len(fixed)]
        pool, shares = [pool[i] for i in retained], shares[retained] / shares[retained].sum()
        whole = shares @ np.array([one.information for one in pool])
        value = characters.cost(pool, shares)
        if value > (1 - ENOUGH) * least or budget.is_over():
            break
        least, step = value, max(2 / len(pool), LEAST_STEP)
    return pool, shares


POLISHES, POLISH_MOVES, POLISH_HEAT, POLISH_ENOUGH = 6, 6000, 1e-3, 5e-4
LEAST_POLISHED = 1e-5


class Packing:
    """Orbits, each in the set of columns that shows it."""

    def __init__(self, characters: Characters, room: Mapping[Table, int]) -> None:
        self.characters, self.room = characters, dict(room)
        self.orbits: list[Orbit] = []
        self.shown: list[Table] = []

    def put(self, orbit: Orbit) -> bool:
        """Put an orbit where it fits best; False if there is no room for it."""
        best, least = None, math.inf
        for columns, room in self.room.items():
            if orbit.outputs <= room and set(orbit.columns) <= set(columns):
                left = -1 if columns == orbit.columns else room - orbit.outputs
                if left < least:
                    best, least = columns, left
        if best is None:
            return False
        self.room[best] -= orbit.outputs
        self.orbits.append(orbit)
        self.shown.append(best)
        return True

    def polish(self, budget: SearchBudget, start: Floats) -> Floats:
        """Anneal each set beside all others, and return the shares."""
        rng = np.random.default_rng(len(self.orbits))
        shares = self.characters.best_shares(self.orbits, budget, start=start)
        least = self.characters.cost(self.orbits, shares)
        for _ in range(POLISHES):
            informations = np.array([one.information for one in self.orbits])
            for i in np.flatnonzero(shares > LEAST_POLISHED).tolist():
                if budget.is_over():
                    break
                one = self.orbits[i]
                if one.inside is None:
                    continue
                rest = shares @ informations - shares[i] * one.information
                new = self.characters.better(
                    one.columns, np.maximum(rest, 0), float(shares[i]), budget, rng=rng,
                    start=one.inside, heat=POLISH_HEAT, moves=POLISH_MOVES,
                )  # fmt: skip
                if new.outputs <= one.outputs:
                    self.orbits[i], informations[i] = new, new.information
            shares = self.characters.best_shares(self.orbits, budget, start=shares + LEAST_POLISHED)
            value = self.characters.cost(self.orbits, shares)
            if value > (1 - POLISH_ENOUGH) * least or budget.is_over():
                break
            least = value
        return shares


def mechanism_of(
    problem: RecordProblem, columns: Table, orbits: Sequence[Orbit], shares: Floats, *, alpha: float
) -> Mechanism:
    block = problem.block(columns)
    matrix = np.zeros((block.size, block.size))
    at = 0
    for orbit, share in zip(orbits, shares / shares.sum(), strict=True):
        assert orbit.inside is not None
        turns = turns_of(orbit)
        places = [columns.index(name) for name in orbit.columns]
        cells = np.ravel_multi_index(tuple(block.cells[:, places].T), orbit.inside.shape)
        likely = 1 + np.expm1(alpha) * turns[cells]
        matrix[:, at : at + orbit.outputs] = share * likely / likely.sum(axis=1, keepdims=True)
        at += orbit.outputs
    placed = np.empty_like(matrix)
    placed[:, best_places(inner(block.distribution), matrix)] = matrix
    return without_unused(Mechanism.from_matrix(placed, block.labels, block.labels, alpha=alpha))


def turns_of(orbit: Orbit) -> Floats:
    """Return the different turns of a set, a column each, by the cells of its columns."""
    inside = np.asarray(orbit.inside)
    axes = tuple(range(inside.ndim))
    rotated = [np.roll(inside, turn, axis=axes).ravel() for turn in np.ndindex(*inside.shape)]
    return np.asarray(np.unique(np.array(rotated), axis=0).T, dtype=np.float64)


MOST_BLOCK, MOST_CARRYING = 130, 130
MOST_SETS, MOST_SEARCHED = 4000, 320
LEAST_START = 1e-5


def component_information(size: int, alpha: float) -> float:
    """Return the information per component of the best symmetric mechanism on so many cells."""
    a, k = math.exp(alpha), best_cardinality(size, alpha)
    f = k / size
    return (a - 1) ** 2 * f * (1 - f) / ((a * f + 1 - f) ** 2 * (size - 1))


class Components:
    """The components of the wanted tables, and what they weigh."""

    def __init__(self, problem: RecordProblem) -> None:
        self.problem = problem
        sizes = problem.sizes
        weights: dict[Table, float] = {}
        for table in problem.tables:
            share = 1 / math.prod(sizes[name] for name in table)
            for part in column_sets(table, len(table)):
                many = math.prod(sizes[name] - 1 for name in part)
                weights[part] = weights.get(part, 0.0) + share * many
        self.parts, self.weights = list(weights), np.array(list(weights.values()))
        place = {name: i for i, name in enumerate(problem.columns)}
        self.bits = np.array([sum(1 << place[name] for name in part) for part in self.parts])
        self.place = place


def possible_blocks(problem: RecordProblem) -> list[Table]:
    """Return sets of columns that bear on the wanted tables, small ones first."""
    largest = max(map(len, problem.tables))
    found = dict.fromkeys(problem.tables)
    for size in range(1, len(problem.columns) + 1):
        if size > largest and len(found) + math.comb(len(problem.columns), size) > MOST_SETS:
            break
        if len(found) > MOST_SETS:
            break
        for block in combinations(problem.columns, size):
            if math.prod(problem.sizes[name] for name in block) <= MOST_BLOCK:
                found[block] = None
    return list(found)


def packed_branches(problem: RecordProblem, budget: SearchBudget) -> list[tuple[Blocks, float]]:
    """Return branches of turned sets, with shares, that are best at a uniform prior."""
    # There are none if there are too many characters. Where cells are impossible, a set is turned
    # on all of them and carried by columns with enough possible ones.
    number = sum(
        math.prod(problem.sizes[name] - 1 for name in part) for part in Components(problem).parts
    )
    if number > MOST_CHARACTERS:
        return []
    every = possible_blocks(problem)[: max(MOST_SEARCHED, len(problem.tables))]
    characters = Characters(problem.sizes, problem.tables, problem.alpha)
    counts = {columns: problem.counts(columns) for columns in every}
    small = [one for one in every if characters.cells(one) <= MOST_BLOCK]
    fixed = []
    for one in problem.tables:
        if one not in small or counts[one] < characters.cells(one):  # tells all characters alike
            found = np.zeros(len(characters.weights))
            found[characters.within(one)[0]] = component_information(counts[one], problem.alpha)
            fixed.append(Orbit(one, None, found, counts[one]))
    if not small:
        return []
    orbits, shares = generated(
        characters, small, fixed, budget.part(budget.tolerance, effort=budget.left() / 2)
    )
    # all sets of columns may be shown where they are few
    near = possible_blocks(problem)
    if 2 ** len(problem.columns) <= MOST_SETS:
        near = list(column_sets(problem.columns, len(problem.columns)))
    room = {
        columns: count for columns in near if (count := problem.counts(columns)) <= MOST_CARRYING
    }
    packing = Packing(characters, {**room, **{one.columns: one.outputs for one in fixed}})
    order = np.argsort(-shares, kind="stable").tolist()
    retained = [i for i in order if packing.put(orbits[i])]
    shares = packing.polish(budget, shares[retained] + LEAST_START)
    branches: list[tuple[Blocks, float]] = []
    for columns in dict.fromkeys(packing.shown):
        own = [i for i, one in enumerate(packing.shown) if one == columns and shares[i] > 1e-6]
        total, alike = float(shares[own].sum()), [packing.orbits[i] for i in own]
        if total > LEAST and all(one.inside is not None for one in alike):
            matrix = mechanism_of(problem, columns, alike, shares[own], alpha=problem.alpha)
            branches.append(({columns: matrix}, total))
    return branches

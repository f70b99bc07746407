r"""Orbits packed into branches that analysts can tell apart.

An analyst knows a branch by the columns that are not blank, so there is one matrix for each set C
of columns that is shown, with as many outputs as C has possible cells. The turns of a set on
:math:`T \subseteq C` take as many outputs as there are different ones; what is left of C carries
others. The columns of C outside T are not looked at by them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pramble.information.distributions import Table
from pramble.information.fisher import inner
from pramble.mechanisms.base import Mechanism
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.labelling import best_places
from pramble.solvers.record.candidates import without_unused
from pramble.solvers.record.orbits import Characters, Orbit
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.shares import LEAST
from pramble.values import Floats

POLISHES, MOVES, HEAT, ENOUGH = 6, 6000, 1e-3, 5e-4
WORTHLESS = 1e-5


class Packing:
    """Orbits, each in the set of columns that shows it."""

    def __init__(self, characters: Characters, room: Mapping[Table, int]) -> None:
        self.characters, self.room = characters, dict(room)
        place = {name: i for i, name in enumerate(characters.sizes)}
        self.bits = {columns: sum(1 << place[name] for name in columns) for columns in room}
        self.place = place
        self.orbits: list[Orbit] = []
        self.shown: list[Table] = []

    def put(self, orbit: Orbit) -> bool:
        """Put an orbit where it fits best; False if there is no room for it."""
        own = sum(1 << self.place[name] for name in orbit.columns)
        best, least = None, math.inf
        for columns, room in self.room.items():
            if orbit.outputs <= room and own & ~self.bits[columns] == 0:
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
            for i in np.flatnonzero(shares > WORTHLESS).tolist():
                if budget.is_over():
                    break
                one = self.orbits[i]
                if one.inside is None:
                    continue
                rest = shares @ informations - shares[i] * one.information
                new = self.characters.better(
                    one.columns, np.maximum(rest, 0), float(shares[i]), budget, rng=rng,
                    start=one.inside, heat=HEAT, moves=MOVES,
                )  # fmt: skip
                if new.outputs <= one.outputs:
                    self.orbits[i], informations[i] = new, new.information
            shares = self.characters.best_shares(self.orbits, budget, start=shares + WORTHLESS)
            value = self.characters.cost(self.orbits, shares)
            if value > (1 - ENOUGH) * least or budget.is_over():
                break
            least = value
        return shares

    def branches(
        self, problem: RecordProblem, shares: Floats
    ) -> Iterator[tuple[dict[Table, Mechanism], float]]:
        """Yield a branch for each set of columns that is shown, and its share."""
        for columns in dict.fromkeys(self.shown):
            own = [i for i, one in enumerate(self.shown) if one == columns and shares[i] > 1e-6]
            total = float(shares[own].sum())
            orbits = [self.orbits[i] for i in own]
            if total > LEAST and all(one.inside is not None for one in orbits):
                matrix = mechanism_of(problem, columns, orbits, shares[own], alpha=problem.alpha)
                yield {columns: matrix}, total


def mechanism_of(
    problem: RecordProblem,
    columns: Table,
    orbits: Sequence[Orbit],
    shares: Floats,
    *,
    alpha: float,
) -> Mechanism:
    """Return the matrix of some orbits on the cells of the columns that show them."""
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
    placed[:, best_places(inner(block.law), matrix)] = matrix
    return without_unused(Mechanism.from_matrix(placed, block.labels, block.labels, alpha=alpha))


def turns_of(orbit: Orbit) -> Floats:
    """Return the different turns of a set, a column each, by the cells of its columns."""
    inside = np.asarray(orbit.inside)
    axes = tuple(range(inside.ndim))
    turned = [np.roll(inside, turn, axis=axes).ravel() for turn in np.ndindex(*inside.shape)]
    return np.asarray(np.unique(np.array(turned), axis=0).T, dtype=np.float64)

r"""Which columns travel together, at a uniform prior, without forming the cells of records.

There the information is diagonal in the ANOVA components :math:`\emptyset \ne A \subseteq` columns,
one number :math:`x_A` each if mechanisms are symmetric, of which there are
:math:`m_A = \prod_{j\in A}(S_j - 1)`. A branch that shows block B by a symmetric mechanism adds the
same number to every :math:`A \subseteq B`, and the value is
:math:`\sum_A w_A m_A / x_A` with :math:`w_A = \sum_{T \supseteq A} 1/|T|` over the wanted tables T.
"""

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramble.information.distributions import Table
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.branches import Blocks, best_cardinality, multiplicative_shares, subsets
from pramble.solvers.record.orbits import MOST_CHARACTERS, Characters, Packing, generated
from pramble.solvers.record.problem import RecordProblem
from pramble.values import Floats

MOST_BLOCK, MOST_CARRYING = 130, 130
MOST_SETS, MOST_SEARCHED = 4000, 320
STEPS, GAP = 300, 1e-3
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
            for part in subsets(table, len(table)):
                many = math.prod(sizes[name] - 1 for name in part)
                weights[part] = weights.get(part, 0.0) + share * many
        self.parts, self.weights = list(weights), np.array(list(weights.values()))
        place = {name: i for i, name in enumerate(problem.columns)}
        self.bits = np.array([sum(1 << place[name] for name in part) for part in self.parts])
        self.place = place

    def shown(self, block: Table) -> NDArray[np.bool_]:
        out = ~sum(1 << self.place[name] for name in block)
        return np.asarray((self.bits & out) == 0)

    def told(self, block: Table) -> Floats:
        """Return what a symmetric mechanism on a block tells of each component."""
        size = self.problem.counts(block)
        return np.where(self.shown(block), component_information(size, self.problem.alpha), 0.0)


def chosen_blocks(problem: RecordProblem, budget: SearchBudget) -> list[Table]:
    """Return the blocks worth showing at a uniform prior, those with larger shares first."""
    components, blocks = Components(problem), possible_blocks(problem)
    informations = np.array([components.told(block) for block in blocks])

    def gains(shares: Floats) -> Floats:
        x = shares @ informations
        return np.asarray(informations @ (components.weights / np.maximum(x, 1e-150) ** 2))

    shares = multiplicative_shares(
        gains, len(blocks), budget, operations=informations.size, steps=STEPS, gap=GAP
    )
    order = np.argsort(-shares, kind="stable")
    return [blocks[i] for i in order.tolist() if shares[i] > 1e-4 / len(blocks)]


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
    every = possible_blocks(problem)
    if len(every) > MOST_SEARCHED:
        every = list(dict.fromkeys([*problem.tables, *chosen_blocks(problem, budget)]))
        every = every[: max(MOST_SEARCHED, len(problem.tables))]
    characters = Characters(problem.sizes, problem.tables, problem.alpha)
    counts = {columns: problem.counts(columns) for columns in every}
    small = [one for one in every if characters.cells(one) <= MOST_BLOCK]
    fixed = [
        characters.flat(one, component_information(counts[one], problem.alpha), counts[one])
        for one in problem.tables
        if one not in small or counts[one] < characters.cells(one)
    ]
    if not small:
        return []
    orbits, shares = generated(
        characters, small, fixed, budget.part(budget.tolerance, effort=budget.left() / 2)
    )
    room = {
        columns: count for columns in subsets_near(problem)
        if (count := problem.counts(columns)) <= MOST_CARRYING
    }  # fmt: skip
    packing = Packing(characters, {**room, **{one.columns: one.outputs for one in fixed}})
    order = np.argsort(-shares, kind="stable").tolist()
    kept = [i for i in order if packing.put(orbits[i])]
    found = packing.polish(budget, shares[kept] + LEAST_START)
    return list(packing.branches(problem, found))


def subsets_near(problem: RecordProblem) -> list[Table]:
    """Return sets of columns that may be shown: all of them if they are few."""
    if 2 ** len(problem.columns) <= MOST_SETS:
        return list(subsets(problem.columns, len(problem.columns)))
    return possible_blocks(problem)

r"""Plans that keep all columns of every record: one branch, its columns put into blocks.

Blocks are randomised side by side, so their αs add up. At a uniform prior symmetric mechanisms with
information :math:`x_B` per component on block B tell
:math:`x_A = \prod_{B \cap A \ne \emptyset} x_B` of component A (the information of a product is the
product), and :math:`\sum_A w_A m_A/x_A` chooses by greedy merging, from single columns on, which
columns go together, and how α is shared. Every choice on the way is then valued at the real law.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from pramble.information.distributions import Table
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.guarantee import float_below
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.anova import LEAST_START, MOST_BLOCK, Components, told_by
from pramble.solvers.record.candidates import CLOSE, Blocks, best_matrix, parts_of, subsets
from pramble.solvers.record.dense import MOST_CELLS, Cells
from pramble.solvers.record.many import Tables
from pramble.solvers.record.orbits import MOST_CHARACTERS, Characters, generated
from pramble.solvers.record.packing import Packing, mechanism_of
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.record.search import answer, bound_of

MOST_PARTITIONED, MOST_MERGED = 5, 10**6
TRANSFERS, LEAST_PART = (0.5, 0.25, 0.1, 0.03), 1e-3
SEARCHING, HALVINGS, ALONE, HOPELESS, MOST_TRIED = 0.8, 4, 6, 1e12, 6

Split = list[tuple[Table, float]]
"""Blocks and their parts of α."""


def whole_plan(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the best plan of one branch."""
    few = problem.size <= MOST_CELLS
    ground: Any = Cells(problem, budget) if few else Tables(problem, budget)
    splits = candidate_splits(problem)
    components = Components(problem)
    ranked = sorted(splits, key=lambda one: splitting_cost(components, one))
    known = [one for one in ranked if len(one) in (1, len(problem.columns))]
    ranked = [*known, *(one for one in ranked if one not in known)][: MOST_TRIED + len(known)]
    part, one = budget.until(SEARCHING), np.ones(1)
    best: Any = None
    for left, split in zip(range(len(ranked), 0, -1), ranked, strict=True):
        if best is not None and part.is_over():
            break
        own = part.part(CLOSE, effort=part.left() / left, quiet=True)
        for blocks in branches_for(problem, split, own):
            option = ground.option(blocks)
            if option is None:
                continue
            costs = ground.costs([option], one)
            if best is None or sum(costs.values()) < sum(best[2].values()):
                best = ([option], one, costs)
        budget.clock.tell("blocks", SEARCHING * (1 - left / len(ranked)))
    bound, notes = bound_of(problem, budget, few=few)
    return answer(problem, ground, best, bound=bound, notes=notes)


def candidate_splits(problem: RecordProblem) -> list[Split]:
    """Return ways to put all columns into blocks: all if they are few, else by merging."""
    components = Components(problem)
    if len(problem.columns) <= MOST_PARTITIONED:
        ways = [list(way) for way in partitions(problem.columns)]
        return [shared_alpha(components, way) for way in ways] + [equal(problem, w) for w in ways]
    found = []
    blocks: list[Table] = [(name,) for name in problem.columns]
    while True:
        found += [shared_alpha(components, blocks), equal(problem, blocks)]
        pairs = [
            pair for pair in combinations(range(len(blocks)), 2)
            if problem.size_of((*blocks[pair[0]], *blocks[pair[1]])) <= MOST_MERGED
        ]  # fmt: skip
        if not pairs:
            return found
        ways = [merged(problem, blocks, pair) for pair in pairs]
        blocks = min(ways, key=lambda way: splitting_cost(components, equal(problem, way)))


def merged(problem: RecordProblem, blocks: Sequence[Table], pair: tuple[int, int]) -> list[Table]:
    """Return blocks with two of them merged."""
    both = {*blocks[pair[0]], *blocks[pair[1]]}
    rest = [block for i, block in enumerate(blocks) if i not in pair]
    return [*rest, tuple(name for name in problem.columns if name in both)]


def equal(problem: RecordProblem, blocks: Sequence[Table]) -> Split:
    """Return blocks that share α equally."""
    return [(block, problem.alpha / len(blocks)) for block in blocks]


def shared_alpha(components: Components, blocks: Sequence[Table]) -> Split:
    """Return blocks with the parts of α that cost least at a uniform prior."""
    alpha, count = components.problem.alpha, len(blocks)
    parts = np.full(count, alpha / count)
    least = splitting_cost(components, list(zip(blocks, parts.tolist(), strict=True)))
    for step in TRANSFERS if count > 1 else ():
        for giver, taker in ((i, j) for i in range(count) for j in range(count) if i != j):
            tried = parts.copy()
            tried[giver] -= step * parts[giver]
            tried[taker] += step * parts[giver]
            cost = splitting_cost(components, list(zip(blocks, tried.tolist(), strict=True)))
            if tried[giver] > LEAST_PART * alpha and cost < least:
                parts, least = tried, cost
    return list(zip(blocks, parts.tolist(), strict=True))


def splitting_cost(components: Components, split: Split) -> float:
    """Return what the wanted tables cost at a uniform prior."""
    told = np.ones(len(components.weights))
    for block, alpha in split:
        bits = sum(1 << components.place[name] for name in block)
        x = told_by(components.problem.counts(block), alpha)
        told = np.where(components.bits & bits, told * x, told)
    return float((components.weights / np.maximum(told, 1e-150)).sum())


def branches_for(problem: RecordProblem, split: Split, budget: SearchBudget) -> Iterator[Blocks]:
    """Yield branches for a choice of blocks: randomised response, and the best matrices found."""
    parts = [Fraction(alpha) for _, alpha in split]
    scale = min(Fraction(1), Fraction(problem.alpha) / sum(parts))
    exact = [float_below(part * scale) for part in parts]
    blocks = [block for block, _ in split]
    yield {
        block: randomized_response(problem.block(block).labels, alpha)
        for block, alpha in zip(blocks, exact, strict=True)
    }
    each = budget.left() / len(blocks)
    yield {
        block: block_matrix(problem, block, alpha, budget.part(CLOSE, effort=each, quiet=True))
        for block, alpha in zip(blocks, exact, strict=True)
    }


def block_matrix(
    problem: RecordProblem, columns: Table, alpha: float, budget: SearchBudget
) -> Mechanism:
    """Return the best matrix for one block with its part of α."""
    half = budget.left() / 2
    part = budget.part(CLOSE, effort=half, quiet=True)
    more = list(orbit_matrices(problem, columns, alpha, part))
    part = budget.part(CLOSE, effort=half, quiet=True)
    return best_matrix(problem, columns, alpha, part, more=more)


def orbit_matrices(
    problem: RecordProblem, columns: Table, alpha: float, budget: SearchBudget
) -> Iterator[Mechanism]:
    """Yield mixtures of turned sets in one matrix on a block, where it has no impossible cells.

    The fewer outputs each set may take, the more of them find room.
    """
    size = problem.counts(columns)
    if size > MOST_BLOCK or size != problem.size_of(columns):
        return
    sizes = {name: problem.sizes[name] for name in columns}
    characters = Characters(sizes, parts_of(columns, problem.tables), alpha)
    if len(characters.weights) > MOST_CHARACTERS:
        return
    orbits, shares = generated(characters, list(subsets(columns, len(columns))), [], budget)
    rng, one = np.random.default_rng(size), np.ones(1)
    nothing = np.zeros(len(characters.weights))
    alone = [characters.better(columns, nothing, 1.0, budget, rng=rng) for _ in range(ALONE)]
    first = min(alone, key=lambda orbit: characters.cost([orbit], one))
    best, least = ([first], one), characters.cost([first], one)
    for halvings in range(HALVINGS):
        packing = Packing(characters, {columns: size})
        order = np.argsort(-shares, kind="stable").tolist()
        small = [i for i in order if orbits[i].outputs <= size / 2**halvings]
        kept = [i for i in small if packing.put(orbits[i])]
        if kept:
            found = packing.polish(budget, shares[kept] + LEAST_START)
            cost = characters.cost(packing.orbits, found)
            if cost < least:
                best, least = (packing.orbits, found), cost
    if least < HOPELESS:
        yield mechanism_of(problem, columns, best[0], best[1], alpha=alpha)


def partitions(columns: Sequence[str]) -> Iterator[list[Table]]:
    """Yield every way to put columns into blocks.

    >>> list(partitions("ab"))
    [[('a', 'b')], [('a',), ('b',)]]
    """
    if not columns:
        yield []
        return
    first, rest = columns[0], columns[1:]
    for found in partitions(rest):
        for i, block in enumerate(found):
            yield [*found[:i], (first, *block), *found[i + 1 :]]
        yield [(first,), *found]

r"""The search for branches: closed forms, turned sets, then matrices for the distribution itself.

Plans that keep all columns of every record: one branch, its columns put into blocks.

Blocks are randomised side by side, so their αs add up. At a uniform prior symmetric mechanisms with
information :math:`x_B` per component on block B tell
:math:`x_A = \prod_{B \cap A \ne \emptyset} x_B` of component A (the information of a product is the
product), and :math:`\sum_A w_A m_A/x_A` chooses by greedy merging, from single columns on, which
columns go together, and how α is shared. Every choice on the way is then valued at the real prior.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from pramble.information.distributions import Table
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Branch, Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.gaussian import float_below
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.costs import dense_bound, many_bound
from pramble.solvers.record.matrices import (
    CLOSE,
    MOST_DESIGNED,
    Blocks,
    best_matrix,
    block_closed_forms,
    column_sets,
    designed_matrix,
    exact_shares,
    most_informative,
    wanted_parts,
)
from pramble.solvers.record.orbits import (
    LEAST_START,
    MOST_BLOCK,
    MOST_CHARACTERS,
    Characters,
    Components,
    Packing,
    component_information,
    generated,
    mechanism_of,
    packed_branches,
)
from pramble.solvers.record.problem import RecordDesign, RecordProblem
from pramble.solvers.record.valuation import MOST_HELD, is_small, valuation_of
from pramble.values import Floats

# Shares of the effort after which the parts of the search end.
TURNING, VALUING, MIXING, DESIGNING, MIXING_AGAIN = 0.35, 0.5, 0.65, 0.75, 0.85

MOST_EFFORT, EFFORT, EFFORT_PER_CELL = 3.0, 0.15, 0.02
MOST_JOINT = 10**6
LEAST_GAIN, FAILURES, NEAR = 1.005, 2, 1.01

Best = tuple[Sequence[Any], Floats, Mapping[Table, float]]
# What new branches weigh together at first, beside those whose shares are known.
SMALL = 0.2


def best_plan(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    ground = valuation_of(problem, budget)
    budget.reporter.report("randomised response", 0.0)
    options = [one for blocks in plain_branches(problem) if (one := ground.option(blocks))]
    budget.reporter.report("turned sets", 0.05)
    packed = packed_branches(problem, budget.until(TURNING))
    start = [SMALL / len(options)] * len(options)
    part = budget.until(VALUING)
    for blocks, share in sorted(packed, key=lambda one: -one[1]):
        if part.is_over():
            break
        options.append(ground.option(blocks))
        start.append(share)
    budget.reporter.report("shares", TURNING)
    best = ground.best_mixture(options, budget.until(MIXING), start=np.array(start))
    budget.reporter.report("matrices for the distribution", MIXING, value=sum(best[2].values()))
    if not is_small(problem) or sum(best[2].values()) > NEAR * dense_bound(problem):
        best = improved(problem, ground, best, budget)
    budget.reporter.report("bound", MIXING_AGAIN, value=sum(best[2].values()))
    bound, notes = record_bound(problem, budget)
    return answer(problem, ground, best, bound=bound, notes=notes)


def plan_for_alpha(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the best plan for a local promise that the search for its objective finds."""
    if problem.objective == "information":
        return most_informative(problem, budget)
    return (one_branch_plan if problem.whole else best_plan)(problem, budget)


def improved(problem: RecordProblem, ground: Any, best: Best, budget: SearchBudget) -> Best:
    """Return a mixture with matrices for the distribution itself, as long as they help."""
    # A branch helps a mixture of best shares if and only if its gain exceeds the mean one. The
    # search ends after a few that do not.
    more: list[Any] = []
    failures = 0
    for blocks in designed_branches(problem, budget.until(DESIGNING), best[2]):
        option = ground.option(blocks)
        if option is None:
            continue
        gains = ground.gains_of([*best[0], option])(np.append(best[1], 0.0))
        if gains[-1] > LEAST_GAIN * float(best[1] @ gains[:-1]):
            more.append(option)
            continue
        failures += 1
        if failures == FAILURES:
            break
    if not more:
        return best
    start = np.append(best[1], np.full(len(more), SMALL / len(more)))
    again: Best = ground.best_mixture([*best[0], *more], budget.until(MIXING_AGAIN), start=start)
    return min(best, again, key=lambda one: sum(one[2].values()))


def record_bound(problem: RecordProblem, budget: SearchBudget) -> tuple[float, tuple[str, ...]]:
    """Return a bound on the value of every mechanism on the record, and what it is."""
    if is_small(problem):
        return dense_bound(problem, budget), ()
    bound, note = many_bound(problem, budget)
    return bound, (note,)


def plain_branches(problem: RecordProblem) -> Iterator[Blocks]:
    """Yield closed forms on each wanted table, the whole record and single columns, and splits."""
    single = [(name,) for name in problem.columns]
    for columns in dict.fromkeys([*problem.tables, problem.columns, *single]):
        # Randomised response on very many cells helps where it keeps a fair share of them.
        size = problem.size_of(columns)
        is_fair = columns == problem.columns and problem.alpha > math.log(size) - 3
        if problem.counts(columns) > MOST_HELD and not (is_fair and size <= MOST_JOINT):
            continue
        block = problem.block(columns)
        if block.size == np.prod([problem.sizes[name] for name in columns]):
            yield {columns: randomized_response(block.labels, problem.alpha)}
        else:
            yield from ({columns: one} for one in block_closed_forms(block, problem.alpha))
    part = float_below(Fraction(problem.alpha) / len(single))
    if len(single) > 1:
        yield {one: randomized_response(problem.block(one).labels, part) for one in single}


def designed_branches(
    problem: RecordProblem, budget: SearchBudget, costs: Mapping[Table, float]
) -> Iterator[Blocks]:
    """Yield branches with matrices for the distribution itself, for the costliest tables first."""
    tables = sorted(costs, key=lambda table: -costs[table])
    if problem.columns not in costs and problem.size <= MOST_DESIGNED:
        tables.insert(0, problem.columns)
    for left, table in zip(range(len(tables), 0, -1), tables, strict=True):
        block = problem.block(table)
        most = min(MOST_EFFORT, EFFORT + EFFORT_PER_CELL * block.size)
        part = budget.part(CLOSE, effort=min(most, 2 * budget.left() / left), quiet=True)
        found = designed_matrix(problem, block, part)
        if found is not None:
            yield {table: found}


def answer(
    problem: RecordProblem, ground: Any, best: Best, *, bound: float, notes: tuple[str, ...] = ()
) -> RecordDesign:
    """Return the design with exact shares, its value, and a check of what it promises."""
    options, shares, _ = best
    exact = exact_shares(shares)
    used = [i for i, share in enumerate(exact) if share]
    retained = [options[i] for i in used]
    plan = Plan(branches=[Branch(exact[i], options[i].blocks) for i in used])
    costs = ground.costs(retained, np.array([float(exact[i]) for i in used]))
    total = sum(costs.values())
    found = RecordDesign(
        plan, problem.alpha, problem.objective, total, min(bound, total), dict(costs), notes,
        information=sum(
            # of several blocks side by side at least what the best tells
            float(exact[i]) * max(
                mutual_information(problem.block(columns).distribution, mechanism)
                for columns, mechanism in options[i].blocks.items()
            )
            for i in used
        ),
        distance=problem.distance,
    )  # fmt: skip
    assert found.certificate.satisfies(problem.alpha), "every block was rounded to its part of α"
    return found


MOST_MERGED = 10**6
TRANSFERS, LEAST_PART = (0.5, 0.25, 0.1, 0.03), 1e-3
SEARCHING, HALVINGS, ALONE, HOPELESS, MOST_TRIED = 0.8, 4, 6, 1e12, 6

# Blocks and their parts of α.
Split = list[tuple[Table, float]]


def one_branch_plan(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    ground = valuation_of(problem, budget)
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
        budget.reporter.report("blocks", SEARCHING * (1 - left / len(ranked)))
    bound, notes = record_bound(problem, budget)
    return answer(problem, ground, best, bound=bound, notes=notes)


def candidate_splits(problem: RecordProblem) -> list[Split]:
    """Return ways to put all columns into blocks, from single columns on by greedy merging."""
    components = Components(problem)
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
        ways = []
        for pair in pairs:
            both = {*blocks[pair[0]], *blocks[pair[1]]}
            rest = [block for i, block in enumerate(blocks) if i not in pair]
            ways.append([*rest, tuple(name for name in problem.columns if name in both)])
        blocks = min(ways, key=lambda way: splitting_cost(components, equal(problem, way)))


def equal(problem: RecordProblem, blocks: Sequence[Table]) -> Split:
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
    found = np.ones(len(components.weights))
    for block, alpha in split:
        bits = sum(1 << components.place[name] for name in block)
        x = component_information(components.problem.counts(block), alpha)
        found = np.where(components.bits & bits, found * x, found)
    return float((components.weights / np.maximum(found, 1e-150)).sum())


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
    matrices: dict[Table, Mechanism] = {}
    for block, alpha in zip(blocks, exact, strict=True):
        own = budget.part(CLOSE, effort=each, quiet=True)
        half = own.left() / 2
        part = own.part(CLOSE, effort=half, quiet=True)
        more = list(orbit_matrices(problem, block, alpha, part))
        part = own.part(CLOSE, effort=half, quiet=True)
        matrices[block] = best_matrix(problem, block, alpha, part, more=more)
    yield matrices


def orbit_matrices(
    problem: RecordProblem, columns: Table, alpha: float, budget: SearchBudget
) -> Iterator[Mechanism]:
    """Yield mixtures of turned sets in one matrix on a block, where it has no impossible cells."""
    # The fewer outputs each set may take, the more of them find room.
    size = problem.counts(columns)
    if size > MOST_BLOCK or size != problem.size_of(columns):
        return
    sizes = {name: problem.sizes[name] for name in columns}
    characters = Characters(sizes, wanted_parts(columns, problem.tables), alpha)
    if len(characters.weights) > MOST_CHARACTERS:
        return
    orbits, shares = generated(characters, list(column_sets(columns, len(columns))), [], budget)
    rng, one = np.random.default_rng(size), np.ones(1)
    nothing = np.zeros(len(characters.weights))
    alone = [characters.better(columns, nothing, 1.0, budget, rng=rng) for _ in range(ALONE)]
    first = min(alone, key=lambda orbit: characters.cost([orbit], one))
    best, least = ([first], one), characters.cost([first], one)
    for halvings in range(HALVINGS):
        packing = Packing(characters, {columns: size})
        order = np.argsort(-shares, kind="stable").tolist()
        small = [i for i in order if orbits[i].outputs <= size / 2**halvings]
        retained = [i for i in small if packing.put(orbits[i])]
        if retained:
            found = packing.polish(budget, shares[retained] + LEAST_START)
            cost = characters.cost(packing.orbits, found)
            if cost < least:
                best, least = (packing.orbits, found), cost
    if least < HOPELESS:
        yield mechanism_of(problem, columns, best[0], best[1], alpha=alpha)

"""The search for branches: closed forms, turned sets, then matrices for the law itself."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramble.information.distributions import Table
from pramble.information.measures import mutual_information
from pramble.mechanisms.plan import Branch, Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.guarantee import float_below
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.anova import packed_branches
from pramble.solvers.record.bounds import dense_bound, many_bound, quick_bound
from pramble.solvers.record.candidates import (
    CLOSE,
    MOST_CARRIED,
    MOST_DESIGNED,
    Blocks,
    carried,
    carriers,
    closed_forms,
    designed,
)
from pramble.solvers.record.dense import MOST_CELLS, Cells
from pramble.solvers.record.many import MOST_HELD, Tables
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.record.shares import exact_shares
from pramble.values import Floats

TURNING, VALUING, MIXING, DESIGNING, MIXING_AGAIN = 0.35, 0.5, 0.65, 0.75, 0.85
"""Shares of the effort after which the parts of the search end."""

MOST_EFFORT, EFFORT, EFFORT_PER_CELL = 3.0, 0.15, 0.02
MOST_JOINT = 10**6
WORTH, FAILURES, NEAR = 1.005, 2, 1.01

Best = tuple[Sequence[Any], Floats, Mapping[Table, float]]
SMALL = 0.2
"""What new branches weigh together at first, beside those whose shares are known."""


def best_plan(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the best mixture of branches that was found."""
    few = problem.size <= MOST_CELLS
    ground: Any = Cells(problem, budget) if few else Tables(problem, budget)
    budget.clock.tell("randomised response", 0.0)
    options = [one for blocks in plain_branches(problem) if (one := ground.option(blocks))]
    budget.clock.tell("turned sets", 0.05)
    packed = packed_branches(problem, budget.until(TURNING))
    start = [SMALL / len(options)] * len(options)
    part = budget.until(VALUING)
    for blocks, share in sorted(packed, key=lambda one: -one[1]):
        if part.is_over():
            break
        options.append(ground.option(blocks))
        start.append(share)
    budget.clock.tell("shares", TURNING)
    best = ground.best_mixture(options, budget.until(MIXING), start=np.array(start))
    budget.clock.tell("matrices for the law", MIXING, value=sum(best[2].values()))
    if not few or sum(best[2].values()) > NEAR * quick_bound(problem):
        best = improved(problem, ground, best, budget)
    budget.clock.tell("bound", MIXING_AGAIN, value=sum(best[2].values()))
    bound, notes = bound_of(problem, budget, few=few)
    return answer(problem, ground, best, bound=bound, notes=notes)


def information_of(problem: RecordProblem, blocks: Blocks) -> float:
    """Return the nats about the record that a branch tells, of several blocks those of the best."""
    return max(
        mutual_information(problem.block(columns).law, mechanism)
        for columns, mechanism in blocks.items()
    )


def improved(problem: RecordProblem, ground: Any, best: Best, budget: SearchBudget) -> Best:
    """Return a mixture with matrices for the law itself, as long as they help.

    A branch helps a mixture of best shares if and only if its gain exceeds the mean one. The search
    ends after a few that do not.
    """
    more: list[Any] = []
    failures = 0
    for blocks in designed_branches(problem, budget.until(DESIGNING), best[2]):
        option = ground.option(blocks)
        if option is None:
            continue
        gains = ground.gains_of([*best[0], option])(np.append(best[1], 0.0))
        if gains[-1] > WORTH * float(best[1] @ gains[:-1]):
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


def bound_of(
    problem: RecordProblem, budget: SearchBudget, *, few: bool
) -> tuple[float, tuple[str, ...]]:
    """Return a bound on the value of every mechanism on the record, and what it is."""
    if few:
        return dense_bound(problem, budget), ()
    bound, note = many_bound(problem, budget)
    return bound, (note,)


def plain_branches(problem: RecordProblem) -> Iterator[Blocks]:
    """Yield closed forms on each wanted table, the whole record and single columns, and splits."""
    single = [(name,) for name in problem.columns]
    for columns in dict.fromkeys([*problem.tables, problem.columns, *single]):
        size = problem.counts(columns)
        if size > MOST_HELD and not joint_could_help(problem, columns):
            continue
        block = problem.block(columns)
        if block.size == np.prod([problem.sizes[name] for name in columns]):
            yield {columns: randomized_response(block.labels, problem.alpha)}
        else:
            yield from ({columns: one} for one in closed_forms(block, problem.alpha))
    part = float_below(Fraction(problem.alpha) / len(single))
    if len(single) > 1:
        yield {one: randomized_response(problem.block(one).labels, part) for one in single}


def joint_could_help(problem: RecordProblem, columns: Table) -> bool:
    """Whether randomised response on very many cells keeps a fair share of them."""
    size = problem.size_of(columns)
    return columns == problem.columns and size <= MOST_JOINT and problem.alpha > math.log(size) - 3


def designed_branches(
    problem: RecordProblem, budget: SearchBudget, costs: Mapping[Table, float]
) -> Iterator[Blocks]:
    """Yield branches with matrices for the law itself, for the costliest tables first.

    The best matrix for a table may have more outputs than the table has cells. More columns of the
    record then carry them: their own values are not looked at.
    """
    tasks = list(design_tasks(problem, costs))
    for left, (table, carrier) in zip(range(len(tasks), 0, -1), tasks, strict=True):
        own = problem.block(table)
        most = min(MOST_EFFORT, EFFORT + EFFORT_PER_CELL * own.size)
        part = budget.part(CLOSE, effort=min(most, 2 * budget.left() / left), quiet=True)
        if carrier is None:
            found = designed(problem, own, part)
            if found is not None:
                yield {table: found}
        else:
            block = problem.block(carrier)
            found = designed(problem, own, part, outputs=block.size)
            if found is not None:
                yield carried(block, table, found)


def design_tasks(
    problem: RecordProblem, costs: Mapping[Table, float]
) -> Iterator[tuple[Table, Table | None]]:
    """Yield tables to design a matrix for, and the columns that carry it."""
    tables = sorted(costs, key=lambda table: -costs[table])
    if problem.columns not in costs and problem.size <= MOST_DESIGNED:
        tables.insert(0, problem.columns)
    taken: set[Table] = set(tables)
    for table in tables:
        yield table, None
        if 3 <= problem.counts(table) <= MOST_CARRIED:
            free = [one for one in carriers(problem, table) if one.columns not in taken]
            if free:
                best = min(free, key=lambda one: one.size)
                taken.add(best.columns)
                yield table, best.columns


def answer(
    problem: RecordProblem,
    ground: Any,
    best: Best,
    *,
    bound: float,
    notes: tuple[str, ...] = (),
) -> RecordDesign:
    """Return the design with exact shares, its value, and a check of what it promises."""
    options, shares, _ = best
    exact = exact_shares(shares)
    used = [i for i, share in enumerate(exact) if share]
    kept = [options[i] for i in used]
    plan = Plan(branches=[Branch(exact[i], options[i].blocks) for i in used])
    costs = ground.costs(kept, np.array([float(exact[i]) for i in used]))
    total = sum(costs.values())
    found = RecordDesign(
        plan, problem.alpha, problem.objective, total, min(bound, total), dict(costs), notes,
        information=sum(
            float(exact[i]) * information_of(problem, options[i].blocks) for i in used
        ),
        distance=problem.distance,
    )  # fmt: skip
    assert found.certificate.satisfies(problem.alpha), "every block was rounded to its part of α"
    return found

r"""Plans whose promise is by distance: α per unit of the distance summed over columns.

Along a step of the sum one column changes by one of its own steps. So blocks side by side keep α
per unit iff each of them does: nothing is split. What is left to choose is which columns share a
matrix, of any columns that keep the summed distance: those of one wanted table, or none. The more
cells it has, the less it tells of each, so that a branch for each wanted table, whose other columns
are blank, may serve better than one branch for all.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from pramble.information.distributions import Table
from pramble.information.fisher import inner
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.privacy.certificate import distance_of_cells
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design_within
from pramble.solvers.general.variance import Variance, observed_variance
from pramble.solvers.metric.information import pair_bound
from pramble.solvers.record.matrices import (
    CLOSE,
    LEAST_EFFORT,
    Blocks,
    without_unused,
    workload_of,
)
from pramble.solvers.record.problem import RecordBlock, RecordDesign, RecordProblem
from pramble.solvers.record.search import Best, answer
from pramble.solvers.record.valuation import valuation_of

# Cells of several columns for which a matrix of their own is looked for.
MOST_JOINT = 64

# Cells of a record whose bound is looked for.
MOST_BOUND = 400

# Columns from which on branches are mixed.
MANY = 3
# The part of the effort that goes into the matrices of single columns.
ALONE = 0.25

# The part of the effort after which branches are mixed.
SEARCHING = 0.8

SEARCHED = (
    "The bound holds for every mechanism under this distance, and is not sharp; matrices of "
    f"several columns were looked for on at most {MOST_JOINT} cells."
)


def plan_by_distance(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the best plan found under distances."""
    each = ALONE * budget.left() / len(problem.columns)
    blocks: dict[Table, Mechanism] = {
        (name,): matrix_by_distance(problem, (name,), budget, effort=each)
        for name in problem.columns
    }
    ground = valuation_of(problem, budget)
    budget.clock.tell("single columns", ALONE)
    one_branch = problem.whole or len(problem.columns) < MANY
    part = budget if one_branch else budget.until(SEARCHING)
    branches = table_branches(problem, blocks, part, one_branch=one_branch)
    options = [option for own in branches if (option := ground.option(own)) is not None]
    alone: list[Best] = [
        ([option], np.ones(1), ground.costs([option], np.ones(1)))
        for option in (options if one_branch else options[:1])
    ]
    if not one_branch:
        start = np.full(len(options), 1 / len(options))
        alone.append(ground.best_mixture(options, budget, start=start))
    best = min(alone, key=lambda one: sum(one[2].values()))
    return answer(problem, ground, best, bound=variance_floor(problem), notes=(SEARCHED,))


def table_branches(
    problem: RecordProblem,
    blocks: Mapping[Table, Mechanism],
    budget: SearchBudget,
    *,
    one_branch: bool,
) -> Iterator[Blocks]:
    """Yield a branch of all single columns, and some for the columns of each wanted table."""
    yield blocks
    for left, table in zip(range(len(problem.tables), 0, -1), problem.tables, strict=True):
        others = {one: own for one, own in blocks.items() if one[0] not in table}
        if not one_branch and others:
            yield {(name,): blocks[name,] for name in table}
        if len(table) > 1 and problem.counts(table) <= MOST_JOINT and not budget.is_over():
            each = budget.left() / (left + 1)
            joint = {table: matrix_by_distance(problem, table, budget, effort=each)}
            yield {**joint, **others} if one_branch else joint
        budget.clock.tell("tables", 1 - left / len(problem.tables))


def matrix_by_distance(
    problem: RecordProblem,
    columns: Table,
    budget: SearchBudget,
    *,
    effort: float,
) -> Mechanism:
    block = problem.block(columns)
    # What the wanted tables ask of the block: its cells, or sums of them.
    shared = [tuple(name for name in columns if name in table) for table in problem.tables]
    found = design_within(
        budget.part(CLOSE, effort=max(effort, LEAST_EFFORT), quiet=True),
        inner(block.distribution),
        problem.alpha,
        objective="estimation",
        categories=block.labels,
        distance=block_distance(problem, block),
        workload=workload_of(block, [part for part in shared if part]),
    )
    return without_unused(found.mechanism)


def block_distance(problem: RecordProblem, block: RecordBlock) -> Distance:
    assert problem.distance is not None, "asked of problems with one"
    columns = [problem.labels[name] for name in block.columns]
    return distance_of_cells(
        block.labels, columns, [problem.distance[name] for name in block.columns]
    )


def variance_floor(problem: RecordProblem) -> float:
    """Return a proven bound on the cost: of the whole record if it is small, else of sampling."""
    sampled = sum(
        observed_variance(inner(problem.block(table).distribution), None)
        for table in problem.tables
    )
    if problem.counts(problem.columns) > MOST_BOUND:
        return sampled
    block = problem.block(problem.columns)
    workload = workload_of(block, problem.tables)
    distribution = inner(block.distribution)
    bound = pair_bound(
        distribution,
        problem.alpha,
        block_distance(problem, block),
        Variance(distribution, workload),
    )
    return max(bound, sampled)

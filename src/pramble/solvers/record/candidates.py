r"""Matrices for the cells of a block: closed forms, turns of a set, and designs for its tables."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pramble.errors import PrambleError
from pramble.information.records import Table
from pramble.information.tables import inner
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.design import design
from pramble.solvers.general.circulants import best_turns
from pramble.solvers.general.labelling import best_places
from pramble.solvers.record.problem import Block, RecordProblem
from pramble.solvers.result import Design
from pramble.values import Floats

MOST_DESIGNED, MOST_TURNED, MOST_CARRIED = 120, 420, 18


WORTH = 0.99
"""A table is carried by more columns only where that lowers its cost to this share."""


def parts_of(columns: Sequence[str], tables: Sequence[Table]) -> list[Table]:
    """Return the wanted tables among some columns, or what they share with them if there is none.

    >>> parts_of("ab", [("a", "b"), ("b", "c")]), parts_of("b", [("a", "b"), ("b", "c")])
    ([('a', 'b')], [('b',)])
    """
    within = [table for table in tables if set(table) <= set(columns)]
    if within:
        return within
    shared = (tuple(name for name in columns if name in table) for table in tables)
    return [part for part in dict.fromkeys(shared) if part]


def workload_of(block: Block, parts: Sequence[Table]) -> Floats:
    """Return the sums over a block's cells that give some of its margins, a row for each."""
    rows = []
    for part in parts:
        _, onto = block.onto(part)
        rows.append(np.arange(onto.max() + 1)[:, None] == onto[None, :])
    return np.concatenate(rows).astype(np.float64)


def best_cardinality(size: int, alpha: float) -> int:
    r"""Return the number of likelier outputs k that tells most about equally likely cells.

    With :math:`f = k/S` the information of a column is :math:`(a-1)^2 f(1-f)/(af + 1 - f)^2`,
    largest near :math:`f = 1/(1+a)`.
    """
    a = math.exp(alpha)
    told = [k * (size - k) / (k * a + size - k) ** 2 for k in range(1, size)]
    return 1 + int(np.argmax(told))


def turned(block: Block, alpha: float, *, variants: int = 1) -> Mechanism | None:
    """Return the matrix whose columns are the turns of some sets, if it could help.

    One set gives as many outputs as there are cells, in their places. More of them even out what
    one of them tells less of.
    """
    k = best_cardinality(block.size, alpha)
    if k == 1 or not 4 <= block.size <= MOST_TURNED:
        return None
    rng = np.random.default_rng(block.size * 1000 + k)
    sets = np.concatenate([best_turns(block.size, k, rng=rng) for _ in range(variants)])
    a = math.exp(alpha)
    matrix = np.where(sets, a, 1.0).T / ((k * a + block.size - k) * variants)
    if variants > 1:
        return Mechanism.from_matrix(matrix, block.labels.values, len(sets), alpha=alpha)
    placed = np.empty_like(matrix)
    placed[:, best_places(inner(block.law), matrix)] = matrix
    return Mechanism.from_matrix(placed, block.labels.values, block.labels.values, alpha=alpha)


def matrices(
    problem: RecordProblem, block: Block, alpha: float, *, deadline: float
) -> Iterator[Mechanism]:
    """Yield matrices for a block: randomised response, turns, and a design for its tables."""
    yield randomized_response(block.labels.values, alpha)
    other = turned(block, alpha)
    if other is not None:
        yield other
    left = deadline - time.monotonic()
    if 3 <= block.size <= MOST_DESIGNED and left > 0:
        workload = workload_of(block, parts_of(block.columns, problem.tables))
        try:
            yield design(
                inner(block.law),
                alpha,
                family="general",
                objective="estimation",
                categories=block.labels.values,
                workload=workload,
                tolerance=1e-3,
                time_limit=min(
                    left, problem.time_limit / (6 if block.columns in problem.tables else 20)
                ),
            ).mechanism
        except PrambleError:
            return


def carried_tables(problem: RecordProblem, deadline: float) -> Iterator[Mapping[Table, Mechanism]]:
    """Yield branches that release a table alone, into the cells of one more column as well.

    The best matrix for a table has more outputs than the table has cells. Another column of the
    record carries them: its own values are not looked at.
    """
    for table in problem.tables:
        own = problem.block(table)
        if not 3 <= own.size <= MOST_CARRIED or len(table) == len(problem.columns):
            continue
        plain = design_table(problem, own, "same", time.monotonic() + 4.0)
        for block in carriers(problem, table):
            if deadline < time.monotonic():
                return
            best = design_table(problem, own, block.size, deadline)
            if best.value < WORTH * plain.value:
                yield carried(block, table, best.mechanism)


def design_table(problem: RecordProblem, block: Block, outputs: Any, deadline: float) -> Design:
    """Return the best matrix for the cells of one table alone."""
    return design(
        inner(block.law),
        problem.alpha,
        family="general",
        objective="estimation",
        categories=block.labels.values,
        outputs=outputs,
        tolerance=1e-3,
        time_limit=max(min(deadline - time.monotonic(), 4.0), 0.1),
    )


def carried_alone(
    problem: RecordProblem, own: Block, carrier: Block, deadline: float
) -> Mechanism | None:
    """Return a matrix for one block's cells with as many outputs as another block has cells."""
    if own.size <= MOST_CARRIED:
        return design_table(problem, own, carrier.size, deadline).mechanism
    return turned(own, problem.alpha, variants=carrier.size // own.size)


def carriers(problem: RecordProblem, table: Table, *, most: int = MOST_DESIGNED) -> Iterator[Block]:
    """Yield blocks that hold a table and more: one column more, or all of them."""
    others = [name for name in problem.columns if name not in table]
    sets = [{*table, other} for other in others]
    if len(others) > 1:
        sets.append(set(problem.columns))
    for names in sets:
        columns = tuple(name for name in problem.columns if name in names)
        if math.prod(len(problem.labels[name].values) for name in columns) <= most:
            yield problem.block(columns)


def carried(block: Block, table: Table, mechanism: Mechanism) -> dict[Table, Mechanism]:
    """Return a block's mechanism that draws from a table's alone, into the block's first cells."""
    weights = np.zeros((block.size, block.size), dtype=np.int64)
    weights[:, : mechanism.shape[1]] = mechanism.weights[block.onto(table)[1]]
    return {block.columns: General(block.labels, block.labels, weights)}


def subsets(columns: Sequence[str], most: int) -> Iterator[Table]:
    """Yield every set of so many columns or fewer, the smaller ones first."""
    for size in range(1, min(most, len(columns)) + 1):
        yield from combinations(columns, size)

"""The verb: the best plan for a record."""

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.bound import information_bound
from pramble.information.measures import entropy, mutual_information
from pramble.information.possible import as_possible
from pramble.information.records import Table, as_law
from pramble.information.tables import LOST, covariance_of_cells, inner
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Branch, Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.guarantee import float_below
from pramble.solvers.design import design, positive, representable
from pramble.solvers.general.columns.semidefinite import proven_bound
from pramble.solvers.one_thread import one_thread
from pramble.solvers.record import dense, many
from pramble.solvers.record.candidates import (
    WORTH,
    carried,
    carried_alone,
    carried_tables,
    carriers,
    matrices,
    parts_of,
    subsets,
    workload_of,
)
from pramble.solvers.record.problem import (
    OBJECTIVES,
    Block,
    RecordProblem,
    as_columns,
    as_tables,
    refuse_impossible,
)
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.record.shares import LEAST, exact_shares
from pramble.solvers.watch import Watch
from pramble.values import Floats

MOST_STORED = 5000
MOST_PARTITIONED = 6
MOST_CARRYING, ENOUGH_OUTPUTS = 800, 6


def design_record(
    columns: Mapping[str, Any],
    alpha: float,
    *,
    prior: Any = None,
    possible: Any = None,
    tables: Any = 2,
    objective: str = "estimation",
    whole: bool = False,
    time_limit: float = 60.0,
) -> RecordDesign:
    r"""Return the best plan for a record of several columns under one promise.

    .. math:: \min_{\text{plan}} \sum_{T} \operatorname{tr} W_T (J^{-1} - pp^\top) W_T^\top
              \quad\text{s.t.}\quad J = \sum_b w_b J_b,\; \sum_{B \in b} \alpha_B \le \alpha ,

    over branches b with shares w, blocks B of columns in them, and the matrices of the blocks; T
    runs over the wanted tables.

    Parameters
    ----------
    columns : mapping from name to labels, or to a number of categories
    alpha : float
        α of the whole record.
    prior : array or mapping, optional
        Probabilities of all cells, in the order of the columns; or a mapping from tables (tuples of
        columns) to arrays; uniform unless given. Beware: a prior counted on confidential data makes
        the plan itself a statement about them.
    possible : boolean array, or rules, optional
        False where a cell cannot occur; or rules such as ``{"if": {"age": {"below": 15}}, "then":
        {"married": "no"}}`` (:mod:`pramble.information.possible`). Public knowledge only.
    tables : int, "all", or list of tuples of columns
        What analysts will want: all tables of so many columns, all tables, or these.
    objective : {"estimation", "information"}
        The variance of the wanted tables, or the information about the whole record.
    whole : bool
        Every record keeps all its columns: one branch.
    time_limit : float
        About how many seconds to search.

    Returns
    -------
    RecordDesign
        ``plan``, ``value``, ``bound``, ``costs`` by table, and the ``certificate``.

    Examples
    --------
    >>> import pramble
    >>> columns = {"sex": ["f", "m"], "ill": ["no", "yes"], "age": 3}
    >>> d = pramble.design_record(columns, 1.0, tables=2)
    >>> d.certificate.satisfies(1.0), d.value >= d.bound
    (True, True)
    >>> sorted(d.costs)
    [('ill', 'age'), ('sex', 'age'), ('sex', 'ill')]
    """
    labels = as_columns(columns)
    sizes = {name: len(own.values) for name, own in labels.items()}
    law = as_law(prior, sizes)
    cells = as_possible(possible, {name: own.values for name, own in labels.items()})
    refuse_impossible(law, cells)
    if objective not in OBJECTIVES:
        raise InvalidInput(f"The objective is one of {', '.join(OBJECTIVES)}; found {objective!r}.")
    problem = RecordProblem(
        labels=labels,
        alpha=representable(alpha),
        law=law,
        possible=cells,
        tables=as_tables(tables, tuple(labels)),
        objective=objective,
        whole=bool(whole),
        time_limit=positive("time_limit", time_limit),
    )
    with one_thread():
        if objective == "information":
            return most_informative(problem)
        if problem.size <= dense.MOST_CELLS:
            return few_cells(problem)
        return many_cells(problem)


def few_cells(problem: RecordProblem) -> RecordDesign:
    """Design with the information on all cells."""
    deadline = time.monotonic() + problem.time_limit
    cells = dense.Cells(problem)
    if problem.whole:
        options = [o for blocks in partitions_of(problem, deadline) if (o := cells.option(blocks))]
        best = min(options, key=lambda one: cells.value([one], np.ones(1)))
        kept, shares = [best], np.ones(1)
    else:
        options = [o for blocks in branches_of(problem, deadline) if (o := cells.option(blocks))]
        kept, shares = cells.best_mixture(options)
    exact = exact_shares(shares)
    used = [i for i, share in enumerate(exact) if share]
    kept = [kept[i] for i in used]
    plan = Plan(branches=[
        Branch(exact[i], one.blocks) for i, one in zip(used, kept, strict=True)
    ])  # fmt: skip
    costs = cells.costs(kept, np.array([float(exact[i]) for i in used]))
    return answer(problem, plan, costs, bound=dense_bound(problem, cells))


def dense_bound(problem: RecordProblem, cells: dense.Cells) -> float:
    """Return a bound on the value of every mechanism on the record."""
    workload = workload_of(cells.block, problem.tables)
    sampling = float((workload**2 @ cells.p).sum() - ((workload @ cells.p) ** 2).sum())
    watch = Watch(1e-3, problem.time_limit)
    return max(proven_bound(cells.p, problem.alpha, workload, watch=watch), sampling)


def branches_of(problem: RecordProblem, deadline: float) -> Iterator[Mapping[Table, Mechanism]]:
    """Yield branches: single columns side by side, and blocks of every size at the full α."""
    yield from carried_tables(problem, deadline)
    for columns in sorted(
        subsets(problem.columns, len(problem.columns)),
        key=lambda one: (one not in problem.tables, one != problem.columns, len(one)),
    ):
        yield {columns: best_matrix(problem, columns, problem.alpha, deadline=deadline)}
    if len(problem.columns) > 1:
        yield side_by_side(problem, [(name,) for name in problem.columns], deadline)


def side_by_side(
    problem: RecordProblem, blocks: Sequence[Table], deadline: float
) -> Mapping[Table, Mechanism]:
    """Return a branch of blocks that share α equally."""
    part = float_below(Fraction(problem.alpha) / len(blocks))
    return {block: best_matrix(problem, block, part, deadline=deadline) for block in blocks}


def best_matrix(
    problem: RecordProblem, columns: Table, alpha: float, *, deadline: float
) -> Mechanism:
    """Return the matrix for a block that costs least for what the wanted tables share with it."""
    block = problem.block(columns)
    workload = workload_of(block, parts_of(columns, problem.tables))
    found = matrices(problem, block, alpha, deadline=deadline)
    return min(found, key=lambda mechanism: cost_of(block, mechanism, workload))


def partitions_of(problem: RecordProblem, deadline: float) -> Iterator[Mapping[Table, Mechanism]]:
    """Yield single branches that keep all columns: every way to put them into blocks."""
    if len(problem.columns) > MOST_PARTITIONED:
        raise InvalidInput(
            f"whole=True takes at most {MOST_PARTITIONED} columns; there are "
            f"{len(problem.columns)}."
        )
    for blocks in partitions(problem.columns):
        if len(blocks) == 1:
            yield {blocks[0]: best_matrix(problem, blocks[0], problem.alpha, deadline=deadline)}
        else:
            yield side_by_side(problem, blocks, deadline)


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


def many_cells(problem: RecordProblem) -> RecordDesign:
    """Design without forming all cells: blocks in the ANOVA form, then table by table."""
    if problem.whole:
        raise InvalidInput(
            f"whole=True takes records of at most {dense.MOST_CELLS} cells; these have "
            f"{problem.size:,}."
        )
    deadline = time.monotonic() + problem.time_limit
    tables = many.Tables(problem)
    wanted = {block for block, _ in many.chosen_blocks(problem)} | set(problem.tables)
    shown: list[many.Shown] = []
    taken = {frozenset(columns) for columns in wanted}
    for columns in sorted(wanted, key=lambda one: (len(one), one)):
        block = problem.block(columns)
        mechanism = best_matrix(problem, columns, problem.alpha, deadline=deadline)
        blocks: Mapping[Table, Mechanism] = {columns: mechanism}
        better = carried_branch(problem, block, mechanism, taken=taken, deadline=deadline)
        if better is not None:
            mechanism, blocks = better
            taken.add(frozenset(next(iter(blocks))))
        one = tables.shown(block, mechanism, blocks)
        shown.extend([] if one is None else [one])
    shares = tables.best_shares(shown)
    shown = [one for one, share in zip(shown, shares, strict=True) if share > LEAST]
    shares = tables.best_shares(shown)
    exact = exact_shares(shares)
    used = [i for i, share in enumerate(exact) if share]
    plan = Plan(branches=[
        Branch(exact[i], shown[i].blocks) for i in used
    ])  # fmt: skip
    costs = tables.costs([shown[i] for i in used], np.array([float(exact[i]) for i in used]))
    bound = sum(table_bound(problem, table) for table in problem.tables)
    note = "The bound is the sum of what each table would cost if it were the only one."
    return answer(problem, plan, costs, bound=bound, notes=(note,))


def carried_branch(
    problem: RecordProblem,
    block: Block,
    mechanism: Mechanism,
    *,
    taken: Collection[frozenset[str]],
    deadline: float,
) -> tuple[Mechanism, Mapping[Table, Mechanism]] | None:
    """Return a better matrix for a block, carried by a column more, where there is one to spare."""
    workload = workload_of(block, parts_of(block.columns, problem.tables))
    cost = cost_of(block, mechanism, workload)
    free = [
        one
        for one in carriers(problem, block.columns, most=MOST_CARRYING)
        if frozenset(one.columns) not in taken
    ]
    if block.size < 3 or not free or time.monotonic() > deadline:
        return None
    carrier = max(free, key=lambda one: (min(one.size, ENOUGH_OUTPUTS * block.size), -one.size))
    found = carried_alone(problem, block, carrier, deadline)
    if found is None or cost_of(block, found, workload) > WORTH * cost:
        return None
    return found, carried(carrier, block.columns, found)


def cost_of(block: Block, mechanism: Mechanism, workload: Floats) -> float:
    """Return the summed variance of some sums of a block's cells."""
    covariance = covariance_of_cells(mechanism.operator.dense(), block.law)
    if np.abs(workload @ covariance.lost).max(initial=0.0) > LOST:
        return math.inf
    return float(((workload @ covariance.matrix) * workload).sum())


def table_bound(problem: RecordProblem, table: Table) -> float:
    """Return what a table costs at least, if nothing else were wanted."""
    p = inner(problem.block(table).law)
    watch = Watch(1e-3, problem.time_limit / len(problem.tables))
    return max(proven_bound(p, problem.alpha, None, watch=watch), 1 - float(p @ p))


def most_informative(problem: RecordProblem) -> RecordDesign:
    """Return the one branch that tells most of the record: information is linear in shares."""
    block = problem.block(problem.columns)
    p = block.law
    bound = min(information_bound(problem.alpha), entropy(p))
    if block.size <= MOST_STORED:
        best = design(
            p, problem.alpha, family="general", categories=block.labels.values,
            time_limit=problem.time_limit,
        )  # fmt: skip
        mechanism, bound = best.mechanism, min(bound, best.bound)
    else:
        mechanism = randomized_response(block.labels.values, problem.alpha)
    plan = Plan({problem.columns if len(problem.columns) > 1 else problem.columns[0]: mechanism})
    value = mutual_information(p, mechanism)
    return RecordDesign(plan, problem.alpha, problem.objective, value, max(bound, value), {})


def answer(
    problem: RecordProblem,
    plan: Plan,
    costs: Mapping[Table, float],
    *,
    bound: float,
    notes: tuple[str, ...] = (),
) -> RecordDesign:
    """Return the design with its value, and check what it promises."""
    total = sum(costs.values())
    found = RecordDesign(
        plan, problem.alpha, problem.objective, total, min(bound, total), dict(costs), notes
    )
    assert found.certificate.satisfies(problem.alpha), "every block was rounded to its part of α"
    return found

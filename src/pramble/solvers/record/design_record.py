r"""The verb: the best plan for a record.

**Promises by distance.** Along a step of the sum one column changes by one of its own steps. So
blocks side by side keep α per unit iff each of them does: nothing is split. What is left to choose
is which columns share a matrix, of any columns that keep the summed distance: those of one wanted
table, or none. The more cells it has, the less it tells of each, so that a branch for each wanted
table, whose other columns are blank, may serve better than one branch for all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidInput
from pramble.information.distributions import Table, as_distribution, as_tables
from pramble.information.fisher import inner
from pramble.information.structural_zeros import as_possible
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance, as_distance
from pramble.one_thread import one_thread
from pramble.privacy.certificate import distance_of_cells
from pramble.solvers.budget import SearchBudget, SearchOptions, budget_of
from pramble.solvers.design import design_within
from pramble.solvers.general.variance import Variance, observed_variance
from pramble.solvers.metric.information import pair_bound
from pramble.solvers.problem import ObjectiveName, representable_alpha
from pramble.solvers.record.central import best_file, central_terms
from pramble.solvers.record.matrices import LEAST_EFFORT, Blocks, without_unused, workload_of
from pramble.solvers.record.problem import (
    OBJECTIVES,
    RecordBlock,
    RecordDesign,
    RecordProblem,
    as_columns,
    refuse_impossible_prior,
    refuse_wide_tables,
)
from pramble.solvers.record.search import Best, answer, plan_for_alpha
from pramble.solvers.record.valuation import valuation_of

# The effort of a search, and how much more for each wanted table; at most so much.
PLAIN_EFFORT, EFFORT_BY_DISTANCE, MOST_EFFORT = (5.0, 0.05), (15.0, 4.0), 60.0

CLOSE = 1e-3
CUT_SHORT = "The time limit cut the search short: more time, or an effort, may find a better plan."


def design_record(
    columns: Mapping[str, Any],
    alpha: float | None = None,
    *,
    prior: Any = None,
    possible: Any = None,
    tables: Any = 2,
    objective: ObjectiveName = "estimation",
    whole: bool = False,
    distance: Mapping[str, Any] | None = None,
    central: tuple[float, float] | None = None,
    rows: int | None = None,
    rows_per_person: int = 1,
    **search: Unpack[SearchOptions],
) -> RecordDesign:
    r"""Return the best plan for a record of several columns under one promise.

    .. math:: \min_{\text{plan}} \sum_{T} \operatorname{tr} W_T (J^{-1} - pp^\top) W_T^\top
              \quad\text{s.t.}\quad J = \sum_b w_b J_b,\; \sum_{B \in b} \alpha_B \le \alpha ,

    over branches b with shares w, blocks B of columns in them, and the matrices of the blocks; T
    runs over the wanted tables.

    Parameters
    ----------
    columns : mapping from name to labels, or to a number of categories
    alpha : float, optional
        α of the whole record: a promise that holds whatever happens to the file.
    prior : array or mapping, optional
        Probabilities of all cells, in the order of the columns; or a mapping from tables (tuples of
        columns) to arrays; uniform unless given. Beware: a prior counted on confidential data makes
        the plan itself a statement about them.
    possible : boolean array, or rules, optional
        False where a cell cannot occur; or rules such as ``{"if": {"age": {"below": 15}}, "then":
        {"married": "no"}}`` (:mod:`pramble.information.structural_zeros`). Public knowledge only.
    tables : int, "all", or list of tuples of columns
        What analysts will want: all tables of so many columns, all tables, or these.
    objective : {"estimation", "information"}
        The variance of the wanted tables, or the information about the whole record.
    whole : bool
        Every record keeps all its columns: one branch.
    distance : mapping from name to "path", matrix or Distance, optional
        Promise α per unit of distance instead, summed over the columns; any two categories of a
        column that is left out are one unit apart. Along a step of the sum one column changes, so
        that none takes from what the others may tell.
    central : (float, float), optional
        (ε, δ) instead of α: the plan with the least error, or the most information, whose
        *shuffled* file keeps this promise towards every reader (`pramble.central_guarantee`). No
        column may then be released as it is, and the rows must stand in a secure random order.
    rows : int, optional
        The number of rows of that file.
    rows_per_person : int
        With ``central``: the most rows of one person.
    **search
        ``effort``, ``time_limit`` and ``progress``, as in :func:`~pramble.design`. The effort is 5
        unless given (20 under a distance), with more than a few tables up to 60. Small records take
        less.

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

    For the readers of a shuffled file of 100,000 people, nearly every record stays as it is:

    >>> d = pramble.design_record(columns, central=(1.0, 1e-6), rows=100_000)
    >>> d.central.epsilon <= 1.0, d.value < 1.02 * d.bound
    (True, True)
    """
    if (alpha is None) == (central is None):
        raise InvalidInput("Give alpha, or central=(epsilon, delta) with rows=: one promise.")
    if central is not None:
        epsilon, terms = central_terms(central, rows, rows_per_person)
    labels = as_columns(columns)
    sizes = {name: len(own.values) for name, own in labels.items()}
    distribution = as_distribution(prior, sizes)
    cells = as_possible(possible, {name: own.values for name, own in labels.items()})
    refuse_impossible_prior(distribution, cells)
    if objective not in OBJECTIVES:
        raise InvalidInput(f"The objective is one of {', '.join(OBJECTIVES)}; found {objective!r}.")
    problem = RecordProblem(
        labels=labels,
        alpha=representable_alpha(1.0 if alpha is None else alpha),
        distribution=distribution,
        possible=cells,
        tables=as_tables(tables, tuple(labels)),
        objective=objective,
        whole=bool(whole),
        distance=as_distances(distance, labels),
    )
    if problem.distance is not None and central is not None:
        raise InvalidInput("central has no meaning under a distance; leave one of them out.")
    if problem.distance is not None and objective != "estimation":
        raise InvalidInput(
            "Under a distance a record is designed for estimation; for information design its "
            "columns one by one."
        )
    if search.get("effort") is None and search.get("time_limit") is None:
        base, each = PLAIN_EFFORT if problem.distance is None else EFFORT_BY_DISTANCE
        search["effort"] = min(base + each * len(problem.tables), MOST_EFFORT)
    budget = budget_of(CLOSE, search)
    with one_thread():
        if problem.distance is not None:
            found = plan_by_distance(problem, budget)
        elif central is not None:
            found = best_file(problem, budget, epsilon=epsilon, **terms)
        else:
            if objective == "estimation":
                refuse_wide_tables(problem)
            found = plan_for_alpha(problem, budget)
    budget.reporter.report("done", 1.0, value=found.value, bound=found.bound)
    if budget.seconds_left() <= 0:
        return replace(found, notes=(*found.notes, CUT_SHORT))
    return found


def as_distances(
    given: Mapping[str, Any] | None, labels: Mapping[str, Labels]
) -> dict[str, Distance] | None:
    """Return the distance of every column; None where none was asked for."""
    if given is None:
        return None
    unknown = next((name for name in given if name not in labels), None)
    if unknown is not None or not given:
        raise InvalidInput(f"distance maps columns of the record to distances; found {unknown!r}.")
    return {
        name: Distance.equal(len(own)).named(own)
        if name not in given
        else as_distance(given[name], own).named(own)
        for name, own in labels.items()
    }


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
    budget.reporter.report("single columns", ALONE)
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
        budget.reporter.report("tables", 1 - left / len(problem.tables))


def matrix_by_distance(
    problem: RecordProblem, columns: Table, budget: SearchBudget, *, effort: float
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

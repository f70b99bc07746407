"""The verb: the best plan for a record."""

from collections.abc import Mapping
from typing import Any

from pramble.errors import InvalidInput
from pramble.information.bound import information_bound
from pramble.information.measures import entropy, mutual_information
from pramble.information.possible import as_possible
from pramble.information.records import as_law
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.design import design, positive, representable
from pramble.solvers.one_thread import one_thread
from pramble.solvers.record.problem import (
    OBJECTIVES,
    RecordProblem,
    as_columns,
    as_tables,
    refuse_impossible,
)
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.record.search import best_plan
from pramble.solvers.record.whole import whole_plan
from pramble.solvers.watch import Watch
from pramble.values import Watcher

MOST_STORED = 5000
SECONDS = 8.0
CLOSE = 1e-3


def design_record(
    columns: Mapping[str, Any],
    alpha: float,
    *,
    prior: Any = None,
    possible: Any = None,
    tables: Any = 2,
    objective: str = "estimation",
    whole: bool = False,
    time_limit: float = SECONDS,
    progress: Watcher | None = None,
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
        How many seconds to search at most. Small records take less.
    progress : callable, optional
        Is called with a :class:`~pramble.Progress` now and then.

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
    )
    watch = Watch(CLOSE, positive("time_limit", time_limit), progress)
    with one_thread():
        if objective == "information":
            found = most_informative(problem, watch)
        else:
            found = (whole_plan if problem.whole else best_plan)(problem, watch)
    watch.clock.tell("done", 1.0, value=found.value, bound=found.bound)
    return found


def most_informative(problem: RecordProblem, watch: Watch) -> RecordDesign:
    """Return the one branch that tells most of the record: information is linear in shares."""
    block = problem.block(problem.columns)
    p = block.law
    bound = min(information_bound(problem.alpha), entropy(p))
    if block.size <= MOST_STORED:
        best = design(
            p, problem.alpha, family="general", categories=block.labels.values,
            time_limit=watch.time_limit,
        )  # fmt: skip
        mechanism, bound = best.mechanism, min(bound, best.bound)
    else:
        mechanism = randomized_response(block.labels.values, problem.alpha)
    plan = Plan({problem.columns if len(problem.columns) > 1 else problem.columns[0]: mechanism})
    value = mutual_information(p, mechanism)
    return RecordDesign(plan, problem.alpha, problem.objective, value, max(bound, value), {})

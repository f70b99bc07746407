"""The verb: the best plan for a record."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from pramble.data.labels import Labels
from pramble.errors import InvalidInput
from pramble.information.distributions import as_distribution, as_tables
from pramble.information.structural_zeros import as_possible
from pramble.mechanisms.distance import Distance, as_distance
from pramble.one_thread import one_thread
from pramble.solvers.budget import SearchOptions, budget_of
from pramble.solvers.problem import ObjectiveName, representable_alpha
from pramble.solvers.record.by_distance import plan_by_distance
from pramble.solvers.record.central import best_file, central_terms
from pramble.solvers.record.problem import (
    OBJECTIVES,
    RecordDesign,
    RecordProblem,
    as_columns,
    refuse_impossible_prior,
    refuse_wide_tables,
)
from pramble.solvers.record.search import plan_for_alpha

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
    budget.clock.tell("done", 1.0, value=found.value, bound=found.bound)
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

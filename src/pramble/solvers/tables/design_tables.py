"""The verb: the least noise with which tables can be published under a central promise."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.table_plan import TablePlan
from pramble.one_thread import one_thread
from pramble.privacy.gaussian import largest_mu_squared
from pramble.privacy.shuffled.central import whole
from pramble.solvers.tables.choice import plan_with_choice, problem_of
from pramble.solvers.tables.least_largest import least_largest
from pramble.solvers.tables.least_noise import LeastNoise, least_noise
from pramble.solvers.tables.precisions import settled
from pramble.solvers.tables.problem import Objective, TableProblem, as_table_problem
from pramble.solvers.tables.result import TableDesign
from pramble.values import Clock, Watcher


def design_tables(
    columns: Mapping[str, Any],
    epsilon: float,
    delta: float,
    *,
    tables: int | str | Sequence[Any] = 2,
    rows_per_person: int = 1,
    importance: Mapping[Any, float] | None = None,
    objective: Objective = "variance",
    progress: Watcher | None = None,
) -> TableDesign:
    r"""Return the least noise with which contingency tables keep a central promise.

    .. math:: \min_u \sum_{T} w_T \sum_{\text{cells of } T} \operatorname{Var}(\hat T)
              \quad\text{s.t.}\quad \sum_{A} g_A(s)\, u_A \le \mu^2(\varepsilon, \delta)

    for every pattern s of columns in which two records may differ. Every table is taken apart into
    the effects of its columns and their interactions; :math:`u_A` is the precision with which the
    interaction of the columns A is measured, once for all tables that hold it
    (:mod:`pramble.mechanisms.table_plan`). This is the least noise of all linear mechanisms with
    Gaussian noise (Xiao, He, Zhang and Kifer 2023), and nothing of the file is used.

    Parameters
    ----------
    columns : mapping from name to labels, or to a number of categories
    epsilon, delta : float
        The promise: for any two files that differ in one person's rows and every event,
        :math:`P(E) \le e^\varepsilon P'(E) + \delta`.
    tables : int or list of tuples of columns
        The tables that analysts will want: all of so many columns, or these. Every table within a
        wanted one comes with it. "auto": all pairs, and the triples that the pairs do not imply
        already, as far as their noise is worth it; :func:`measure` chooses them from the file, and
        the guarantee covers the choice (:mod:`pramble.mechanisms.table_choice`).
    rows_per_person : int
        The most rows of one person that are counted. With one, the number of records is public;
        with more it is measured like the tables.
    importance : mapping from wanted table to number, optional
        How much the variance of each table matters; 1 for those that are not named.
    objective : {"variance", "relative", "largest"}
        The summed variance of all cells; the squared error relative to the mean count of a cell,
        averaged over the cells of each table and summed over tables; or the largest variance of a
        cell of any table.
    progress : callable, optional
        Is called with a :class:`~pramble.Progress` now and then.

    Returns
    -------
    TableDesign
        ``deviations`` of the wanted tables in people, ``value``, ``bound``, ``guarantee``.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": ["f", "m"], "age": 5, "town": 9}, 1.0, 1e-6)
    >>> {table: round(own, 1) for table, own in d.deviations.items()}
    {('sex', 'age'): 11.1, ('sex', 'town'): 9.5, ('age', 'town'): 7.5}
    >>> d.guarantee.epsilon <= 1.0, d.gap < 1e-4
    (True, True)
    """
    budget = largest_mu_squared(number(epsilon, "epsilon"), number(delta, "delta"))
    k = whole(rows_per_person, "rows_per_person", most=int(LARGEST_TOTAL))
    chosen = is_choice(tables, importance, objective)
    stated = min(2, len(columns)) if chosen else tables
    problem = as_table_problem(columns, tables=stated, importance=importance, objective=objective)
    if chosen and len(problem.labels) > 2:
        plan = plan_with_choice(problem.labels, budget, delta=float(delta), rows_per_person=k)
        return valued(plan, float(epsilon))
    clock = Clock(progress)
    found = least(problem, objective, clock, has_total=k > 1)
    precision = settled(problem, found.precision, budget / (k * k), has_total=k > 1)
    plan = TablePlan(problem.labels, problem.tables, precision, float(delta), k)
    value, bound = value_of(problem, plan, objective), found.bound * k * k / float(budget)
    clock.tell("done", 1.0)
    return TableDesign(plan, float(epsilon), float(delta), objective, value, min(bound, value))


def least(problem: TableProblem, objective: str, clock: Clock, *, has_total: bool) -> LeastNoise:
    """Return the best precisions at μ² = 1, and the bound that proves them."""
    with one_thread():
        if objective == "largest":
            return least_largest(problem, clock, has_total=has_total)
        costs = np.append(problem.costs, problem.cost_of_total) if has_total else problem.costs
        return least_noise(problem.parts, costs, clock, has_total=has_total)


def valued(plan: TablePlan, epsilon: float) -> TableDesign:
    """Return the design of a plan whose tables are, or were, chosen from a file.

    The bound is for the same tables without the price of the choice.
    """
    assert plan.choice is not None, "asked for where tables are chosen"
    problem, k = problem_of(plan.labels, plan.chosen), plan.rows_per_person
    found = least(problem, "variance", Clock(None), has_total=k > 1)
    value = value_of(problem, plan, "variance")
    bound = found.bound * k * k / plan.choice.mu_squared
    return TableDesign(plan, epsilon, plan.delta, "variance", value, min(bound, value))


def is_choice(tables: Any, importance: Any, objective: str) -> bool:
    """Whether tables are chosen from the file; refuse what does not go with that."""
    found = isinstance(tables, str) and tables == "auto"
    if found and (importance is not None or objective != "variance"):
        raise InvalidInput(
            'tables="auto" goes with objective="variance" and no importance. List the tables that '
            "matter to state either."
        )
    return found


def number(given: Any, name: str) -> float:
    """Return a number as a float; refuse anything else."""
    try:
        if not isinstance(given, str | bool):
            return float(given)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInput(f"{name} must be a number; found {given!r}.")


def value_of(problem: TableProblem, plan: TablePlan, objective: str) -> float:
    """Return the weighted variance of all cells of the wanted tables, or the largest of a cell."""
    weights: list[float] = problem.weights.tolist()
    cells = list(plan.variances.values())
    if objective == "largest":
        return max(weight * own for weight, own in zip(weights, cells, strict=True))
    sizes = [plan.cells(table) for table in problem.tables]
    return sum(w * size * own for w, size, own in zip(weights, sizes, cells, strict=True))

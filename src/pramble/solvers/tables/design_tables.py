"""The verb: the least noise with which tables can be published under a central promise."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidInput
from pramble.mechanisms.table_plan import TablePlan
from pramble.one_thread import one_thread
from pramble.privacy.gaussian import largest_mu_squared
from pramble.privacy.guarantee import float_below
from pramble.privacy.largest_shift import largest_shift
from pramble.privacy.patterns import exchangeable
from pramble.privacy.table_privacy import presence
from pramble.solvers.tables.least_largest import least_largest
from pramble.solvers.tables.least_noise import least_noise
from pramble.solvers.tables.problem import Objective, TableProblem, as_table_problem
from pramble.solvers.tables.result import TableDesign
from pramble.values import Clock, Floats, Watcher


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
        wanted one comes with it.
    rows_per_person : int
        The most rows of one person that are counted. With one, the number of records is public;
        with more it is measured like the tables.
    importance : mapping from wanted table to number, optional
        How much the variance of each table matters, 1 unless it is said.
    objective : {"variance", "relative", "largest"}
        The summed variance of all cells; each table's in shares of its mean count; or the largest
        variance of a cell of any table.
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
    problem = as_table_problem(columns, tables=tables, importance=importance, objective=objective)
    k = checked_rows(rows_per_person)
    mu_squared = largest_mu_squared(float(epsilon), float(delta))
    clock = Clock(progress)
    with one_thread():
        if objective == "largest":
            found = least_largest(problem, clock)
        else:
            found = least_noise(problem.parts, problem.costs(problem.weights), clock)
        precision = settled(problem, found.precision, mu_squared / (k * k))
    plan = plan_of(problem, precision, delta=float(delta), rows_per_person=k)
    value, bound = value_of(problem, plan, objective), found.bound * k * k / float(mu_squared)
    if k > 1:
        bound += cost_of_total(problem, objective) * k * k / float(mu_squared)
    clock.tell("done", 1.0)
    return TableDesign(plan, float(epsilon), float(delta), objective, value, min(bound, value))


def checked_rows(rows: Any) -> int:
    """Return a number of rows of one person; refuse what is none."""
    if isinstance(rows, bool) or int(rows) != rows or rows < 1:
        raise InvalidInput(f"rows_per_person is a whole number of at least 1; found {rows!r}.")
    return int(rows)


def value_of(problem: TableProblem, plan: TablePlan, objective: str) -> float:
    """Return the weighted variance of all cells of the wanted tables, or the largest of a cell."""
    weights: list[float] = problem.weights.tolist()
    cells = [plan.cell_variance(table) for table in problem.tables]
    if objective == "largest":
        return max(weight * own for weight, own in zip(weights, cells, strict=True))
    sizes = [plan.cells(table) for table in problem.tables]
    return sum(w * size * own for w, size, own in zip(weights, sizes, cells, strict=True))


def cost_of_total(problem: TableProblem, objective: str) -> float:
    """Return what a noisy total adds to the value, for each unit of its variance, at the least."""
    sizes = {name: len(own) for name, own in problem.labels.items()}
    cells = [math.prod(sizes[name] for name in table) for table in problem.tables]
    if objective == "largest":
        return 0.0
    weights: list[float] = problem.weights.tolist()
    return sum(w / size for w, size in zip(weights, cells, strict=True))


def settled(problem: TableProblem, precision: Floats, mu_squared: Fraction) -> list[float]:
    """Return precisions as floats whose largest shift is proven to be within μ²."""
    parts = problem.parts
    shift = largest_shift(parts, precision.tolist()).bound
    scale = float_below(mu_squared / shift)
    for _ in range(100):
        found = [float(own) * scale for own in precision]
        shift = largest_shift(parts, found).bound
        if shift <= mu_squared:
            return found
        scale *= float(mu_squared / shift) * (1 - 2.0**-50)
    raise AssertionError("a scale that is lowered again and again keeps the promise")


def plan_of(
    problem: TableProblem, precision: Sequence[float], *, delta: float, rows_per_person: int
) -> TablePlan:
    """Return the plan; where a person may have several rows the total is measured for nothing.

    The shift of one record for none is smaller than that of one for another: what is left of it
    goes to the total.
    """
    by_part = {
        part: own
        for members, own in zip(problem.parts.members, precision, strict=True)
        for part in members
    }
    ordered = {part: by_part[part] for part in sorted(by_part, key=part_order(problem))}
    if rows_per_person == 1:
        return TablePlan(problem.labels, problem.tables, ordered, delta)
    alone = {(): 1.0, **ordered}
    plan = TablePlan(problem.labels, problem.tables, alone, delta, rows_per_person)
    largest = largest_shift(exchangeable(plan.sizes, ordered), precision_of(plan)).bound
    alone[()] = float_below(largest - presence(plan))
    return TablePlan(problem.labels, problem.tables, alone, delta, rows_per_person)


def precision_of(plan: TablePlan) -> list[float]:
    """Return the precision of each kind of part."""
    kinds = exchangeable(plan.sizes, {part: plan.precision[part] for part in plan.parts})
    return [plan.precision[members[0]] for members in kinds.members]


def part_order(problem: TableProblem) -> Any:
    """Return the key by which parts are sorted: small ones first, as columns stand."""
    place = {name: i for i, name in enumerate(problem.labels)}
    return lambda part: (len(part), [place[name] for name in part])

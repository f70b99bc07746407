r"""The verb: the least noise with which tables can be published under a central promise.

The precisions for which the noisiest table has the least noise, and a bound that proves it.

For any weights :math:`\omega` of the tables that sum to one, the least weighted mean of their
variances is at most the least largest one, so that

.. math:: \max_{\lambda, \omega \in \Delta}
          \Big(\sum_A \sqrt{(C^\top\omega)_A (G^\top\lambda)_A}\Big)^2 / \mu^2

is a bound, with :math:`C_{TA}` the variance that one unit of noise in the part A gives a cell of
the table T. It is concave in both mixtures together.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.table_plan import TablePlan, subsets
from pramble.one_thread import one_thread
from pramble.privacy.central import positive_count
from pramble.privacy.guarantee import largest_mu_squared
from pramble.solvers.tables.choice import plan_with_choice, problem_of
from pramble.solvers.tables.least_noise import (
    BARRIERS,
    NEARLY,
    NEWTON_STEPS,
    ROUNDS,
    SAFE,
    LeastNoise,
    Objective,
    PatternPool,
    TableProblem,
    as_table_problem,
    least_noise,
)
from pramble.solvers.tables.precisions import settled
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
        wanted one comes with it. "auto": all pairs, and the triples that the pairs do not imply
        already, as far as their noise is worth it; :func:`measure` chooses them from the file, and
        the guarantee covers the choice (:mod:`pramble.mechanisms.table_plan`).
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
    k = positive_count(rows_per_person, "rows_per_person", most=int(LARGEST_TOTAL))
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


def least_largest(problem: TableProblem, clock: Clock, *, has_total: bool = False) -> LeastNoise:
    pool = PatternPool(problem.parts, has_total=has_total)
    costs = costs_of_cells(problem, has_total=has_total)
    shares, bound = np.full(len(costs), 1 / len(costs)), 0.0
    for _ in range(ROUNDS):
        pool.mixture, shares = best_mixtures(pool.gains, costs, pool.mixture, shares)
        weighted, asked = pool.gains.T @ pool.mixture, costs.T @ shares
        together = float(np.sqrt(asked * weighted).sum())
        bound = max(bound, together**2 * SAFE)
        u = np.sqrt(asked / weighted) / together
        u = u / float((pool.gains @ u).max())
        found = LeastNoise(u, float((costs @ (1 / u)).max()), bound)
        largest = pool.grow(found)
        clock.tell("designing tables", 1 / largest)
        if largest == 1.0:
            break
    return LeastNoise(found.precision, found.value, bound)


def best_mixtures(
    gains: Floats, costs: Floats, mixture: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    r"""Return the mixtures of patterns and of tables with the best bound, by Newton's method.

    Maximises :math:`2\sum_A \sqrt{(C^\top\omega)_A (G^\top\lambda)_A} - \sum_s \lambda_s` with a
    barrier for both, where the :math:`\omega_T` sum to one.
    """
    costs = costs / float(np.sqrt((costs.T @ shares) * (gains.T @ mixture)).sum()) ** 2
    ones = np.concatenate([np.zeros(len(mixture)), np.ones(len(shares))])
    point = np.concatenate([mixture / mixture.sum(), shares / shares.sum()])
    cut = len(mixture)
    for barrier in BARRIERS:
        tau = barrier * np.concatenate(
            [np.full(cut, 1 / cut), np.full(len(shares), 1 / len(shares))]
        )
        for _ in range(NEWTON_STEPS):
            b, a = gains.T @ point[:cut], costs.T @ point[cut:]
            roots = np.concatenate([gains @ np.sqrt(a / b), costs @ np.sqrt(b / a)])
            slope = roots + ones - 1 + tau / point
            scaled = np.concatenate([gains / b, -costs / a])
            bend = (scaled * (0.5 * np.sqrt(a * b))) @ scaled.T + np.diag(tau / point**2)
            step, across = np.linalg.solve(bend, np.stack([slope, ones], axis=1)).T
            step = step - across * (float(ones @ step) / float(ones @ across))
            size = min(1.0, 0.9 / max(float((-step / point).max()), 1e-300))
            point = point + size * step
            if float(np.abs(step / point).max()) < NEARLY:
                break
    return point[:cut] / point[:cut].sum(), point[cut:] / point[cut:].sum()


def costs_of_cells(problem: TableProblem, *, has_total: bool) -> Floats:
    """Return the weighted variance of a cell of each table, for each unit of noise in each kind."""
    # Tables with the same ones stand for each other.
    sizes = {name: len(own) for name, own in problem.labels.items()}
    kind = {part: i for i, members in enumerate(problem.parts.members) for part in members}
    found = np.zeros((len(problem.tables), len(problem.parts.members) + int(has_total)))
    for row, (table, weight) in enumerate(
        zip(problem.tables, problem.weights.tolist(), strict=True)
    ):
        for part in subsets(table):
            if part or has_total:
                inside = math.prod(1 - 1 / sizes[name] for name in part)
                beside = math.prod(sizes[name] for name in table if name not in part)
                found[row, kind[part] if part else -1] += weight * inside / beside**2
    return np.unique(found, axis=0)

r"""The verb: the least noise with which tables can be published under a central promise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.information.distributions import Table
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.table_plan import TablePlan, TableWeights, subsets
from pramble.one_thread import one_thread
from pramble.privacy.central import positive_count
from pramble.privacy.certificate import certify
from pramble.privacy.gaussian import (
    epsilon_above,
    float_below,
    largest_mu_squared,
    stated_number,
)
from pramble.privacy.table_privacy import TableGuarantee, spent_on_weights, table_guarantee
from pramble.shown import Display, Grid, number, shortened
from pramble.solvers.tables.choice import plan_with_choice, problem_of
from pramble.solvers.tables.least_noise import (
    LeastNoise,
    Objective,
    TableProblem,
    as_table_problem,
    least_noise,
    proven_precisions,
    rounded_down,
)
from pramble.values import Floats, Reporter, Watcher, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Designs are found to this precision: noise is asked for that is smaller by so much.
MARGIN = 1 + Fraction(1, 10**6)

# Shares of μ² that weighted tables and the sum of squared weights get. Shares of records and of
# their weights are equally wanted; of the squares only their rough size, which widens intervals.
OF_WEIGHTS, OF_SQUARES = Fraction(15, 32), Fraction(1, 32)


@frozen(eq=False, repr=False)
class TableDesign(Display, Tidy):
    r"""The answer of :func:`~pramble.design_tables`.

    Attributes
    ----------
    plan : TablePlan
        The precision of every part of the wanted tables.
    epsilon, delta : float
        What was asked for.
    objective : str
    value : float
        The variance of the noise summed over all cells of the wanted tables, each table weighted by
        its importance. For relative errors: the variance in shares of the squared mean count of a
        cell, averaged over the cells of a table and summed over tables, for a file of one record
        (of n records, divide by n²). For the largest error: the largest variance of a cell, times
        the importance of its table.
    bound : float
        Proven: no linear mechanism with Gaussian noise of this promise, or of what weighted tables
        leave of it, has less.
    deviations : mapping from table to float
        The standard deviation of the noise in a cell of each wanted table, in people.
    weighted_deviations : mapping from table to float
        The same of weighted tables, in units of the weights; empty without.
    guarantee : TableGuarantee
        What is proven of the plan.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_tables({"sex": 2, "age": 5, "town": 9}, 1.0, 1e-6, tables=2)
    >>> d
    Design of 3 tables at ε = 1, δ = 1e-06: noise of ± 8.63 people a cell
    ----------------------------------
                cells  people a cell ±
    ----------------------------------
    sex × age      10            11.12
    sex × town     18            9.549
    age × town     45             7.54
    ----------------------------------
    No linear Gaussian mechanism has more than ... % less noise variance.
    """

    plan: TablePlan
    epsilon: float
    delta: float
    objective: str
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """How far value and bound are apart, as a share of the value."""
        return abs(self.bound - self.value) / self.value

    @cached_property
    def deviations(self) -> Mapping[Table, float]:
        """The standard deviation of the noise in a cell of each wanted table, in people."""
        return {table: math.sqrt(own) for table, own in self.plan.variances.items()}

    @cached_property
    def weighted_deviations(self) -> Mapping[Table, float]:
        """The standard deviation of the noise in a cell of each weighted table."""
        return self.plan.weighted_deviations

    @cached_property
    def guarantee(self) -> TableGuarantee:
        """What is proven of the plan."""
        return table_guarantee(self.plan)

    @property
    def typical(self) -> float:
        """The root mean square of the noise over the cells of all wanted tables, in people."""
        plan = self.plan
        cells = sum(plan.cells(table) for table in plan.tables)
        total = sum(plan.cells(table) * own**2 for table, own in self.deviations.items())
        return math.sqrt(total / cells)

    def epsilon_for(self, people: float) -> float:
        """Return the smallest ε at which these tables have at most so much noise, in people.

        That is of ``typical``, at the same δ. Noise falls as μ grows, for all tables alike.

        Examples
        --------
        >>> import pramble
        >>> columns = {"sex": 2, "age": 5, "town": 9}
        >>> epsilon = pramble.design_tables(columns, 1.0, 1e-6).epsilon_for(20)
        >>> round(epsilon, 2), pramble.design_tables(columns, epsilon, 1e-6).typical <= 20
        (0.41, True)
        """
        if not 0 < people < math.inf:
            raise InvalidInput(f"people must be a positive number; found {people!r}.")
        proven = self.guarantee
        times = Fraction(self.typical) / Fraction(people) * MARGIN
        return epsilon_above(self.delta, proven.mu_squared * times**2)

    def plot(self) -> "Figure":
        """Return a figure of the noise in a cell of each wanted table."""
        return self.plan.plot()

    def columns(self) -> dict[str, list[Any]]:
        """Return the wanted tables as plain lists, with the noise in a cell of each."""
        return {
            "table": [" × ".join(table) for table in self.deviations],
            "cells": [self.plan.cells(table) for table in self.deviations],
            "deviation": list(self.deviations.values()),
        }

    def shown(self) -> Grid:
        """Return a line for each wanted table."""
        rows = [
            [name, f"{cells:,}", number(deviation, 4)]
            for name, cells, deviation in zip(*self.columns().values(), strict=True)
        ]
        several = "table" if len(rows) == 1 else "tables"
        if self.weighted_deviations:
            rows = [
                [*row, number(self.weighted_deviations.get(table, math.nan), 4)]
                for row, table in zip(rows, self.deviations, strict=True)
            ]
        return Grid(
            f"Design of {len(rows):,} {several} at ε = {self.epsilon:g}, δ = {self.delta:g}: "
            f"noise of ± {self.typical:.3g} people a cell",
            ["", "cells", "people a cell ±", *["weight a cell ±"] * bool(self.weighted_deviations)],
            shortened(rows),
            below=f"No linear Gaussian mechanism has more than {100 * self.gap:.2g} % less noise "
            "variance.",
        )


@certify.register
def certify_design(design: TableDesign, *, distance: Any = None) -> Any:
    return certify(design.plan, distance=distance)


def design_tables(
    columns: Mapping[str, Any],
    epsilon: float,
    delta: float,
    *,
    tables: int | str | Sequence[Any] = 2,
    rows_per_person: int = 1,
    importance: Mapping[Any, float] | None = None,
    objective: Objective = "variance",
    largest_weight: float | None = None,
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
    largest_weight : float, optional
        The most that one row can weigh, from public knowledge, as that of the sampling design and
        never read off the file: larger weights are cut. The same tables are then measured of
        weights too, for half of the promise.
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
    return design_for_people(
        columns,
        epsilon,
        delta,
        tables=tables,
        rows_per_person=rows_per_person,
        importance=importance,
        objective=objective,
        largest_weight=largest_weight,
        progress=progress,
    )


def gaussian_budget(epsilon: float, delta: float) -> Fraction:
    """Return the largest μ² that keeps a central promise."""
    return largest_mu_squared(stated_number(epsilon, "epsilon"), stated_number(delta, "delta"))


def design_for_people(
    columns: Mapping[str, Any],
    epsilon: float,
    delta: float,
    *,
    tables: int | str | Sequence[Any] = 2,
    rows_per_person: int,
    importance: Mapping[Any, float] | None = None,
    objective: Objective = "variance",
    people_precision: float | None = None,
    largest_weight: float | None = None,
    progress: Watcher | None = None,
) -> TableDesign:
    """Return the design; noisy counts of people, with a precision, may have decided on the rows."""
    whole = gaussian_budget(epsilon, delta)
    budget = whole - 2 * Fraction(people_precision or 0)
    k = positive_count(rows_per_person, "rows_per_person", most=int(LARGEST_TOTAL))
    chosen = isinstance(tables, str) and tables == "auto"
    if chosen and (importance is not None or objective != "variance"):
        raise InvalidInput(
            'tables="auto" goes with objective="variance" and no importance. List the tables that '
            "matter to state either."
        )
    stated = min(2, len(columns)) if chosen else tables
    problem = as_table_problem(columns, tables=stated, importance=importance, objective=objective)
    reporter, is_chosen = Reporter(progress), chosen and len(problem.labels) > 2
    weights = None
    if largest_weight is not None or not is_chosen:
        found = least_for_objective(problem, objective, reporter, has_total=k > 1)
    if largest_weight is not None:
        largest = stated_number(largest_weight, "largest_weight", is_positive=True)
        weights = table_weights(problem, found.precision, budget / (k * k), largest)
        budget -= spent_on_weights(problem.sizes, weights, k)
    of_both: Any = {"people_precision": people_precision, "weights": weights}
    if is_chosen:
        plan = plan_with_choice(problem.labels, budget, delta=float(delta), rows_per_person=k)
        return design_of_chosen(replace(plan, **of_both), float(epsilon))
    precision = proven_precisions(problem, found.precision, budget / (k * k), has_total=k > 1)
    plan = TablePlan(problem.labels, problem.tables, precision, float(delta), k, None, **of_both)
    bound = found.bound * k * k / float(whole if weights is None else budget)
    value = value_of(problem, plan, objective)
    reporter.report("done", 1.0)
    return TableDesign(plan, float(epsilon), float(delta), objective, value, min(bound, value))


def table_weights(
    problem: TableProblem, precision: Floats, limit: Fraction, largest: float
) -> TableWeights:
    """Return how weighted tables are measured for their share of what a row may spend.

    They get the proportions of counts: the same tables are wanted of both.
    """
    most = TableWeights(largest, {}, 1.0).most
    own = proven_precisions(problem, precision, limit * OF_WEIGHTS / most**2, has_total=True)
    squares = rounded_down(float_below(limit * OF_SQUARES / most**2))
    return TableWeights(largest, own, squares)


def least_for_objective(
    problem: TableProblem, objective: str, reporter: Reporter, *, has_total: bool
) -> LeastNoise:
    """Return the best precisions at μ² = 1, and the bound that proves them."""
    with one_thread():
        if objective == "largest":
            costs = costs_of_cells(problem, has_total=has_total)
        else:
            total = [problem.cost_of_total] if has_total else []
            costs = np.append(problem.costs, total)[None]
        return least_noise(problem.parts, costs, reporter, has_total=has_total)


def design_of_chosen(plan: TablePlan, epsilon: float) -> TableDesign:
    """Return the design of a plan whose tables are, or were, chosen from a file.

    The bound is for the same tables without the price of the choice.
    """
    assert plan.choice is not None, "asked for where tables are chosen"
    problem, k = problem_of(plan.labels, plan.chosen), plan.rows_per_person
    found = least_for_objective(problem, "variance", Reporter(None), has_total=k > 1)
    value = value_of(problem, plan, "variance")
    bound = found.bound * k * k / plan.choice.mu_squared
    return TableDesign(plan, epsilon, plan.delta, "variance", value, min(bound, value))


def value_of(problem: TableProblem, plan: TablePlan, objective: str) -> float:
    """Return the weighted variance of all cells of the wanted tables, or the largest of a cell."""
    weights: list[float] = problem.weights.tolist()
    cells = list(plan.variances.values())
    if objective == "largest":
        return max(weight * own for weight, own in zip(weights, cells, strict=True))
    sizes = [plan.cells(table) for table in problem.tables]
    return sum(w * size * own for w, size, own in zip(weights, sizes, cells, strict=True))


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

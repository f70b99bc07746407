r"""Designs whose tables are chosen from the file: all pairs, and triples that pairs do not imply.

Of the :math:`\mu^2` of the promise a fixed share pays for noisy scores of all candidates. The rest
is spent on the tables, whichever are chosen, by the same convex programme as ever, with the first
measurement of the pairs counted in. So for every choice C the precisions satisfy

.. math:: k^2 \Big(\max_s \sum_A g_A(s)\, u_A^{(C)} + 4 m u_0\Big) \le \mu^2

in rational numbers, with m candidates, scores of precision :math:`u_0` and at most k rows a person.
The scores may be used in any way: what is chosen decides how good the release is, never how
private.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidPlan
from pramble.limits import MOST_CANDIDATE_CELLS, MOST_CHOSEN_TABLES
from pramble.mechanisms.table_plan import Columns, TableChoice, TablePlan, subsets
from pramble.one_thread import one_thread
from pramble.privacy.gaussian import float_below
from pramble.privacy.table_privacy import shift_of
from pramble.solvers.tables.least_noise import (
    TableProblem,
    as_table_problem,
    least_noise,
    proven_precisions,
    rounded_down,
)
from pramble.values import Floats, Reporter

# Share of μ² that the scores get: all errors grow by 0.8 %.
SCORES = 1 / 64

# Share of a pair's precision that the choice rests on; it is not lost, see `TableChoice`.
FIRST = 1 / 4

# Every part of a pair gets at least so many times the precision of its first measurement.
AT_LEAST = 5 / 4

# How much more an error in a pair matters than one in a triple: readers look at pairs first.
PAIRS_MATTER = 8.0

# Standard deviations by which a score is lowered, as the largest of many scores are lucky ones.
CAUTION = 2.0

# The mean absolute error of Gaussian noise, in standard deviations.
MEAN_ERROR = math.sqrt(2 / math.pi)


def plan_with_choice(
    labels: Mapping[str, Labels], budget: Fraction, *, delta: float, rows_per_person: int
) -> TablePlan:
    """Return the plan of all pairs with candidates, before a file is measured."""
    sizes = {name: len(own) for name, own in labels.items()}
    # all triples, small ones first, while they have few enough cells together
    triples = sorted(combinations(sizes, 3), key=lambda table: cells_of(table, sizes))
    together = np.cumsum([cells_of(table, sizes) for table in triples])
    candidates = tuple(triples[: max(1, int((together <= MOST_CANDIDATE_CELLS).sum()))])
    k_squared = rows_per_person * rows_per_person
    own = rounded_down(float(budget) * SCORES / (4 * k_squared * len(candidates)))
    choice = TableChoice(float_below(budget), candidates, own, {})
    limit = limit_of(choice, rows_per_person)
    pairs = problem_of(labels, ())
    first = {part: own * FIRST for part, own in choice_precisions(pairs, limit, {}).items()}
    choice = TableChoice(choice.mu_squared, candidates, own, first)
    return plan_of_choice(labels, choice, (), delta=delta, rows_per_person=rows_per_person)


def with_chosen(plan: TablePlan, chosen: tuple[Columns, ...]) -> TablePlan:
    """Return the plan that also measures these candidates, within the same bound."""
    assert plan.choice is not None, "only a plan with candidates has others"
    limit = limit_of(plan.choice, plan.rows_per_person)
    if shift_of(plan.sizes, plan.choice.first).bound > limit / 2:
        raise InvalidPlan("The first measurement may spend at most half of what the tables may.")
    if chosen == plan.chosen:
        return plan
    found = plan_of_choice(
        plan.labels, plan.choice, chosen, delta=plan.delta, rows_per_person=plan.rows_per_person
    )
    return replace(found, people_precision=plan.people_precision, weights=plan.weights)


def plan_of_choice(
    labels: Mapping[str, Labels],
    choice: TableChoice,
    chosen: tuple[Columns, ...],
    *,
    delta: float,
    rows_per_person: int,
) -> TablePlan:
    """Return the plan of all pairs and chosen tables within what the scores leave."""
    limit, problem = limit_of(choice, rows_per_person), problem_of(labels, chosen)
    least = {part: own * AT_LEAST for part, own in choice.first.items()}
    precision = choice_precisions(problem, limit, least)
    if rows_per_person > 1:
        # one record for none moves the other parts by at most half of what one for another does
        precision = {(): rounded_down(float_below(limit / 2)), **precision}
    return TablePlan(labels, problem.tables, precision, delta, rows_per_person, choice)


def limit_of(choice: TableChoice, rows_per_person: int) -> Fraction:
    """Return what the tables may spend on one row for another."""
    return Fraction(choice.mu_squared) / rows_per_person**2 - choice.scores_squared


def problem_of(labels: Mapping[str, Labels], chosen: tuple[Columns, ...]) -> TableProblem:
    """Return the programme of all pairs and some more tables."""
    pairs = tuple(combinations(labels, 2))
    return as_table_problem(
        labels,
        tables=(*pairs, *chosen),
        importance=dict.fromkeys(pairs, PAIRS_MATTER),
        objective="variance",
    )


def choice_precisions(
    problem: TableProblem, limit: Fraction, least: Mapping[Columns, float]
) -> dict[Columns, float]:
    """Return the best precisions within a limit; these parts get at least so much."""
    with one_thread():
        found = least_noise(problem.parts, problem.costs[None], Reporter(None))
    return proven_precisions(problem, found.precision, limit, least=least)


def cells_of(table: Columns, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in table)


class Expected:
    r"""What all pairs and candidates will be wrong by, roughly, whichever tables are chosen.

    Precisions are taken as :math:`u_A \propto \sqrt{c_A / g_A}`, the optimum where two records
    differ in all columns, which needs no programme for each choice.
    """

    def __init__(self, plan: TablePlan) -> None:
        assert plan.choice is not None, "asked for where tables are chosen"
        self.candidates = plan.choice.candidates
        self.limit = float(limit_of(plan.choice, plan.rows_per_person))
        self.sizes = plan.sizes
        pairs = tuple(combinations(plan.labels, 2))
        every = [part for table in (*pairs, *self.candidates) for part in subsets(table) if part]
        self.place = {part: i for i, part in enumerate(dict.fromkeys(every))}
        self.moves = np.array(
            [2 * math.prod(1 - 1 / self.sizes[name] for name in part) for part in self.place]
        )
        self.pairs, self.triples = self.tables(pairs), self.tables(self.candidates)
        self.costs = np.zeros(len(self.place))
        for table in range(len(pairs)):
            self.add_costs(self.costs, self.pairs, table, PAIRS_MATTER)
        first = np.array([plan.choice.first.get(part, math.inf) for part in self.place])
        self.first_error = self.errors(self.triples, first)

    def tables(self, tables: tuple[Columns, ...]) -> tuple[Any, Floats, Floats]:
        """Return the parts of tables, what each adds to the variance of a cell, and the cells."""
        places, adds = [], []
        for table in tables:
            own = [part for part in subsets(table) if part]
            cells = cells_of(table, self.sizes)
            places.append([self.place[part] for part in own])
            adds.append(
                [
                    math.prod(1 - 1 / self.sizes[name] for name in part)
                    * (cells_of(part, self.sizes) / cells) ** 2
                    for part in own
                ]
            )
        sizes = [float(cells_of(table, self.sizes)) for table in tables]
        return np.array(places), np.array(adds), np.array(sizes)

    def add_costs(self, costs: Floats, tables: Any, table: int, weight: float) -> None:
        places, adds, cells = tables
        costs[places[table]] += weight * adds[table] * cells[table]

    def errors(self, tables: Any, precision: Floats) -> Floats:
        """Return the mean absolute error summed over the cells of each table; ∞ adds nothing."""
        places, adds, cells = tables
        return np.asarray(MEAN_ERROR * cells * np.sqrt((adds / precision[places]).sum(axis=1)))

    def precision(self, costs: Floats) -> Floats:
        """Return the precision of every part; ∞ for what is not measured."""
        together = float(np.sqrt(costs * self.moves).sum())
        found = np.sqrt(costs / self.moves) * (self.limit / together)
        return np.where(costs > 0, found, math.inf)

    def chosen(self, gaps: Floats) -> tuple[Columns, ...]:
        """Return the candidates with which all tables are expected to be wrong by the least.

        ``gaps`` say what the pairs do not imply of each candidate, in records.
        """
        alone = self.costs.copy()
        for table in range(len(self.candidates)):
            self.add_costs(alone, self.triples, table, 1.0)
        own = np.sqrt(alone / self.moves)
        scale = self.limit / float(np.sqrt(self.costs * self.moves).sum())
        gains = gaps - self.errors(self.triples, own * scale)
        order = np.argsort(-gains, kind="stable")[:MOST_CHOSEN_TABLES].tolist()
        costs, measured = self.costs.copy(), np.zeros(len(gaps), dtype=bool)
        best, least = 0, self.total(costs, gaps, measured)
        for count, table in enumerate(order, start=1):
            self.add_costs(costs, self.triples, table, 1.0)
            measured[table] = True
            if (found := self.total(costs, gaps, measured)) < least:
                best, least = count, found
        return tuple(self.candidates[table] for table in sorted(order[:best]))

    def total(self, costs: Floats, gaps: Floats, measured: Any) -> float:
        """Return the expected errors of all tables together, those of pairs with their weight."""
        precision = self.precision(costs)
        noise = self.errors(self.triples, precision)
        pairs = PAIRS_MATTER * self.errors(self.pairs, precision).sum()
        return float(pairs + np.where(measured, noise, np.hypot(gaps, noise)).sum())


def chosen_tables(plan: TablePlan, scores: Any) -> tuple[Columns, ...]:
    """Return the candidates that noisy scores say are worth their noise, in their order.

    A score is the distance between a table and what the first measurement of its pairs implies. It
    is lowered by its own noise, and the noise of that measurement is taken away from it.
    """
    assert plan.choice is not None, "asked for where tables are chosen"
    expected = Expected(plan)
    own = CAUTION / math.sqrt(plan.choice.score_precision)
    distances = np.maximum(np.asarray(scores, dtype=np.float64) - own, 0.0)
    gaps = np.sqrt(np.maximum(distances**2 - expected.first_error**2, 0.0))
    return expected.chosen(gaps)

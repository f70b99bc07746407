r"""Records that tell most: mutual information, also beside columns released as they are.

Information is linear in the shares of branches, so one branch is best, and a block of a few columns
with some thousand cells reaches what α allows at all. With columns W released as they are, what
counts is

.. math:: I(X; Z \mid W) = \sum_w p_w I_w(M), \qquad
          \max_{\theta\ge0} \sum_A \theta_A \sum_w p_w \varphi_w(A)
          \quad\text{s.t.}\quad \sum_A \theta_A s_A(x) = 1 \text{ for every } x,

for one common matrix M with columns :math:`\theta_A s_A`, a on A and 1 off it: the programme of
:mod:`pramble.solvers.general.generation` with φ averaged over w. With prices λ and v the
largest of :math:`\sum_w p_w\varphi_w(A) - \lambda\cdot s_A` over all sets, every mechanism has at
most :math:`\sum_x\lambda_x + v^+`. Up to 16 cells all sets are tried. Beyond, v is not known, and
the bound is the least of :math:`\sum_w p_w B_w`, with :math:`B_w` the bound for
:math:`p(\cdot\mid w)` alone, and of the bound on :math:`I(X; Z) \ge I(X; Z \mid W)`, for Z depends
on X alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pramble.information.distributions import Table
from pramble.information.fisher import inner
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design_within
from pramble.solvers.general.arcs import best_arcs
from pramble.solvers.general.outputs import best_places
from pramble.solvers.general.sets import Gain, all_sets
from pramble.solvers.record.branches import Blocks, without_unused
from pramble.solvers.record.problem import Block, RecordDesign, RecordProblem
from pramble.values import Floats

MOST_STORED, MOST_SEARCHED, MOST_ARCS = 5000, 2000, 10**6
MOST_ENUMERATED, MOST_GIVEN = 16, 400
SEARCHING, ROUNDS, STARTS = 0.8, 200, 6
CLOSE, FINE = 1e-7, 1e-6

Sets = NDArray[np.bool_]


def most_informative(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the one branch that tells most of the record, given what is released as it is."""
    if problem.given:
        return informative_given(problem, budget)
    columns = problem.columns
    if problem.size > MOST_STORED and not problem.whole:
        columns = informative_columns(problem)
    block = problem.block(columns)
    mechanism, bound = informative_matrix(block, problem.alpha, budget)
    value = mutual_information(block.law, mechanism)
    if columns != problem.columns:
        bound = information_bound(problem.alpha)
        if problem.size <= MOST_ARCS:
            bound = min(bound, entropy(problem.block(problem.columns).law))
    return design_of_blocks(problem, {columns: mechanism}, value, bound)


def design_of_blocks(
    problem: RecordProblem,
    blocks: Blocks,
    value: float,
    bound: float,
    notes: tuple[str, ...] = (),
) -> RecordDesign:
    """Return the plan of one branch, after a check of what it promises."""
    plan = Plan({c if len(c) > 1 else c[0]: mechanism for c, mechanism in blocks.items()})
    found = RecordDesign(
        plan, problem.alpha, problem.objective, value, max(bound, value), {}, notes,
        information=value, distance=problem.distance,
    )  # fmt: skip
    assert found.certificate.satisfies(problem.alpha), "every block keeps its part"
    return found


def informative_columns(problem: RecordProblem) -> Table:
    """Return columns of large entropy whose cells can be searched."""
    order = sorted(problem.columns, key=lambda name: -entropy(problem.block((name,)).law))
    kept: list[str] = []
    for name in order:
        if not kept or problem.size_of([*kept, name]) <= MOST_SEARCHED:
            kept.append(name)
    return tuple(name for name in problem.columns if name in kept)


def informative_matrix(block: Block, alpha: float, budget: SearchBudget) -> tuple[Mechanism, float]:
    """Return the matrix on a block's cells that tells most, and what none exceeds."""
    ceiling = min(information_bound(alpha), entropy(block.law))
    if block.size <= MOST_STORED:
        part = budget.part(FINE, effort=max(SEARCHING * budget.left(), 0.1), quiet=True)
        best = design_within(part, block.law, alpha, categories=block.labels)
        return without_unused(best.mechanism), min(ceiling, best.bound)
    found: list[Mechanism] = [randomized_response(block.labels, alpha)]
    if block.size <= MOST_ARCS:
        found.append(best_arcs(inner(block.law), alpha, block.labels, orders=1))
    return max(found, key=lambda one: mutual_information(block.law, one)), ceiling


def informative_given(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the matrix that tells most in the presence of columns released as they are."""
    block = problem.block(problem.columns)
    laws, weights = laws_given(problem, block)
    plain, bound = informative_matrix(
        block, problem.alpha, budget.part(CLOSE, effort=budget.left() / 4)
    )
    found = [plain, randomized_response(block.labels, problem.alpha)]
    if block.size <= MOST_GIVEN:
        best = Given(laws, weights, problem.alpha, budget.part(CLOSE, effort=budget.left() / 2))
        matrix, most = best.solve()
        placed = np.empty_like(matrix)
        placed[:, best_places(inner(block.law), matrix)] = matrix
        found.append(Mechanism.from_matrix(placed, block.labels, block.labels, alpha=problem.alpha))
        bound = min(bound, most, bound_by_group(laws, weights, problem.alpha, budget))

    def worth(mechanism: Mechanism) -> float:
        parts = zip(weights.tolist(), laws, strict=True)
        return float(sum(w * mutual_information(p / p.sum(), mechanism) for w, p in parts))

    best_found = max(found, key=worth)
    return design_of_blocks(problem, {problem.columns: best_found}, worth(best_found), bound)


def laws_given(problem: RecordProblem, block: Block) -> tuple[Floats, Floats]:
    """Return the law of the cells for each combination of given columns, and their shares."""
    names = (*problem.columns, *problem.given)
    joint = problem.law.margin(names)
    shape = joint.shape[: len(problem.columns)]
    cells = np.ravel_multi_index(tuple(block.cells.T), shape)
    by_group = joint.reshape(math.prod(shape), -1)[cells].T
    weights = by_group.sum(axis=1)
    there = weights > 0
    return by_group[there] / weights[there, None], weights[there] / weights.sum()


def bound_by_group(laws: Floats, weights: Floats, alpha: float, budget: SearchBudget) -> float:
    """Return the mean over groups of what no mechanism exceeds in each."""
    found = 0.0
    for left, (w, p) in zip(range(len(laws), 0, -1), zip(weights, laws, strict=True), strict=True):
        most = min(information_bound(alpha), entropy(p))
        if not budget.is_over() and len(p) <= MOST_GIVEN:
            each = max(0.8 * budget.left() / left, 0.02)
            part = budget.part(FINE, effort=each, quiet=True)
            most = min(most, design_within(part, inner(p), alpha).bound)
        found += float(w) * most
    return found


class Given:
    """Column generation with the gain of a set averaged over groups."""

    def __init__(self, laws: Floats, weights: Floats, alpha: float, budget: SearchBudget) -> None:
        self.laws, self.weights, self.budget = laws, weights, budget
        self.gain, self.a1 = Gain(alpha), math.expm1(alpha)
        self.size = laws.shape[1]

    def gains(self, sets: Sets) -> Floats:
        masses = np.clip(sets @ self.laws.T, 0.0, 1.0)
        return np.asarray(self.gain(masses.ravel()).reshape(masses.shape) @ self.weights)

    def solve(self) -> tuple[Floats, float]:
        """Return the best matrix with as many outputs as cells, and a bound if all were tried."""
        if self.size <= MOST_ENUMERATED:
            sets = np.asarray(all_sets(self.size))
            theta, prices = self.programme(sets)
            reduced = self.gains(sets) - (1 + self.a1 * sets) @ prices
            bound = float(prices.sum()) + max(float(reduced.max()), 0.0)
            return self.matrix(sets, theta), bound * (1 + 1e-12)
        sets = self.first_sets()
        for _ in range(ROUNDS):
            theta, prices = self.programme(sets)
            new = self.priced(sets, theta, prices)
            if not len(new) or self.budget.is_over():
                break
            sets = np.concatenate([sets, new])
        theta, _ = self.programme(sets)
        return self.matrix(sets, theta), math.inf

    def programme(self, sets: Sets) -> tuple[Floats, Floats]:
        """Return the best weights of some sets, and the prices of cells."""
        from scipy.optimize import linprog

        columns = 1 + self.a1 * sets.T
        solved = linprog(
            -self.gains(sets), A_eq=columns, b_eq=np.ones(self.size), method="highs-ds"
        )
        self.budget.spend(solved.nit * (5e4 + 2 * sets.size))
        return np.maximum(np.asarray(solved.x), 0.0), -np.asarray(solved.eqlin.marginals)

    def first_sets(self) -> Sets:
        """Return all single cells, and the likeliest cells of each group together."""
        found = [np.eye(self.size, dtype=np.bool_)]
        for p in self.laws:
            order = np.argsort(-p, kind="stable")
            for k in range(1, self.size, max(1, self.size // 12)):
                for shift in range(0, self.size, max(1, self.size // 12)):
                    row = np.zeros(self.size, dtype=np.bool_)
                    row[np.take(order, range(shift, shift + k), mode="wrap")] = True
                    found.append(row[None])
        return np.unique(np.concatenate(found), axis=0)

    def priced(self, sets: Sets, theta: Floats, prices: Floats) -> Sets:
        """Return sets that would improve the programme, by flips of single cells."""
        rng = np.random.default_rng(len(sets))
        starts = [sets[i] for i in np.argsort(-theta)[: self.size]]
        starts += list(rng.random((STARTS, self.size)) < 1 / (2 + self.a1))
        found = []
        for start in starts:
            if self.budget.is_over():
                break
            row, worth = self.climbed(start, prices)
            if worth > CLOSE:
                found.append(row)
        return np.unique(np.array(found), axis=0) if found else np.zeros((0, self.size), np.bool_)

    def climbed(self, start: Sets, prices: Floats) -> tuple[Sets, float]:
        """Return the set that flips of single cells lead to, and by how much it beats its price."""
        row = start.copy()
        worth = float(self.gains(row[None])[0] - (1 + self.a1 * row) @ prices)
        while True:
            self.budget.spend(3 * self.size**2 * len(self.laws))
            tried = row[None] ^ np.eye(self.size, dtype=np.bool_)
            found = self.gains(tried) - (1 + self.a1 * tried) @ prices
            best = int(np.argmax(found))
            if found[best] <= worth + 1e-12:
                return row, worth
            row, worth = tried[best], float(found[best])

    def matrix(self, sets: Sets, theta: Floats) -> Floats:
        """Return the square matrix of a basic solution, empty columns last."""
        used = np.argsort(-theta, kind="stable")[: self.size].tolist()
        found = ((1 + self.a1 * sets[used]) * theta[used][:, None]).T
        return np.asarray(found / found.sum(axis=1, keepdims=True))

"""Records that tell most: mutual information.

Information is linear in the shares of branches, so one branch is best, and a block of a few columns
with some thousand cells reaches what α allows at all.
"""

from pramble.information.distributions import Table
from pramble.information.fisher import inner
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design_within
from pramble.solvers.general.arcs import best_arcs
from pramble.solvers.record.branches import Blocks, without_unused
from pramble.solvers.record.problem import Block, RecordDesign, RecordProblem

MOST_STORED, MOST_SEARCHED, MOST_ARCS = 5000, 2000, 10**6
SEARCHING, FINE = 0.8, 1e-6


def most_informative(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the one branch that tells most of the record."""
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

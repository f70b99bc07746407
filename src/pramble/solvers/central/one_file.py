"""One shuffled file: the plan that costs least, or tells most, among those that keep a promise.

Randomised response on all cells of a record has the evenest blanket and is searched by its share of
false records. The best plans for a local promise, with their sets of outputs, sampled blocks and
all, are searched by their α: the largest whose shuffled file keeps the promise.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from pramble.errors import InvalidInput
from pramble.information.measures import entropy, mutual_information
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import certify
from pramble.solvers.budget import SearchBudget
from pramble.solvers.central.costs import response_costs, sampling_alone
from pramble.solvers.central.promise import Promise
from pramble.solvers.central.response import largest_response
from pramble.solvers.record.informative import most_informative
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.record.search import best_plan
from pramble.solvers.record.whole import whole_plan

MOST_RESPONSE_CELLS = 100_000
ROUNDS = 5
LARGEST_ALPHA = 30.0
NEARLY = 0.02
"""A response this near to the untouched file is not beaten by more."""


def best_file(problem: RecordProblem, promise: Promise, budget: SearchBudget) -> RecordDesign:
    """Return the best plan whose shuffled file keeps a promise, with what is proven of it."""
    found = best_design(problem, promise, budget)
    return replace(found, central=promise.guarantee(found.plan))


def best_design(problem: RecordProblem, promise: Promise, budget: SearchBudget) -> RecordDesign:
    """Return the best of randomised response and of the plans for a local promise."""
    response = response_design(problem, promise)
    if response is not None and response.gap < NEARLY:
        return response
    high = LARGEST_ALPHA if response is None else response.alpha
    found = [*([] if response is None else [response])]
    found += local_plans(problem, promise, budget, high=high)
    if not found:
        raise InvalidInput(
            f"No plan that was tried keeps ε = {promise.epsilon:.6g} at δ = {promise.delta:.3g} "
            f"with {promise.rows:,} rows: want fewer columns, or allow more."
        )
    least = min if problem.objective == "estimation" else max
    return least(found, key=lambda one: one.value)


def response_design(problem: RecordProblem, promise: Promise) -> RecordDesign | None:
    """Return the randomised response on all cells that keeps the promise, if there is one."""
    if problem.counts(problem.columns) > MOST_RESPONSE_CELLS:
        return None
    found = largest_response(problem, promise)
    return None if found is None else valued(problem, found)


def valued(problem: RecordProblem, plan: Plan) -> RecordDesign:
    """Return randomised response on all cells with its value."""
    law = problem.block(problem.columns).law
    (mechanism,) = plan.branches[0].blocks.values()
    told = mutual_information(law, mechanism)
    costs = response_costs(plan, problem) if problem.objective == "estimation" else {}
    return RecordDesign(
        plan,
        certify(plan).alpha,
        problem.objective,
        value=sum(costs.values()) if costs else told,
        bound=bound_of(problem),
        costs=costs,
        information=told,
    )


def bound_of(problem: RecordProblem) -> float:
    """Return what the untouched file costs, or tells: no plan does better."""
    if problem.objective == "estimation":
        return sampling_alone(problem)
    return entropy(problem.block(problem.columns).law)


def local_plans(
    problem: RecordProblem, promise: Promise, budget: SearchBudget, *, high: float
) -> Iterator[RecordDesign]:
    """Yield the best plan for the largest α whose shuffled file keeps the promise, if found.

    No matrix of the same α has a better blanket than randomised response, so α is at most its α.
    """
    if any(problem.counts(table) > MOST_WANTED_CELLS for table in problem.tables):
        return
    good, low, solve = None, min(promise.epsilon, high / 2), solver_of(problem)
    for tried in range(ROUNDS):
        if tried and budget.is_over():
            break
        alpha = math.sqrt(low * high)
        part = budget.part(budget.tolerance, effort=max(budget.left() / 2, 0.2), quiet=True)
        found = solve(replace(problem, alpha=alpha), part)
        if promise.proven(found.plan) <= promise.epsilon:
            good, low = found, alpha
        else:
            high = alpha
    if good is not None:
        yield replace(good, alpha=certify(good.plan).alpha, bound=bound_of(problem))


def solver_of(problem: RecordProblem) -> Callable[[RecordProblem, SearchBudget], RecordDesign]:
    """Return the search for the best plan for a local promise."""
    if problem.objective == "information":
        return most_informative
    return whole_plan if problem.whole else best_plan

r"""One shuffled file: the plan that costs least, or tells most, among those that keep a promise.

Randomised response on all cells of a record has the evenest blanket and is searched by its share of
false records. The best plans for a local promise, with their sets of outputs, sampled blocks and
all, are searched by their α: the largest whose shuffled file keeps the promise.

What each table costs from randomised response on all cells of a record.

Sampling costs what it costs in the untouched file, :math:`1 - \sum p^2`. What randomised response
with the share γ of false records adds to component s of a table of :math:`S_t` cells is

.. math:: \tau_s = \frac{S_s}{S_t (1-\gamma)^2}\left(\frac{d_s}{S_s}\gamma(2 - \gamma)
          - 2\gamma(1-\gamma)\, p_s^\top P_s \kappa - \gamma^2 \kappa^\top P_s \kappa\right)

with the projection :math:`P_s` on the component and the shares :math:`\kappa` of all possible cells
that each cell of s has: an even law unless some cells are impossible, and then
:math:`P_s\kappa = 0`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.consistent import contrasts
from pramble.information.distributions import Table, margin_of
from pramble.information.measures import entropy, mutual_information
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.certificate import certify
from pramble.solvers.budget import SearchBudget
from pramble.solvers.central.promise import Promise, largest_response
from pramble.solvers.record.branches import most_informative, subsets
from pramble.solvers.record.problem import RecordDesign, RecordProblem
from pramble.solvers.record.search import best_plan, one_branch_plan
from pramble.values import Floats

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
    """Yield the best plan for the largest α whose shuffled file keeps the promise, if found."""
    # No matrix of the same α has a better blanket than randomised response, so α is at most its α.
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
    return one_branch_plan if problem.whole else best_plan


def response_costs(plan: Plan, problem: RecordProblem) -> dict[Table, float]:
    """Return n times the summed variance of each wanted table under randomised response."""
    false, even = false_share_of(plan), cells_shares(problem)
    parts: dict[Table, float] = {}
    found = {}
    for table in problem.tables:
        for part in subsets(table, len(table)):
            if part not in parts:
                parts[part] = part_cost(part, false, even, problem)
        noise = sum(parts[part] for part in subsets(table, len(table))) / problem.size_of(table)
        found[table] = float(1 - (problem.law.margin(table) ** 2).sum()) + noise
    return found


def sampling_alone(problem: RecordProblem) -> float:
    """Return what the wanted tables cost in the untouched file: no plan costs less."""
    return sum(float(1 - (problem.law.margin(t) ** 2).sum()) for t in problem.tables)


def false_share_of(plan: Plan) -> float:
    """Return the share γ of false records of randomised response on one block."""
    (mechanism,) = plan.branches[0].blocks.values()
    assert isinstance(mechanism, UniformRows), "it is randomised response"
    share: float = float(mechanism.off[0]) * mechanism.shape[0] / TOTAL
    return share


def part_cost(part: Table, false: float, even: Floats, problem: RecordProblem) -> float:
    r"""Return :math:`S_t \tau_s`, which depends on the component alone."""
    p, size = contrasts(problem.law.margin(part)), problem.size_of(part)
    many = math.prod(problem.sizes[name] - 1 for name in part)
    kappa = contrasts(margin_of(even, problem.columns, part))
    spread = many / size * false * (2 - false)
    spread -= 2 * false * (1 - false) * float((p * kappa).sum())
    spread -= false**2 * float((kappa**2).sum())
    return float(max(size * spread, 1e-300) / (1 - false) ** 2)


def cells_shares(problem: RecordProblem) -> Floats:
    """Return the even law on the possible cells of a record, an axis for each column."""
    possible = problem.mask(problem.columns)
    return np.asarray(possible / possible.sum(), dtype=np.float64)

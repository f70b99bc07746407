r"""One shuffled file: the plan that costs least, or tells most, among those that keep a promise.

Randomised response on all cells of a record has the evenest blanket and is searched by its share of
false records. The best plans for a local promise, with their sets of outputs, sampled blocks and
all, are searched by their α: the largest whose shuffled file keeps the promise.

Sampling costs a table what it costs in the untouched file, :math:`1 - \sum p^2`. What randomised
response with the share γ of false records adds to component s of a table of :math:`S_t` cells is

.. math:: \tau_s = \frac{S_s}{S_t (1-\gamma)^2}\left(\frac{d_s}{S_s}\gamma(2 - \gamma)
          - 2\gamma(1-\gamma)\, p_s^\top P_s \kappa - \gamma^2 \kappa^\top P_s \kappa\right)

with the projection :math:`P_s` on the component and the shares :math:`\kappa` of all possible cells
that each cell of s has: an even distribution unless some cells are impossible, and then
:math:`P_s\kappa = 0`.

With probability :math:`\gamma` a record is replaced by one of the S possible cells drawn evenly, so
that :math:`e^\alpha = 1 + S(1-\gamma)/\gamma`. Its blanket is as even as can be, and that is what
makes a crowd: about :math:`\gamma n/S \approx 2/\mu^2` false records in every cell hide the true
ones, whatever n and S. The error that it adds to a table is that of

.. math:: c = \frac{1}{(1-\gamma)^2} - 1

records in n, summed over the cells, whatever the table and whatever the prior; in Gaussian terms it
spends :math:`\mu^2 = 2(1-\gamma)^2 S/(\gamma n) = 2S/(n\,(1 + c - \sqrt{1+c}))`.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, PrivacyError
from pramble.information.consistent import contrasts
from pramble.information.distributions import Table, margin_of
from pramble.information.measures import entropy, mutual_information
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import UniformRows, randomized_response
from pramble.privacy.central import (
    CentralGuarantee,
    central_guarantee,
    positive_count,
    proven_epsilon,
)
from pramble.privacy.certificate import certify
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.matrices import column_sets
from pramble.solvers.record.problem import RecordDesign, RecordProblem
from pramble.solvers.record.search import plan_for_alpha
from pramble.values import Floats

# How near to the limit a search ends; and where every step designs a plan, which takes seconds.
CLOSE, TRIES = 2e-3, 40
CLOSE_OF_PLANS, TRIES_OF_PLANS = 2e-2, 10


def central_terms(central: Any, rows: Any, rows_per_person: Any) -> tuple[float, dict[str, Any]]:
    """Return the ε that is asked for, and the other terms as `central_guarantee` has them."""
    try:
        epsilon, delta = map(float, central)
    except (TypeError, ValueError):
        raise InvalidInput(f"central is a pair (epsilon, delta); found {central!r}.") from None
    if rows is None:
        raise InvalidInput("A central promise needs rows=, the number of rows in the file.")
    if not 0 < epsilon < math.inf or not 0 < delta < 1:
        raise InvalidInput(
            f"central is (epsilon, delta) with epsilon > 0 and 0 < delta < 1; found {central!r}."
        )
    return epsilon, {
        "rows": positive_count(rows, "rows"),
        "delta": delta,
        "rows_per_person": positive_count(rows_per_person, "rows_per_person"),
    }


def largest_scale(
    proven: Callable[[float], float],
    limit: float,
    *,
    start: float,
    high: float,
    close: float = CLOSE,
    tries: int = TRIES,
) -> float:
    """Return nearly the largest scale up to ``high`` whose proven ε is within a limit.

    The ε grows with the scale, nearly as a power of it: each step goes where that puts the
    limit. What is returned was itself proven; zero if no scale was.
    """
    good, bad, scale = (0.0, 0.0), (math.inf, math.inf), min(start, high)
    for tried in range(tries):
        found = proven(scale)
        if found <= limit:
            good = max(good, (scale, found))
            if scale >= high or found >= limit * (1 - close):
                break
        else:
            bad = min(bad, (scale, found))
        scale = min(next_scale(good, bad, limit * (1 - close / 2), halve=tried % 4 == 3), high)
        if bad[0] < good[0] * (1 + CLOSE) or scale < start * 1e-12:
            break
    return good[0]


def next_scale(
    good: tuple[float, float], bad: tuple[float, float], aim: float, *, halve: bool
) -> float:
    """Return the scale to try after these pairs of scale and ε: where a power law meets the aim.

    The power is 1/2 until both sides are known; the middle is tried where that does not help.
    """
    if not good[0] or bad[0] == math.inf:
        scale, found = good if good[0] else bad
        step = aim / found if found else math.inf
        return scale * min(max(step, 0.1), 10.0) ** 2
    middle = math.sqrt(good[0] * bad[0])
    if halve or not good[1] or bad[1] == math.inf:
        return middle
    far = math.log(bad[0] / good[0])
    near = far * math.log(aim / good[1]) / math.log(bad[1] / good[1])
    return good[0] * math.exp(near) if 0 < near < far else middle


LEAST_FALSE, MOST_FALSE = 1e-15, 1 - 1e-9


def false_share(noise: float) -> float:
    """Return γ from the noise c."""
    return min(max(-math.expm1(-0.5 * math.log1p(noise)), LEAST_FALSE), MOST_FALSE)


def response_plan(problem: RecordProblem, *, noise: float) -> Plan:
    """Return randomised response on the possible cells of a record, with about this noise."""
    labels, false = problem.block(problem.columns).labels, false_share(noise)
    alpha = math.log1p(len(labels.values) * (1 - false) / false)
    return Plan({problem.columns: randomized_response(labels.values, alpha)})


MOST_RESPONSE_CELLS = 100_000
LARGEST_ALPHA = 30.0
# A response this near to the untouched file is not beaten by more.
NEARLY = 0.02


def best_file(
    problem: RecordProblem, budget: SearchBudget, *, epsilon: float, **terms: Any
) -> RecordDesign:
    """Return the best of randomised response and of the plans for a local promise.

    ``terms`` are the rows of the file, δ, and the rows of a person.
    """
    proven = partial(proven_epsilon, **terms)
    response = response_design(problem, proven, epsilon)
    best = response
    if response is None or response.gap >= NEARLY:
        low = epsilon / terms["rows_per_person"]
        best = local_plan(problem, budget, proven, epsilon, low=low, rival=response) or response
    if best is None:
        raise InvalidInput(
            f"No plan that was tried keeps ε = {epsilon:.6g} at δ = {terms['delta']:.3g} "
            f"with {terms['rows']:,} rows: want fewer columns, or allow more."
        )
    guarantee: CentralGuarantee = central_guarantee(best.plan, **terms)
    if guarantee.epsilon > epsilon:
        raise PrivacyError(
            f"The plan has ε = {guarantee.epsilon:.6g}, above the {epsilon:.6g} it must keep."
        )
    return replace(best, central=guarantee)


def response_design(
    problem: RecordProblem, proven: Callable[[Plan], float], epsilon: float
) -> RecordDesign | None:
    """Return the randomised response on all cells that keeps most records, and the promise."""
    if problem.counts(problem.columns) > MOST_RESPONSE_CELLS:
        return None
    scale = largest_scale(
        lambda scale: proven(response_plan(problem, noise=1 / scale)), epsilon, start=1.0, high=1e9
    )
    if not scale:
        return None
    plan = response_plan(problem, noise=1 / scale)
    distribution = problem.block(problem.columns).distribution
    mechanism = plan.only_mechanism()
    assert mechanism is not None, "randomised response on all cells is one matrix"
    information = mutual_information(distribution, mechanism)
    costs = response_costs(plan, problem) if problem.objective == "estimation" else {}
    return RecordDesign(
        plan,
        certify(plan).alpha,
        problem.objective,
        value=sum(costs.values()) if costs else information,
        bound=untouched_bound(problem),
        costs=costs,
        information=information,
    )


def untouched_bound(problem: RecordProblem) -> float:
    """Return what the untouched file costs, or tells: no plan does better."""
    if problem.objective == "estimation":
        return sum(float(1 - (problem.distribution.margin(t) ** 2).sum()) for t in problem.tables)
    return entropy(problem.block(problem.columns).distribution)


def local_plan(
    problem: RecordProblem,
    budget: SearchBudget,
    proven: Callable[[Plan], float],
    epsilon: float,
    *,
    low: float,
    rival: RecordDesign | None,
) -> RecordDesign | None:
    """Return the best plan for the largest α whose shuffled file keeps the promise.

    At the α ``low`` it is kept without a crowd. None if the rival, a response, is better.
    """
    # No matrix of the same α has a better blanket than randomised response, so α is at most its α.
    high = max(LARGEST_ALPHA if rival is None else rival.alpha, low)
    if any(problem.counts(table) > MOST_WANTED_CELLS for table in problem.tables):
        return None
    plans: dict[float, RecordDesign] = {}
    share = budget.left() / TRIES_OF_PLANS  # alike for all, so that ε grows evenly with α

    def is_better(one: RecordDesign) -> bool:
        sign = 1 if problem.objective == "estimation" else -1
        return rival is None or sign * one.value < sign * rival.value

    def planned(alpha: float) -> RecordDesign:
        part = budget.part(budget.tolerance, quiet=True)
        part.limit = share
        return plan_for_alpha(replace(problem, alpha=alpha), part)

    # ε grows like α while α is small and like its exponential's root then: a power of this scale.
    def proven_at(scale: float) -> float:
        if plans and budget.seconds_left() <= 0:
            return math.inf
        plans[scale] = planned(max(math.log1p(scale), low))
        # Of a plan that is no better nothing need be proven: only a larger α is of use.
        return proven(plans[scale].plan) if is_better(plans[scale]) else 0.0

    best = largest_scale(
        proven_at,
        epsilon,
        start=math.expm1(math.sqrt(low * high)),
        high=math.expm1(high),
        close=CLOSE_OF_PLANS,
        tries=TRIES_OF_PLANS,
    )
    # A little below it α alone is enough, whatever was tried.
    good = plans[best] if best else planned(low * (1 - 1e-9))
    if not is_better(good) or (not best and proven(good.plan) > epsilon):
        return None
    return replace(good, alpha=certify(good.plan).alpha, bound=untouched_bound(problem))


def response_costs(plan: Plan, problem: RecordProblem) -> dict[Table, float]:
    """Return n times the summed variance of each wanted table under randomised response."""
    mechanism = plan.only_mechanism()
    assert isinstance(mechanism, UniformRows), "it is randomised response"
    false = float(mechanism.off[0]) * mechanism.shape[0] / TOTAL
    possible = problem.mask(problem.columns)
    even = np.asarray(possible / possible.sum(), dtype=np.float64)
    parts: dict[Table, float] = {}
    found = {}
    for table in problem.tables:
        for part in column_sets(table, len(table)):
            if part not in parts:
                parts[part] = part_cost(part, false, even, problem)
        noise = sum(parts[part] for part in column_sets(table, len(table))) / problem.size_of(table)
        found[table] = float(1 - (problem.distribution.margin(table) ** 2).sum()) + noise
    return found


def part_cost(part: Table, false: float, even: Floats, problem: RecordProblem) -> float:
    r"""Return :math:`S_t \tau_s`, which depends on the component alone."""
    p, size = contrasts(problem.distribution.margin(part)), problem.size_of(part)
    many = math.prod(problem.sizes[name] - 1 for name in part)
    kappa = contrasts(margin_of(even, problem.columns, part))
    spread = many / size * false * (2 - false)
    spread -= 2 * false * (1 - false) * float((p * kappa).sum())
    spread -= false**2 * float((kappa**2).sum())
    return float(max(size * spread, 1e-300) / (1 - false) ** 2)

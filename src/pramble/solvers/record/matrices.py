r"""Matrices for the cells of a block: closed forms, turns of a set, and designs for its tables.

How often each branch is drawn: a convex programme.

.. math:: \min_{w \in \Delta} \operatorname{tr}\Big(G \big(\textstyle\sum_b w_b R_b\big)^{-1}\Big)

for informations :math:`R_b` and a workload G, both positive semidefinite. With
:math:`K = R^{-1} G R^{-1}` and :math:`g_b = \operatorname{tr}(K R_b)/\operatorname{tr}(K R)` the
multiplicative rule :math:`w_b \leftarrow w_b \sqrt{g_b}` lowers the value at each step, and
:math:`\max_b g_b - 1` bounds what is left.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import PrambleError
from pramble.information.distributions import Table
from pramble.information.fisher import NO_INFORMATION, covariance_of_cells, inner
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.budget import SearchBudget
from pramble.solvers.design import design_within
from pramble.solvers.general.arcs import best_arcs
from pramble.solvers.general.outputs import best_places
from pramble.solvers.general.sets import best_turns
from pramble.solvers.record.problem import RecordBlock, RecordDesign, RecordProblem
from pramble.values import Floats

Blocks = Mapping[Table, Mechanism]

MOST_DESIGNED, MOST_ROTATED = 120, 420
LEAST_EFFORT = 0.05
CLOSE = 1e-3


def wanted_parts(columns: Sequence[str], tables: Sequence[Table]) -> list[Table]:
    """Return the wanted tables among some columns, or what they share with them if there is none.

    >>> wanted_parts("ab", [("a", "b"), ("b", "c")]), wanted_parts("b", [("a", "b"), ("b", "c")])
    ([('a', 'b')], [('b',)])
    """
    within = [table for table in tables if set(table) <= set(columns)]
    if within:
        return within
    shared = (tuple(name for name in columns if name in table) for table in tables)
    return [part for part in dict.fromkeys(shared) if part]


def workload_of(block: RecordBlock, parts: Sequence[Table]) -> Floats:
    """Return the sums over a block's cells that give some of its margins, a row for each."""
    rows = []
    for part in parts:
        _, onto = block.onto(part)
        rows.append(np.arange(onto.max() + 1)[:, None] == onto[None, :])
    return np.concatenate(rows).astype(np.float64)


def best_cardinality(size: int, alpha: float) -> int:
    r"""Return the number of likelier outputs k that tells most about equally likely cells.

    With :math:`f = k/S` the information of a column is :math:`(a-1)^2 f(1-f)/(af + 1 - f)^2`,
    largest near :math:`f = 1/(1+a)`.
    """
    a = math.exp(alpha)
    k = np.arange(1, size)
    return 1 + int(np.argmax(k * (size - k) / (k * a + size - k) ** 2))


def matrix_of_turns(block: RecordBlock, alpha: float) -> Mechanism | None:
    """Return the matrix whose columns are the turns of one set, if it could help."""
    k = best_cardinality(block.size, alpha)
    if k == 1 or not 4 <= block.size <= MOST_ROTATED:
        return None
    rng = np.random.default_rng(block.size * 1000 + k)
    sets = best_turns(block.size, k, rng=rng)
    a = math.exp(alpha)
    matrix = np.where(sets, a, 1.0).T / (k * a + block.size - k)
    placed = np.empty_like(matrix)
    placed[:, best_places(inner(block.distribution), matrix)] = matrix
    return Mechanism.from_matrix(placed, block.labels, block.labels, alpha=alpha)


def block_closed_forms(block: RecordBlock, alpha: float) -> Iterator[Mechanism]:
    """Yield randomised response, and turns where they could help."""
    yield randomized_response(block.labels, alpha)
    other = matrix_of_turns(block, alpha)
    if other is not None:
        yield other


def designed_matrix(
    problem: RecordProblem, block: RecordBlock, budget: SearchBudget, *, alpha: float | None = None
) -> Mechanism | None:
    """Return the best matrix for the wanted tables in a block that the search finds."""
    if not 3 <= block.size <= MOST_DESIGNED or budget.left() < LEAST_EFFORT:
        return None
    try:
        found = design_within(
            budget,
            inner(block.distribution),
            problem.alpha if alpha is None else alpha,
            objective="estimation",
            categories=block.labels,
            workload=workload_of(block, wanted_parts(block.columns, problem.tables)),
        )
    except PrambleError:
        return None
    return without_unused(found.mechanism)


def best_matrix(
    problem: RecordProblem,
    columns: Table,
    alpha: float,
    budget: SearchBudget,
    *,
    more: Sequence[Mechanism] = (),
) -> Mechanism:
    """Return the matrix for a block that costs least for what the wanted tables share with it."""
    block = problem.block(columns)
    if block.size > MOST_ROTATED:
        return randomized_response(block.labels, alpha)
    workload = workload_of(block, wanted_parts(columns, problem.tables))
    found = [*block_closed_forms(block, alpha), *more]
    other = designed_matrix(problem, block, budget, alpha=alpha)
    found += [] if other is None else [other]
    return min(found, key=lambda mechanism: cost_on_block(block, mechanism, workload))


def without_unused(mechanism: Mechanism) -> Mechanism:
    if not isinstance(mechanism, General):
        return mechanism
    used = np.asarray(mechanism.weights.any(axis=0))
    if used.all():
        return mechanism
    labels = tuple(
        label for label, there in zip(mechanism.output_labels, used, strict=True) if there
    )
    return General(mechanism.labels, Labels(labels), mechanism.weights[:, used])


def cost_on_block(block: RecordBlock, mechanism: Mechanism, workload: Floats) -> float:
    """Return the summed variance of some sums of a block's cells."""
    covariance = covariance_of_cells(mechanism.operator.dense(), block.distribution)
    if np.abs(workload @ covariance.lost).max(initial=0.0) > NO_INFORMATION:
        return math.inf
    return float(((workload @ covariance.matrix) * workload).sum())


def column_sets(columns: Sequence[str], most: int) -> Iterator[Table]:
    """Yield every set of so many columns or fewer, the smaller ones first."""
    for size in range(1, min(most, len(columns)) + 1):
        yield from combinations(columns, size)


STEPS, GAP = 3000, 1e-5
# Shares below this are not worth a branch.
LEAST = 1e-3

# Shares are whole numbers of this many parts, so that they are drawn exactly.
UNITS = 1 << 20

IDENTIFIABLE = 1e-8


def best_shares(
    informations: Sequence[Floats],
    workload: Floats,
    budget: SearchBudget,
    *,
    start: Floats | None = None,
) -> Floats:
    gains = gains_of(informations, workload)
    operations = len(informations) * workload.size / 2 + len(workload) ** 3 / 4
    return multiplicative_shares(
        gains, len(informations), budget, operations=operations, start=start
    )


def gains_of(informations: Sequence[Floats], workload: Floats) -> Callable[[Floats], Floats]:
    """Return how much a larger share of each branch would help, by shares."""
    # Directions that no branch tells of and that are not asked for are left out.
    stack = np.stack(informations)
    values, vectors = np.linalg.eigh(stack.mean(axis=0))
    asked = ((workload @ vectors) * vectors).sum(axis=0)
    retained = vectors[
        :, (values > IDENTIFIABLE * values[-1]) | (asked > IDENTIFIABLE * asked.max())
    ]
    reduced = retained.T @ stack @ retained
    flat, size = reduced.reshape(len(stack), -1), retained.shape[1]
    wanted = retained.T @ workload @ retained

    def gains(shares: Floats) -> Floats:
        whole = (shares @ flat).reshape(size, size)
        whole[np.diag_indices(size)] += IDENTIFIABLE**1.5 * np.trace(whole) / size
        inverse = np.linalg.inv(whole)
        return np.asarray(flat @ (inverse @ wanted @ inverse).ravel())

    return gains


def inverse_for(information: Floats, workload: Floats) -> Floats:
    """Return the inverse of an information where the workload needs it."""
    # Directions that are not told and not asked for are left out; one that is asked for and not
    # told gets a variance beyond all others.
    values, vectors = np.linalg.eigh(information)
    asked = ((workload @ vectors) * vectors).sum(axis=0)
    identifiable = values > IDENTIFIABLE * values[-1]
    needed = asked > IDENTIFIABLE * asked.max()
    inverse = np.where(
        identifiable | needed, 1 / np.maximum(values, IDENTIFIABLE**2 * values[-1]), 0.0
    )
    return np.asarray((vectors * inverse) @ vectors.T)


def multiplicative_shares(
    gains: Callable[[Floats], Floats],
    count: int,
    budget: SearchBudget,
    *,
    operations: float,
    steps: int = STEPS,
    gap: float = GAP,
    start: Floats | None = None,
) -> Floats:
    r"""Return shares by the multiplicative rule.

    :math:`\sum_b w_b g_b` is the value itself. Steps :math:`w_b \leftarrow w_b g_b` are taken as
    long as they lower it; the gains take so many ``operations`` each time.
    """
    shares = np.full(count, 1 / count) if start is None else start / start.sum()
    best, least, power = shares, math.inf, 1.0
    for _ in range(steps):
        found = gains(shares)
        budget.spend(operations)
        mean = float(shares @ found)
        if mean > least * (1 + 1e-9) and power > 0.5:
            power, shares, least = 0.5, best, math.inf
            continue
        if mean < least:
            best, least = shares, mean
        if found.max() / mean - 1 < gap or budget.is_over():
            break
        shares = shares * (np.maximum(found, 0) / mean) ** power
        shares = np.where(shares < 1e-9, 0, shares)
        shares = shares / shares.sum()
    return best


def exact_shares(shares: Floats) -> list[Fraction]:
    """Return shares as exact parts that sum to one; those that are too small are zero."""
    retained = np.where(shares < min(LEAST, 0.02 / len(shares)), 0.0, shares)
    retained = retained / retained.sum() * UNITS
    units = [math.floor(part) for part in retained]
    order = np.argsort(np.array(units) - retained, kind="stable")
    for place in order[: UNITS - sum(units)].tolist():
        units[place] += 1
    return [Fraction(unit, UNITS) for unit in units]


MOST_STORED, MOST_SEARCHED, MOST_ARCS = 5000, 2000, 10**6
SEARCHING, FINE = 0.8, 1e-6


def most_informative(problem: RecordProblem, budget: SearchBudget) -> RecordDesign:
    """Return the one branch that tells most of the record."""
    columns, alpha = problem.columns, problem.alpha
    if problem.size > MOST_STORED and not problem.whole:
        # Columns of large entropy whose cells can be searched.
        entropies = {n: entropy(problem.block((n,)).distribution) for n in problem.columns}
        chosen: list[str] = []
        for name in sorted(entropies, key=lambda name: -entropies[name]):
            if not chosen or problem.size_of([*chosen, name]) <= MOST_SEARCHED:
                chosen.append(name)
        columns = tuple(name for name in problem.columns if name in chosen)
    block, bound = problem.block(columns), information_bound(alpha)
    if columns == problem.columns or problem.size <= MOST_ARCS:
        bound = min(bound, entropy(problem.block(problem.columns).distribution))
    if block.size <= MOST_STORED:
        part = budget.part(FINE, effort=max(SEARCHING * budget.left(), 0.1), quiet=True)
        best = design_within(part, block.distribution, alpha, categories=block.labels)
        mechanism = without_unused(best.mechanism)
        bound = min(bound, best.bound) if columns == problem.columns else bound
    else:
        tried: list[Mechanism] = [randomized_response(block.labels, alpha)]
        if block.size <= MOST_ARCS:
            tried.append(best_arcs(inner(block.distribution), alpha, block.labels, orders=1))
        mechanism = max(tried, key=lambda one: mutual_information(block.distribution, one))
    value = mutual_information(block.distribution, mechanism)
    plan = Plan({columns if len(columns) > 1 else columns[0]: mechanism})
    found = RecordDesign(
        plan, alpha, problem.objective, value, max(bound, value), {}, information=value
    )
    assert found.certificate.satisfies(alpha), "the matrix keeps its promise"
    return found

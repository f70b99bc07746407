r"""How often each branch is drawn: a convex programme.

.. math:: \min_{w \in \Delta} \operatorname{tr}\Big(G \big(\textstyle\sum_b w_b R_b\big)^{-1}\Big)

for informations :math:`R_b` and a workload G, both positive semidefinite. With
:math:`K = R^{-1} G R^{-1}` and :math:`g_b = \operatorname{tr}(K R_b)/\operatorname{tr}(K R)` the
multiplicative rule :math:`w_b \leftarrow w_b \sqrt{g_b}` lowers the value at each step, and
:math:`\max_b g_b - 1` bounds what is left.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.values import Floats

STEPS, GAP = 3000, 1e-5
LEAST = 1e-3
"""Shares below this are not worth a branch."""

UNITS = 1 << 20
"""Shares are whole numbers of this many parts, so that they are drawn exactly."""

TOLD = 1e-8


def best_shares(
    informations: Sequence[Floats],
    workload: Floats,
    budget: SearchBudget,
    *,
    start: Floats | None = None,
) -> Floats:
    """Return the best shares of branches with these informations."""
    gains = gains_of(informations, workload)
    operations = len(informations) * workload.size / 2 + len(workload) ** 3 / 4
    return multiplied(gains, len(informations), budget, operations=operations, start=start)


def gains_of(informations: Sequence[Floats], workload: Floats) -> Callable[[Floats], Floats]:
    """Return how much a larger share of each branch would help, by shares.

    Directions that no branch tells of and that are not asked for are left out.
    """
    stack = np.stack(informations)
    values, vectors = np.linalg.eigh(stack.mean(axis=0))
    asked = ((workload @ vectors) * vectors).sum(axis=0)
    kept = vectors[:, (values > TOLD * values[-1]) | (asked > TOLD * asked.max())]
    reduced = kept.T @ stack @ kept
    flat, size = reduced.reshape(len(stack), -1), kept.shape[1]
    wanted = kept.T @ workload @ kept

    def gains(shares: Floats) -> Floats:
        whole = (shares @ flat).reshape(size, size)
        whole[np.diag_indices(size)] += TOLD**1.5 * np.trace(whole) / size
        inverse = np.linalg.inv(whole)
        return np.asarray(flat @ (inverse @ wanted @ inverse).ravel())

    return gains


def inverse_for(information: Floats, workload: Floats) -> Floats:
    """Return the inverse of an information where the workload needs it.

    Directions that are not told and not asked for are left out; one that is asked for and not told
    gets a variance beyond all others.
    """
    values, vectors = np.linalg.eigh(information)
    asked = ((workload @ vectors) * vectors).sum(axis=0)
    told = values > TOLD * values[-1]
    needed = asked > TOLD * asked.max()
    inverse = np.where(told | needed, 1 / np.maximum(values, TOLD**2 * values[-1]), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T)


def multiplied(
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
    """Return shares as exact parts that sum to one; those that are too small are zero.

    >>> exact_shares(np.array([0.75, 0.25, 1e-9]))
    [Fraction(3, 4), Fraction(1, 4), Fraction(0, 1)]
    """
    kept = np.where(shares < min(LEAST, 0.02 / len(shares)), 0.0, shares)
    kept = kept / kept.sum() * UNITS
    units = [math.floor(part) for part in kept]
    order = np.argsort(np.array(units) - kept, kind="stable")
    for place in order[: UNITS - sum(units)].tolist():
        units[place] += 1
    return [Fraction(unit, UNITS) for unit in units]

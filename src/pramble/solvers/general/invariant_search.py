r"""The most informative invariant matrix: convex on a polytope, climbed from many starts.

Write :math:`M_{xz} = p_z R_{xz}`. With :math:`pM = p` the information is the separable convex
function :math:`\sum_{xz} p_x p_z R_{xz} \log R_{xz}`, and the constraints are linear: with
:math:`a = e^\alpha`, :math:`\kappa = 1 - 1/a` and :math:`R_{xz} = C_z/a + \kappa Y_{xz}`,

.. math:: 0 \le Y_{xz} \le C_z, \qquad
          \kappa \sum_x p_x Y_{xz} + C_z/a = 1, \qquad
          \sum_z p_z Y_{xz} = E \text{ for every } x .

The first says α, the second :math:`pM = p`, and the third, after subtraction of the second, that
rows sum to 1. All coefficients are of order 1 for small and for large α.

Maximising the linearisation at R never loses, by convexity, and ends at a vertex where no other is
better to first order. There are many such vertices, so the climb is repeated: towards keeping and
towards moving (with two categories these are all), from given matrices, from random gradients, and
from the best vertex so far with two columns of its gradient redrawn, with two of its columns
exchanged, or with three of its rows shaken.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramble.errors import NotConverged
from pramble.information.fisher import fisher
from pramble.mechanisms.operators.dense import entropy_excess
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.outputs import float_variance
from pramble.values import Floats

EFFORT = 10.0
MOST_STEPS = 60
MOST_BALANCED = 100
STARTS = 10
HOPS = (30, 1000)
# Hops times S²; a linear programme takes about that long.
WORK = 100_000


class Vertices:
    """The polytope of R for one prior and one α, with the vertex that a gradient points to."""

    def __init__(self, prior: Floats, alpha: float) -> None:
        from scipy.sparse import block_array, csc_array, eye_array, kron

        S, self.prior, self.kappa = len(prior), prior, -math.expm1(-alpha)
        right = np.concatenate([np.zeros(S), np.ones(S), np.zeros(S * S)])
        left = np.concatenate([right[: 2 * S], np.full(S * S, -np.inf)])
        # columns: Y by rows, C, E
        one, shrink = eye_array(S), math.exp(-alpha)
        blocks: list[list[Any]] = [
            [kron(one, prior[None]), None, csc_array(np.full((S, 1), -1.0))],
            [self.kappa * kron(prior[None], one), shrink * one, None],
            [eye_array(S * S), kron(np.full((S, 1), -1.0), one), None],
        ]
        columns = block_array(blocks, format="csc")
        starts, rows = columns.indptr[:-1].astype(np.int64), columns.indices.astype(np.int64)
        self._programme = LinearProgramme(right, left)
        self._programme.add_sparse(starts, rows, columns.data, gains=np.zeros(len(starts)))

    def vertex_along(self, gradient: Floats, budget: SearchBudget) -> Floats | None:
        r"""Return R at the vertex with the largest :math:`\sum_{xz} p_x p_z g_{xz} R_{xz}`.

        None when the budget was over, or where floats find no vertex.
        """
        prior, S = self.prior, len(self.prior)
        gains = np.outer(prior, prior) * (gradient - prior @ gradient)
        size = np.abs(gains).max()
        self._programme.replace_gains(gains.ravel() / (size if size > 0 else 1.0))
        try:
            solved = self._programme.solve(budget)
        except NotConverged:
            return None
        if solved is None:
            return None
        high = np.maximum(solved[0][: S * S], 0.0).reshape(S, S)
        return balanced(prior, 1 + self.kappa * (high - prior @ high))

    def climb(
        self, gradient: Floats, goal: "Goal", budget: SearchBudget
    ) -> tuple[Floats, float] | None:
        """Return R where no vertex improves the linearised goal, and its value, if found."""
        ratios = self.vertex_along(gradient, budget)
        if ratios is None:
            return None
        value = goal.value(ratios)
        for _ in range(MOST_STEPS):
            if budget.is_over():
                break
            after = self.vertex_along(goal.gradient(ratios), budget)
            if after is None:
                break
            gained = goal.value(after)
            # where a vertex loses a query its value is -inf, and any finite one is better
            least = value + 1e-10 * abs(value) if math.isfinite(value) else value
            if not gained > least:
                break
            ratios, value = after, gained
        return ratios, value


@dataclass(frozen=True)
class Goal:
    """What is made large over the ratios R, and its gradient divided by the product of margins."""

    value: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]


def information_goal(prior: Floats) -> Goal:
    """Return the information, whose gradient is log R up to numbers that change no vertex."""
    return Goal(lambda ratios: ratio_information(prior, ratios), np.log)


def accuracy_goal(prior: Floats, queries: Floats) -> Goal:
    r"""Return minus the variance of the queries.

    With the Fisher information J of an invariant matrix the gradient is that of
    :math:`-\operatorname{tr} W J^{-1} W^\top`, which is
    :math:`2 J^{-1} W^\top W J^{-1} R`.
    """

    def gradient(ratios: Floats) -> Floats:
        weighed = np.linalg.pinv(fisher(ratios * prior, prior)) @ queries.T
        return np.asarray(weighed @ (weighed.T @ ratios) / prior[:, None])

    return Goal(lambda ratios: -float_variance(ratios * prior, prior, queries), gradient)


def ratio_information(prior: Floats, ratios: Floats) -> float:
    return float(prior @ entropy_excess(ratios - 1) @ prior)


def balanced(prior: Floats, ratios: Floats) -> Floats:
    """Return the ratios scaled by rows and columns until both margins are the prior."""
    ratios = np.maximum(ratios, np.finfo(float).tiny)
    for _ in range(MOST_BALANCED):
        ratios = ratios / (ratios @ prior)[:, None]
        columns = prior @ ratios
        ratios = ratios / columns
        if np.abs(columns - 1).max() < 4e-16:
            break
    return np.asarray(ratios)


def best_invariant(
    prior: Floats,
    alpha: float,
    starts: list[Floats],
    *,
    goal: Goal,
    bound: float,
    budget: SearchBudget,
) -> tuple[Floats, str]:
    """Return the best invariant matrix found from some matrices and many random starts."""
    part = budget.part(budget.tolerance, effort=EFFORT)
    vertices = Vertices(prior, alpha)
    given = [one / prior for one in starts]
    found = [max(given, key=goal.value)]
    value, stopped = goal.value(found[0]), "search"
    try:
        for gradient in gradients(goal, given, found):
            climbed = vertices.climb(gradient, goal, part)
            if climbed is not None and climbed[1] > value:
                found[0], value = climbed
            budget.report("climbing to invariant matrices", value=value, bound=bound)
            if budget.closed(value, bound) or part.is_over():
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    if stopped == "search" and budget.is_over():
        stopped = budget.reason
    return found[0] * prior, stopped


def gradients(goal: Goal, given: list[Floats], found: list[Floats]) -> Iterator[Floats]:
    """Yield gradients to climb from: at some ratios, random ones, and near what is found."""
    S = len(found[0])
    rng = np.random.default_rng(S)
    yield from (np.eye(S), -np.eye(S))
    yield from map(goal.gradient, given)
    for _ in range(STARTS):
        yield rng.standard_normal((S, S))
    for hop in range(min(max(WORK // S**2, HOPS[0]), HOPS[1])):
        yield shaken(goal.gradient(found[0]), hop, rng)


def shaken(gradient: Floats, hop: int, rng: np.random.Generator) -> Floats:
    """Return a gradient with two columns redrawn, two exchanged, or some rows shaken, by turns."""
    S, size = len(gradient), float(gradient.std())
    gradient = gradient.copy()
    two = rng.choice(S, 2, replace=False)
    if hop % 3 == 0:
        gradient[:, two] = size * rng.standard_normal((S, 2))
    elif hop % 3 == 1:
        gradient[:, two] = gradient[:, two[::-1]]
    else:
        rows = rng.choice(S, min(3, S), replace=False)
        gradient[rows] += 3 * size * rng.standard_normal((len(rows), S))
    return gradient

r"""Family general, objective loss: the least expected loss of any matrix, under its own labels.

A proven bound on the expected loss from any thresholds, and the best rows for given outputs.

Let :math:`m_z = \min_x M_{xz}`. A matrix is α-DP iff :math:`m_z \le M_{xz} \le a m_z`,
:math:`a = e^\alpha`, so for any numbers :math:`\ell_x`, with :math:`g(u) = \min(u, au)`,

.. math:: \sum_{xz} p_x M_{xz} L_{xz}
          = \sum_x p_x\ell_x + \sum_{xz} p_x M_{xz}(L_{xz} - \ell_x)
          \ge \sum_x p_x\ell_x + \sum_z m_z h_z, \qquad h_z = \sum_x p_x\, g(L_{xz} - \ell_x).

Because :math:`1/a \le \sum_z m_z \le 1`, the loss is at least :math:`\sum_x p_x\ell_x + v` when
:math:`v = \min_z h_z` is negative and :math:`\sum_x p_x\ell_x + v/a` when not. Nothing about ℓ is
assumed. The best ℓ are thresholds: a true value x is released high, :math:`a m_z`, where
:math:`L_{xz} < \ell_x`, and low, :math:`m_z`, where :math:`L_{xz} > \ell_x`.

Adding one number δ to all thresholds changes v by between −δ and −aδ, so the best δ makes v zero.
v is concave in δ, and Newton's steps reach its root from the right.

For given m every row is on its own: it spends :math:`1 - \sum_z m_z` on outputs of least loss
first, at most :math:`(a-1)m_z` each.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_ALPHA, MOST_LOSS_CATEGORIES
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.generation import UNIT
from pramble.solvers.general.loss_search import least_loss
from pramble.solvers.problem import DesignProblem, diagnose
from pramble.solvers.result import Design
from pramble.values import Floats

# Entries of the matrix that is searched; with more categories only the likeliest are released.
MOST_ENTRIES = 4_000_000

# Parts of the largest weight below which outputs are left out, the first that costs nothing.
LIGHT = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)

# Share of the tolerance that the search leaves; it ends fast, and useless outputs fade with it.
SHARP = 1e-4


@dataclass(frozen=True)
class Excess:
    """The loss above the least of each row, divided by its largest entry at a possible value.

    Adding a number to a row of the loss changes no design, so nothing but this enters the search.
    ``unprotected`` is the expected loss without any privacy.
    """

    loss: Floats
    unprotected: float
    scale: float

    def loss_of(self, value: float) -> float:
        return self.unprotected + self.scale * value

    def of(self, prior: Floats, matrix: Floats) -> float:
        return float(prior @ np.einsum("xz,xz->x", self.loss, matrix))


def excess_of(prior: Floats, loss: Floats) -> Excess:
    least = loss.min(axis=1)
    above = loss - least[:, None]
    scale = float(above[prior > 0].max()) or 1.0
    return Excess(above / scale, float(prior @ least), scale)


def solve_loss(problem: DesignProblem) -> Design:
    if problem.loss is None:
        raise InvalidInput(
            'objective="loss" needs a loss: a matrix of what it costs to release z for x, '
            "loss=L with a row for each true value and a column for each released one."
        )
    if problem.size > MOST_LOSS_CATEGORIES:
        raise InvalidInput(
            f"A loss is for at most {MOST_LOSS_CATEGORIES} categories; found {problem.size}."
        )
    p, alpha, labels = problem.prior, problem.alpha, problem.labels.values
    true, excess = p > 0, excess_of(p, problem.loss)
    # the release of one and the same value, and randomised response
    same = np.zeros((problem.size, problem.size))
    same[:, int((p @ excess.loss).argmin())] = 1.0
    candidates: list[Mechanism] = [
        Mechanism.from_matrix(same, labels, alpha=alpha),
        randomized_response(labels, alpha),
    ]
    constant, response = (excess.of(p, one.matrix) for one in candidates)
    stopped, rounds = "tolerance", 0
    thresholds = np.zeros(int(true.sum()))
    if alpha > LARGEST_ALPHA:
        # randomised response towards the output of least loss
        stopped, weights = (
            "size limit",
            np.full(problem.size, 1 / (problem.size + math.expm1(alpha))),
        )
        nearest = NearestRows(excess.loss).best(weights, alpha)
        candidates.append(Mechanism.from_matrix(nearest, labels, alpha=alpha))
    elif min(constant, response) > 0:
        # all categories may be released, or the likeliest when there are many
        most = MOST_ENTRIES // int(true.sum())
        outputs = np.sort(np.argsort(-p, kind="stable")[:most])
        budget = problem.budget(SHARP)
        found = least_loss(p[true], excess.loss[true][:, outputs], alpha, budget, excess.loss_of)
        weights = np.zeros(problem.size)
        weights[outputs] = found.least
        candidates += rounded_loss_designs(problem, excess, weights)
        thresholds, rounds, stopped = found.thresholds, found.rounds, found.stopped
        if stopped == "tolerance" and len(outputs) < problem.size:
            stopped = "size limit"
    # the first that is next to the best
    values = [excess.of(p, one.matrix) for one in candidates]
    enough = min(values) * (1 + problem.tolerance / 20)
    k = next(k for k, value in enumerate(values) if value <= enough)
    proven = proven_loss(p[true], excess.loss[true], thresholds, alpha)
    return problem.answer(
        candidates[k],
        value=excess.loss_of(values[k]),
        bound=excess.loss_of(min(max(proven, 0.0), values[k])),
        stopped=stopped,
        details={
            **diagnose(p, candidates[k]),
            "unprotected": excess.unprotected,
            "constant": excess.loss_of(constant),
            "response": excess.loss_of(response),
            "rounds": rounds,
        },
    )


def rounded_loss_designs(
    problem: DesignProblem, excess: Excess, weights: Floats
) -> Iterator[Mechanism]:
    """Yield exact mechanisms with these weights of the outputs, until rounding costs nothing."""
    # Every column stays under its own label, and outputs that are left out stay impossible.
    p, alpha = problem.prior, problem.alpha
    rows = NearestRows(excess.loss)
    lowest = excess.of(p, rows.best(weights, alpha))
    for light in LIGHT:
        retained = np.where(weights < light * weights.max(), 0.0, weights)
        matrix = rows.best(retained * float(weights.sum() / retained.sum()), alpha)
        if light > LIGHT[-1] and excess.of(p, matrix) > lowest * (1 + problem.tolerance / 2):
            continue
        mechanism = Mechanism.from_matrix(matrix, problem.labels.values, alpha=alpha)
        yield mechanism
        if excess.of(p, mechanism.matrix) <= lowest * (1 + problem.tolerance / 4):
            return


STEPS = 8
TIED = 1e-12


def proven_loss(prior: Floats, loss: Floats, thresholds: Floats, alpha: float) -> float:
    """Return the best bound that the thresholds prove when one number is added to them all."""
    # loss has a row for each entry of prior and a column for every possible output. Sums of n
    # floats err by less than n units of the sum of their sizes, which the margin covers.
    a = math.exp(alpha) * (1 + 8 * UNIT)
    best, shift = -math.inf, 0.0
    for _ in range(STEPS):
        moved = thresholds + shift
        over = loss - moved[:, None]
        weighted = np.where(over < 0, a * over, over)
        sums = prior @ weighted
        units = 2 * (len(prior) + 16) * UNIT
        least = float((sums - units * (prior @ np.abs(weighted))).min())
        base = float(prior @ moved) - units * float(prior @ np.abs(moved))
        bound = base + (least if least < 0 else least / a)
        if not bound > best:
            break
        best = bound
        z = int(sums.argmin())
        slope = float(prior @ np.where(over[:, z] < 0, a, 1.0))
        shift += float(sums[z]) / slope
    return best


class NearestRows:
    """The rows of least loss for given weights m of the outputs."""

    def __init__(self, loss: Floats) -> None:
        self._order = np.argsort(loss, axis=1, kind="stable")
        ordered = np.take_along_axis(loss, self._order, axis=1)
        rises = np.diff(ordered, axis=1, prepend=-np.inf) > TIED * float(np.abs(loss).max())
        self._ties = np.cumsum(rises.ravel()) - 1
        self._first = np.flatnonzero(rises.ravel())

    def best(self, least: Floats, alpha: float) -> Floats:
        """Return the matrix; outputs of the same loss are filled in proportion to m."""
        # So equal treatment of equals survives, and no order of the labels matters.
        least = least * max(1.0, math.exp(-alpha) / float(least.sum()))
        room = 1 - float(least.sum())
        most = (math.expm1(alpha) * least)[self._order]
        before = (np.cumsum(most, axis=1) - most).ravel()[self._first]
        together = np.bincount(self._ties, weights=most.ravel())
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(together > 0, (room - before) / together, 0.0).clip(0.0, 1.0)
        matrix = np.empty(self._order.shape)
        filled = most * share[self._ties].reshape(most.shape)
        np.put_along_axis(matrix, self._order, filled, axis=1)
        matrix += least
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

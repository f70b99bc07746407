"""Family general, objective loss: the least expected loss of any matrix, under its own labels."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pramble.errors import InvalidInput
from pramble.limits import LARGEST_ALPHA, MOST_LOSS_CATEGORIES
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.diagnostics import diagnose
from pramble.solvers.general.nearby.interior import least_loss
from pramble.solvers.general.nearby.thresholds import NearestRows, proven_loss
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

KEYWORDS = {"loss"}

MOST_ENTRIES = 4_000_000
"""Entries of the matrix that is searched; with more categories only the likeliest are released."""

LIGHT = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Parts of the largest weight below which outputs are left out, the first that costs nothing."""

SHARP = 1e-4
"""Share of the tolerance that the search leaves; it ends fast, and useless outputs fade with it."""


@dataclass(frozen=True)
class Excess:
    """The loss above the least of each row, divided by its largest entry at a possible value.

    Adding a number to a row of the loss changes no design, so nothing but this enters the search.
    """

    loss: Floats
    unprotected: float
    scale: float

    def loss_of(self, value: float) -> float:
        return self.unprotected + self.scale * value

    def of(self, prior: Floats, matrix: Floats) -> float:
        return float(prior @ np.einsum("xz,xz->x", self.loss, matrix))


def excess_of(prior: Floats, loss: Floats) -> Excess:
    """Return the excess of a loss; ``unprotected`` is its expectation without any privacy."""
    least = loss.min(axis=1)
    above = loss - least[:, None]
    scale = float(above[prior > 0].max()) or 1.0
    return Excess(above / scale, float(prior @ least), scale)


def solve(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    if problem.loss is None:
        raise InvalidInput(
            'objective="loss" needs a loss: a matrix of what it costs to release z for x, '
            "loss=L with a row for each true value and a column for each released one."
        )
    if problem.size > MOST_LOSS_CATEGORIES:
        raise InvalidInput(
            f"A loss is for at most {MOST_LOSS_CATEGORIES} categories; found {problem.size}."
        )
    p, alpha = problem.prior, problem.alpha
    excess = excess_of(p, problem.loss)
    candidates = closed_forms(problem, excess)
    constant, response = (excess.of(p, one.matrix) for one in candidates)
    true = p > 0
    stopped, rounds = "tolerance", 0
    thresholds = np.zeros(int(true.sum()))
    if alpha > LARGEST_ALPHA:
        stopped = "size limit"
        candidates.append(nearest(problem, excess))
    elif min(constant, response) > 0:
        outputs = likeliest(p)
        budget = problem.budget(SHARP)
        found = least_loss(p[true], excess.loss[true][:, outputs], alpha, budget, excess.loss_of)
        weights = np.zeros(problem.size)
        weights[outputs] = found.least
        candidates += rounded(problem, excess, weights)
        thresholds, rounds = found.thresholds, found.rounds
        stopped = found.stopped
        if stopped == "tolerance" and len(outputs) < problem.size:
            stopped = "size limit"
    value, mechanism = chosen(problem, excess, candidates)
    proven = proven_loss(p[true], excess.loss[true], thresholds, alpha)
    bound = min(max(proven, 0.0), value)
    return problem.answer(
        mechanism,
        value=excess.loss_of(value),
        bound=excess.loss_of(bound),
        stopped=stopped,
        details={
            **diagnose(p, mechanism),
            "unprotected": excess.unprotected,
            "constant": excess.loss_of(constant),
            "response": excess.loss_of(response),
            "rounds": rounds,
        },
    )


def likeliest(prior: Floats) -> Integers:
    """Return the categories that may be released: all, or the likeliest when there are many."""
    most = MOST_ENTRIES // int((prior > 0).sum())
    return np.sort(np.argsort(-prior, kind="stable")[:most])


def closed_forms(problem: Problem, excess: Excess) -> list[Mechanism]:
    """Return the release of one and the same value, and randomised response."""
    constant = np.zeros((problem.size, problem.size))
    constant[:, int((problem.prior @ excess.loss).argmin())] = 1.0
    labels = problem.labels.values
    return [
        Mechanism.from_matrix(constant, labels, alpha=problem.alpha),
        randomized_response(labels, problem.alpha),
    ]


def nearest(problem: Problem, excess: Excess) -> Mechanism:
    """Return randomised response towards the output of least loss, for a large α."""
    weights = np.full(problem.size, 1 / (problem.size + math.expm1(problem.alpha)))
    matrix = NearestRows(excess.loss).best(weights, problem.alpha)
    return Mechanism.from_matrix(matrix, problem.labels.values, alpha=problem.alpha)


def rounded(problem: Problem, excess: Excess, weights: Floats) -> Iterator[Mechanism]:
    """Yield exact mechanisms with these weights of the outputs, until rounding costs nothing.

    Every column stays under its own label, and outputs that are left out stay impossible.
    """
    p, alpha = problem.prior, problem.alpha
    rows = NearestRows(excess.loss)
    lowest = excess.of(p, rows.best(weights, alpha))
    for light in LIGHT:
        kept = np.where(weights < light * weights.max(), 0.0, weights)
        matrix = rows.best(kept * float(weights.sum() / kept.sum()), alpha)
        if light > LIGHT[-1] and excess.of(p, matrix) > lowest * (1 + problem.tolerance / 2):
            continue
        mechanism = Mechanism.from_matrix(matrix, problem.labels.values, alpha=alpha)
        yield mechanism
        if excess.of(p, mechanism.matrix) <= lowest * (1 + problem.tolerance / 4):
            return


def chosen(
    problem: Problem, excess: Excess, candidates: list[Mechanism]
) -> tuple[float, Mechanism]:
    """Return the excess and the mechanism of the first candidate that is next to the best."""
    values = [excess.of(problem.prior, one.matrix) for one in candidates]
    enough = min(values) * (1 + problem.tolerance / 20)
    return next(pair for pair in zip(values, candidates, strict=True) if pair[0] <= enough)

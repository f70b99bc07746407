r"""The root of a corrected score, by Newton steps of limited length, and what it estimates.

.. math:: \ell(\theta) = \sum_{w,x} \omega(w,x)\, \ell(y(w,x), \eta(w,x)), \qquad
          \sum_{w,x} \omega(w,x)\, \psi(w,x;\theta) = 0 .

The expectation of the score over the randomisation is the score of the original records, whatever
the model is and whether it fits.

Parameters are put on one scale, on which the linear predictor has the mean square one: with the
Gram matrix A of the design, every cell counted alike, :math:`\theta = T\varphi` with
:math:`T^\top A T = I`, so that nothing depends on the units of columns. Where the information
:math:`v^\top J v` along a direction is not clearly above what randomisation alone may make of
nothing, no slope along v can be estimated; where :math:`1/\sqrt{v^\top J v}` is larger than any
sensible effect, as when a covariate separates the response, there is no estimate at all.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import NotConverged, NotIdentifiable
from pramble.estimation.records.signed import Function, RecordSource
from pramble.estimation.regression.design_matrix import DesignMatrix
from pramble.estimation.regression.families import Family, OnePredictor, Parameters, Pieces
from pramble.estimation.tables.cells import TableSource
from pramble.values import Floats, frozen

# Eigenvalues that are smaller, relative to the largest, are rounding errors.
FLAT = 1e-14


@frozen(eq=False)
class Basis:
    """The T above, and the root mean square of each parameter's column."""

    T: Floats
    size: Floats

    def of(self, information: Floats) -> tuple[Floats, Floats]:
        own = self.T.T @ information @ self.T
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        return values, vectors

    def inverse(self, information: Floats) -> Floats:
        values, vectors = self.of(information)
        floor = np.maximum(values, FLAT * max(values[-1], 1e-300))
        moves = self.T @ vectors
        return np.asarray((moves / floor) @ moves.T)


@frozen(eq=False)
class Point:
    """Log-likelihood, score and information at one θ."""

    theta: Floats
    value: float
    score: Floats
    information: Floats


@frozen(eq=False)
class ScoreProblem:
    r"""A regression with signed weights."""

    source: RecordSource | TableSource
    design: DesignMatrix
    family: Family
    parameters: Parameters
    y: Any  # (W,): the response of every group, or of every cell
    of_cells: bool  # Whether the response is one of cells
    # (q, q): A matrix H that holds θ near zero by -\theta^\top H \theta / 2
    hold: Floats | None = None

    @property
    def width(self) -> int:
        L = len(self.parameters.loads)
        return max(len(self.parameters.names), int(self.design.A.shape[1]) + L**2)

    @cached_property
    def basis(self) -> Basis:
        gram, column = self.design.gram(self.source.counts), self.parameters.column
        loads = self.parameters.loads
        gram = (loads.T @ loads) * gram[np.ix_(column, column)]
        size = np.sqrt(np.diag(gram))
        values, vectors = np.linalg.eigh(gram / np.outer(size, size))
        roots = np.sqrt(np.maximum(values, FLAT * values[-1]))
        return Basis((vectors / roots) / size[:, None], size)

    def responses(self, some: slice) -> Any:
        return self.y[None, :] if self.of_cells else self.y[some, None]

    def predictors(self, some: slice, theta: Floats) -> Floats:
        coefficients = self.parameters.by_column(theta, self.design.A.shape[1])
        return self.design.predictors(some, coefficients)

    def pieces(self, some: slice, theta: Floats) -> Pieces:
        return self.family.pieces(self.responses(some), self.predictors(some, theta))

    def at(self, theta: Floats) -> Point:
        p, loads, column = self.design.A.shape[1], self.parameters.loads, self.parameters.column
        L, value = len(loads), 0.0
        slopes, bends = np.zeros((L, p)), np.zeros((L, L, p, p))
        for some in self.source.chunks(self.width):
            weights, pieces = self.source.weights(some), self.pieces(some, theta)
            # what has no weight does not count, finite or not
            parts = np.zeros_like(weights)
            np.multiply(weights, pieces.value, out=parts, where=weights != 0)
            value += float(parts.sum())
            for one in range(L):
                slopes[one] += self.design.sums(some, weights * pieces.g[one])
                for two in range(one, L):
                    h = weights * pieces.h[one, two]
                    if one == two or h.any():
                        bends[one, two] += self.design.products(some, h)
        for one in range(L):
            for two in range(one):
                bends[one, two] = bends[two, one]
        own = bends[:, :, column[:, None], column[None, :]]
        score = np.einsum("lj,lj->j", loads, slopes[:, column])
        information = np.einsum("lj,mk,lmjk->jk", loads, loads, own)
        if self.hold is None:
            return Point(theta, value, score, information)
        pull = self.hold @ theta
        return Point(theta, value - float(theta @ pull) / 2, score - pull, information + self.hold)

    def scores(self, theta: Floats) -> Function:
        def psi(some: slice) -> Floats:
            g = self.pieces(some, theta).g
            slopes = np.moveaxis(np.tensordot(self.parameters.loads.T, g, axes=1), 0, -1)
            return np.asarray(self.design.part(some)[:, :, self.parameters.column] * slopes)

        return psi

    def curvature(self, theta: Floats, directions: Floats) -> Function:

        def bend(some: slice) -> Floats:
            h = self.pieces(some, theta).h
            moves = (self.predictors(some, direction) for direction in directions.T)
            return np.stack([np.einsum("lgk,mgk,lmgk->gk", t, t, h) for t in moves], axis=-1)

        return bend

    def start(self, classes: int) -> Floats:
        return self.family.start(self.parameters, self.averages(classes))

    def averages(self, classes: int) -> Floats:
        total = np.zeros(max(classes, 1))
        for some in self.source.chunks(1):
            weights = self.source.weights(some)
            y = np.broadcast_to(self.responses(some), weights.shape)
            for c in range(classes):
                total[c] += weights[y == c].sum()
            if not classes:
                total[0] += (weights * y).sum()
        return np.asarray(total / self.source.n)


# Standard errors by which information must differ from none.
CLEARLY = 2.0

# Of a linear predictor, in the root of the mean square: a factor of three million in odds.
LARGEST_ERROR = 15.0

# Records that a class of the response must be worth for symmetric intervals to hold.
FEW = 200

# Directions whose noise is worked out together; mostly the weakest few do.
AT_ONCE = 12

# How much a parameter must move along a lost direction, the most being one, to be lost itself.
LOADS = 0.3

# The strength, relative to the largest, from which a direction counts as held.
HELD_DIRECTIONS = 1e-6


@frozen(eq=False)
class Unestimable:
    """Which parameters are not estimable: by noise alone, and because nothing bounds them."""

    by_noise: NDArray[np.bool_]
    unbounded: NDArray[np.bool_]

    @property
    def lost(self) -> NDArray[np.bool_]:
        return np.asarray(self.by_noise | self.unbounded)

    def notes(self, names: tuple[str, ...]) -> list[str]:
        unbounded, by_noise = (
            ", ".join(np.array(names)[mask]) for mask in (self.unbounded, self.by_noise)
        )
        notes = []
        if unbounded:
            notes.append(
                f"Nothing bounds {unbounded}: the estimate runs to infinity, as where a covariate "
                "separates the response or a category is empty; a reference category may do so for "
                "all others. No value is given."
            )
        if by_noise:
            notes.append(
                f"The interval of {by_noise} has no end: what is known of it cannot be told from "
                "the noise of the randomisation."
            )
        return notes


def directions_of(problem: ScoreProblem, point: Point) -> tuple[Floats, Floats, Floats]:
    """Return directions of φ, what is known along them, and the error of that by noise.

    The weakest first; past some that are all clear, so are the rest.
    """
    values, vectors = problem.basis.of(point.information)
    errors = np.zeros(len(values))
    for start in range(0, len(values), AT_ONCE):
        some = slice(start, min(start + AT_ONCE, len(values)))
        along = problem.curvature(point.theta, problem.basis.T @ vectors[:, some])
        noise = np.diag(problem.source.moments(along, some.stop - start).randomisation)
        errors[some] = np.sqrt(np.maximum(noise, 0.0))
        if not (values[some] <= CLEARLY * errors[some]).any():
            break
    return values, vectors, errors


def unestimable(problem: ScoreProblem, point: Point) -> Unestimable:
    """Return which parameters are not estimable; refuse when all are."""
    basis = problem.basis
    held = np.zeros((len(point.theta), 0))
    if problem.hold is not None:
        point = replace(point, information=point.information - problem.hold)
        strength, every = basis.of(problem.hold)
        held = every[:, strength > HELD_DIRECTIONS * strength[-1]]
    values, vectors, noise = directions_of(problem, point)
    lost = np.concatenate([vectors[:, values <= CLEARLY * noise], held], axis=1)
    # how much each parameter moves along these directions, the most as one
    moves = np.abs(basis.T @ lost) * basis.size[:, None]
    loads = moves / np.maximum(moves.max(axis=0), 1e-300)
    by_noise = np.asarray((loads >= LOADS).any(axis=1))
    endless = np.abs(values) < LARGEST_ERROR**-2
    roots = np.sqrt(np.maximum(np.abs(values[endless]), 1e-300))
    errors = np.abs(basis.T @ vectors[:, endless]) / roots * basis.size[:, None]
    unbounded = np.asarray((errors > 1.0).any(axis=1))
    answer = Unestimable(by_noise & ~unbounded, unbounded)
    if answer.lost.all():
        raise NotIdentifiable(
            "The release must tell some coefficient; it leaves every one open. "
            f"{' '.join(answer.notes(problem.parameters.names))} Take fewer covariates, coarser "
            "categories, or more records."
        )
    return answer


def rare_classes(
    shares: Floats, labels: Sequence[Any], *, n: float, inflation: Floats
) -> list[str]:
    """Say which classes are so few, for what randomisation leaves of them, that intervals suffer.

    Their coefficients are skewed: the estimate and its error grow together, and an interval that
    is as long on either side misses on one.
    """
    known = inflation[np.isfinite(inflation)]
    complete = n * shares / max(float(known.min()) if len(known) else 1.0, 1.0)
    few = [str(label) for label, one in zip(labels, complete, strict=True) if one < FEW]
    if not few:
        return []
    said = (
        f"What is released of {', '.join(few)} is worth fewer than {FEW} records: intervals of the "
        "coefficients that tell them from others are too short on one side, and hold less often "
        "than they say."
    )
    return [said]


# Newton steps, halvings of one that leads down, and the promised rise at which the search ends.
MOST_STEPS, MOST_HALVINGS, DECREMENT = 60, 12, 1e-10

# How far a step may move the linear predictors, in the root of the mean square.
LONGEST = 4.0

# How much lower, relative to its size, a likelihood may come out by rounding.
ROUNDING = 1e-12

HELD = (
    "The signed weights have no solution; what cannot be told from noise is held near zero, so "
    "that the rest can be estimated."
)


def solve(problem: ScoreProblem, *, classes: int) -> tuple[ScoreProblem, Point, list[str]]:
    """Return the solution, with the problem it is of.

    Where signed weights have none, it is that with the directions held that are noise.
    """
    theta = problem.start(classes)
    found = climb_score(problem, theta)
    if found is not None:
        return problem, found, []
    start = problem.at(theta)
    values, vectors, noise = directions_of(problem, start)
    is_noise = values <= CLEARLY * noise
    if is_noise.any():
        along = np.linalg.solve(problem.basis.T.T, vectors[:, is_noise])
        strengths = np.abs(values[is_noise]) + CLEARLY * noise[is_noise]
        hold = np.asarray((along * strengths) @ along.T)
        held = replace(problem, hold=hold)
        found = climb_score(held, start.theta)
        if found is not None:
            return held, found, [HELD]
    raise NotConverged(
        f"The corrected score must have a solution that {MOST_STEPS} steps find; it has not. "
        "Randomisation left too little for so many coefficients: take fewer covariates, coarser "
        "categories, as in C(x == 'a'), or more records."
    )


def climb_score(problem: ScoreProblem, theta: Floats) -> Point | None:
    """Return the local maximum that is reached from θ; None if none is.

    Where the information is not positive, a step takes its absolute value, which still leads up.
    """
    point, family, basis = problem.at(theta), problem.family, problem.basis
    is_linear = isinstance(family, OnePredictor) and family.name == "linear"
    for _ in range(MOST_STEPS):
        values, vectors = basis.of(point.information)
        is_up = bool(values[0] > -FLAT * max(values[-1], 0.0))
        lengths = np.maximum(np.abs(values), FLAT * max(np.abs(values).max(), 1e-300))
        along = vectors.T @ (basis.T.T @ point.score)
        move, decrement = vectors @ (along / lengths), float(along @ (along / lengths))
        if not np.isfinite(move).all():
            return None
        if is_up and decrement < DECREMENT:
            last = problem.at(point.theta + basis.T @ move)
            return last if last.value >= point.value - 1e-6 else point
        if not is_linear:
            move = move * min(1.0, LONGEST / max(float(np.linalg.norm(move)), 1e-300))
        slack, step = ROUNDING * max(abs(point.value), 1.0), basis.T @ move
        for _ in range(MOST_HALVINGS):
            fresh = problem.at(point.theta + step)
            if fresh.value >= point.value - slack and np.isfinite(fresh.information).all():
                break
            step = step / 2
        else:
            small = decrement < 1e-7 * max(abs(point.value), 1.0)
            return point if is_up and small else None
        point = fresh
    return None

r"""A fit with signed weights: the corrected log-likelihood, its score and its information.

.. math:: \ell(\theta) = \sum_{w,x} \omega(w,x)\, \ell(y(w,x), \eta(w,x)), \qquad
          \sum_{w,x} \omega(w,x)\, \psi(w,x;\theta) = 0 .

The expectation of the score over the randomisation is the score of the original records, whatever
the model is and whether it fits.

Parameters on one scale: coordinates in which the linear predictor has the mean square one.

With the Gram matrix A of the design, every cell counted alike, :math:`\theta = T\varphi` with
:math:`T^\top A T = I`. Steps, errors and what is lost then do not depend on the units of columns,
nor on how nearly a column is made of others.
"""

from functools import cached_property
from typing import Any

import numpy as np

from pramble.estimation.inverse.sources import Function, Source
from pramble.estimation.regression.design_matrix import Design
from pramble.estimation.regression.families import Family, Parameters, Pieces
from pramble.values import Floats, value

FLAT = 1e-14


@value(eq=False)
class Basis:
    """The T above, and the root mean square of each parameter's column."""

    T: Floats
    size: Floats

    def of(self, information: Floats) -> tuple[Floats, Floats]:
        """Return what is known along directions (as rows of φ), in increasing order."""
        own = self.T.T @ information @ self.T
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        return values, vectors

    def directions(self, vectors: Floats) -> Floats:
        return np.asarray(self.T @ vectors)

    def loads(self, vectors: Floats) -> Floats:
        """Return how much each parameter moves along directions of φ, the most as one."""
        moves = np.abs(self.T @ vectors) * self.size[:, None]
        return np.asarray(moves / np.maximum(moves.max(axis=0), 1e-300))

    def dual(self, vectors: Floats) -> Floats:
        r"""Return the D with :math:`D^\top\theta = V^\top\varphi` for directions V of φ."""
        return np.asarray(np.linalg.solve(self.T.T, vectors))

    def inverse(self, information: Floats) -> Floats:
        """Return the inverse of an information; what is hardly positive counts as hardly."""
        values, vectors = self.of(information)
        floor = np.maximum(values, FLAT * max(values[-1], 1e-300))
        moves = self.T @ vectors
        return np.asarray((moves / floor) @ moves.T)


def basis_of(gram: Floats) -> Basis:
    size = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    roots = np.sqrt(np.maximum(values, FLAT * values[-1]))
    return Basis((vectors / roots) / size[:, None], size)


@value(eq=False)
class Point:
    """Log-likelihood, score and information at one θ."""

    theta: Floats
    value: float
    score: Floats
    information: Floats


@value(eq=False)
class Problem:
    r"""A regression with signed weights."""

    source: Source
    design: Design
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
        """The coordinates in which the linear predictors have the mean square one."""
        gram, column = self.design.gram(self.source.counts), self.parameters.column
        loads = self.parameters.loads
        return basis_of((loads.T @ loads) * gram[np.ix_(column, column)])

    def responses(self, some: slice) -> Any:
        """Return the responses of some groups, in a shape that goes with (groups, cells)."""
        return self.y[None, :] if self.of_cells else self.y[some, None]

    def predictors(self, some: slice, theta: Floats, design: Design | None = None) -> Floats:
        """Return the linear predictors (L, groups, cells) of some groups, under any design."""
        own = self.design if design is None else design
        return own.predictors(some, self.parameters.by_column(theta, own.A.shape[1]))

    def pieces(self, some: slice, theta: Floats) -> Pieces:
        return self.family.pieces(self.responses(some), self.predictors(some, theta))

    def at(self, theta: Floats) -> Point:
        p, loads, column = self.design.A.shape[1], self.parameters.loads, self.parameters.column
        L, value = len(loads), 0.0
        slopes, bends = np.zeros((L, p)), np.zeros((L, L, p, p))
        for some in self.source.chunks(self.width):
            weights, pieces = self.source.weights(some), self.pieces(some, theta)
            value += weighted_sum(weights, pieces.value)
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

    def scores_along(self, theta: Floats, directions: Floats) -> Function:
        """Return the function that gives the products of ψ with some directions (q, d)."""

        def along(some: slice) -> Floats:
            g = self.pieces(some, theta).g
            moves = (self.predictors(some, direction) for direction in directions.T)
            return np.stack([(move * g).sum(axis=0) for move in moves], axis=-1)

        return along

    def curvature(self, theta: Floats, directions: Floats) -> Function:
        """Return the function that gives what the information has along some directions (q, d)."""

        def bend(some: slice) -> Floats:
            h = self.pieces(some, theta).h
            moves = (self.predictors(some, direction) for direction in directions.T)
            return np.stack([np.einsum("lgk,mgk,lmgk->gk", t, t, h) for t in moves], axis=-1)

        return bend

    def start(self, classes: int) -> Floats:
        """Return a θ without effects, from what the response is on average."""
        return self.family.start(self.parameters, self.averages(classes))

    def averages(self, classes: int) -> Floats:
        """Return the estimated shares of the classes of the response, or its mean."""
        total = np.zeros(max(classes, 1))
        for some in self.source.chunks(1):
            weights = self.source.weights(some)
            y = np.broadcast_to(self.responses(some), weights.shape)
            for c in range(classes):
                total[c] += weights[y == c].sum()
            if not classes:
                total[0] += (weights * y).sum()
        return np.asarray(total / self.source.n)


def weighted_sum(weights: Floats, values: Floats) -> float:
    """Return the sum of values with weights; what has no weight does not count, finite or not."""
    counted = np.where(weights != 0, weights, 0.0)
    with np.errstate(invalid="ignore"):
        return float(np.where(counted != 0, counted * values, 0.0).sum())

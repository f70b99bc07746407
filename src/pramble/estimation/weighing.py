"""Queries as weights of true and of released cells, and the variances of their answers."""

from typing import Any

import numpy as np

from pramble.mechanisms.operators.base import Inverting, adjoint_axes
from pramble.values import Floats, value


@value(eq=False)
class Known:
    """A covariance that is already there."""

    matrix: Floats

    def covariance(self) -> Floats:
        return self.matrix


@value(eq=False)
class Scaled:
    """A covariance of estimates that are multiplied by a number, built when asked for."""

    parts: Any
    factor: float

    def covariance(self) -> Floats:
        return np.asarray(self.factor**2 * self.parts.covariance())


@value(eq=False)
class Weighing:
    """Q queries: weights w of the true cells and u of the released ones, with Mu = w."""

    axes: tuple[Inverting, ...]
    w: Floats
    u: Floats

    def covariance(
        self, released: Floats, true: Floats, *, values: Floats, sampling: float
    ) -> Floats:
        """Return the covariance of the answers for squared weights over both kinds of cells."""
        whole = covariance_of_sums(self.u, released, values)
        return whole - (1 - sampling) * covariance_of_sums(self.w, true, values)

    def variances(self, released: Floats, true: Floats) -> Floats:
        """Return the variances of the answers by randomisation alone, for squared weights."""
        return self.products(self, released, true)

    def products(self, other: "Weighing", released: Floats, true: Floats) -> Floats:
        """Return the covariance of each answer with another, by randomisation alone."""
        return np.asarray((self.u * other.u) @ released - (self.w * other.w) @ true)

    def spread(self) -> Floats:
        """Return by true cells how randomisation makes one record's part of an answer vary."""
        shape = (len(self.w), -1, *(axis.shape[1] for axis in self.axes))
        moment = adjoint_axes(self.axes, (self.u**2).reshape(shape))
        return np.asarray(moment.reshape(self.w.shape) - self.w**2)


def covariance_of_sums(u: Floats, ell: Floats, values: Floats) -> Floats:
    """Return the covariance of sums of u over records with squared weights ell."""
    cross = np.outer(values, u @ ell)
    return np.asarray((u * ell) @ u.T - cross - cross.T + np.outer(values, values) * ell.sum())

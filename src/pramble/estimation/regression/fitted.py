r"""A fitted regression: its solution, what it was solved on, and the sandwich variance.

With J the information and u the scores of records, :math:`J^{-1} (\sum_i u_i u_i^\top) J^{-1}`.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pramble.estimation.regression.columns import Column, Rows
from pramble.estimation.regression.model import Model
from pramble.estimation.regression.signed import Point, Problem
from pramble.estimation.regression.told import Told
from pramble.estimation.sources import Moments
from pramble.values import Floats, value


@value(eq=False)
class Fitted:
    """A solution.

    Attributes
    ----------
    problem, point : Problem, Point
    model : Model
    groups, cells : Rows
        The values of untouched columns in each group, of randomised ones in each cell.
    told : Told
    sampling : float
        Share of the sampling variance that counts.
    """

    problem: Problem
    point: Point
    model: Model
    groups: Rows
    cells: Rows
    told: Told
    sampling: float

    @property
    def covariates(self) -> Mapping[str, Column]:
        """The columns of the terms."""
        return {name: self.model.columns[name] for name in self.model.variables}

    @cached_property
    def bread(self) -> Floats:
        """The inverse of the information."""
        return self.problem.basis.inverse(self.point.information)

    @cached_property
    def meat(self) -> Moments:
        """The covariance of the score."""
        theta = self.point.theta
        return self.problem.source.moments(self.problem.scores(theta), len(theta))

    @cached_property
    def covariance(self) -> Floats:
        """The sandwich, of what is covered."""
        return positive(self.bread @ self.meat.covers(self.sampling) @ self.bread)

    @cached_property
    def inflation(self) -> Floats:
        """How many times larger the variance is than without randomisation."""
        both = np.diag(self.bread @ self.meat.both @ self.bread)
        added = np.diag(self.bread @ self.meat.randomisation @ self.bread)
        left = both - np.maximum(added, 0.0)
        return np.asarray(np.where(left > 0, both / np.where(left > 0, left, 1.0), np.inf))


def positive(covariance: Floats) -> Floats:
    """Return the nearest covariance without negative variances."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(covariance)), 1e-300))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / np.outer(scale, scale))
    if values.size and values[0] >= 0:
        return covariance
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(scale, scale))

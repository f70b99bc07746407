r"""What a table answers: sums of its cells, with the errors of randomisation and of sampling.

Whatever a table comes from, a query w of its K cells has the unbiased answer
:math:`w \cdot \tilde p`, the fitted one :math:`w \cdot \hat p`, and

.. math:: \operatorname{Cov}(w, w') = R(w, w') + f \sum_x s_x (w_x - w\cdot p)(w'_x - w'\cdot p),

with R the part of randomisation, s the squared weights of the records over the true cells (p/n
without weights) and f the share of the sampling variance that counts.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from pramble.estimation.layout import Layout
from pramble.estimation.moments import SecondMoments
from pramble.estimation.weighing import Weighing
from pramble.mechanisms.operators.base import along_axes, category_shape
from pramble.values import Floats, value

MOST_AT_ONCE = 4_000_000
"""Entries of the weights that are held together."""


class Answers(Protocol):
    """A table that answers queries; its cells are in the order of the table."""

    @property
    def layout(self) -> Layout:
        """The columns of the table and its cells."""

    @property
    def p(self) -> Floats:
        """The fitted cells."""

    @property
    def unbiased(self) -> Floats:
        """The unbiased cells."""

    @property
    def squares(self) -> Floats:
        """The squared weights s over the true cells."""

    @property
    def sampling(self) -> float:
        """The share f of the sampling variance that counts."""

    @property
    def width(self) -> int:
        """How many numbers a query takes."""

    def randomised(self, w: Floats) -> Floats:
        """Return the (Q, Q) covariance of answers by randomisation alone."""

    def products(self, w: Floats, other: Floats) -> Floats:
        """Return the covariance of each answer with another one, by randomisation alone."""


def covariance_of(answers: Answers, w: Floats) -> Floats:
    """Return the covariance of the answers to (Q, K) queries."""
    spread = w - (w @ answers.p)[:, None]
    sampled = (spread * answers.squares) @ spread.T
    return np.asarray(answers.randomised(w) + answers.sampling * sampled)


def batches(rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose arrays of so many columns can be held."""
    step = max(1, MOST_AT_ONCE // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


@value(eq=False)
class CellAnswers:
    """What the cells of one table answer.

    Attributes
    ----------
    layout : Layout
    moments : SecondMoments
    centre : (R, S1, …, Sk) array
        The unbiased cells.
    """

    layout: Layout
    moments: SecondMoments
    centre: Floats

    @cached_property
    def p(self) -> Floats:
        """The fitted cells."""
        return self.layout.flatten(self.moments.p)

    @cached_property
    def unbiased(self) -> Floats:
        return self.layout.flatten(self.centre)

    @cached_property
    def squares(self) -> Floats:
        """The squared weights over the true cells."""
        return self.layout.flatten(self.moments.true_squared_weights)

    @property
    def sampling(self) -> float:
        """The share of the sampling variance that counts."""
        return self.moments.sampling

    @property
    def width(self) -> int:
        """The larger number of cells, true or released."""
        return max(self.moments.law.size, self.moments.p.size)

    def weighing(self, w: Floats) -> Weighing:
        """Return queries as weights of true and of released cells."""
        moments = self.moments
        flat = np.empty_like(w)
        flat[:, self.layout.order] = w
        shape = (len(w), len(moments.p), *category_shape(moments.axes))
        u = along_axes([inverse.adjoint for inverse in moments.inverses], flat.reshape(shape))
        return Weighing(moments.axes, flat, u.reshape(len(w), -1))

    def randomised(self, w: Floats) -> Floats:
        """Return the covariance of answers by randomisation."""
        moments = self.moments
        return self.weighing(w).covariance(
            moments.squared_weights.ravel(),
            moments.true_squared_weights.ravel(),
            values=np.zeros(len(w)),
            sampling=0.0,
        )

    def products(self, w: Floats, other: Floats) -> Floats:
        """Return the covariance of each answer with another one, by randomisation."""
        moments = self.moments
        return self.weighing(w).products(
            self.weighing(other),
            moments.squared_weights.ravel(),
            moments.true_squared_weights.ravel(),
        )

    def covariance(self) -> Floats:
        """Return the (K, K) covariance of the cells, in the order of the table."""
        order = self.layout.order
        return np.asarray(self.moments.covariance()[np.ix_(order, order)])

r"""Variances and covariances of estimates, from sampling and from randomisation.

Let G be a right inverse of M, :math:`w_i` the weight of record i (1 without weights), W their sum,
:math:`\ell_z = \sum_{i: Z_i=z} w_i^2/W^2` the squared weights over released cells and
:math:`s = \ell G` the same over true cells. The estimate :math:`\hat p = \hat c\,G` has

.. math::
    \operatorname{Cov}_{\text{randomisation}} &= G^\top \operatorname{diag}(\ell)\, G
        - \operatorname{diag}(s), \\
    \operatorname{Cov}_{\text{sampling}} &= \operatorname{diag}(s) - p s^\top - s p^\top
        + p p^\top \textstyle\sum_z \ell_z ,

and their sum without weights is :math:`M^{-\top}(\operatorname{diag} m - m m^\top)M^{-1}/n`.

Whatever a table comes from, a query w of its K cells has the unbiased answer
:math:`w \cdot \tilde p`, the fitted one :math:`w \cdot \hat p`, and

.. math:: \operatorname{Cov}(w, w') = R(w, w') + f \sum_x s_x (w_x - w\cdot p)(w'_x - w'\cdot p),

with R the part of randomisation, s the squared weights of the records over the true cells (p/n
without weights) and f the share of the sampling variance that counts.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from pramble.estimation.records.intervals import inner_point, unified_interval
from pramble.estimation.records.stacked import StackedInverse
from pramble.estimation.records.tabulate import Layout
from pramble.mechanisms.operators.base import (
    Inverting,
    RightInverse,
    along_axes,
    apply_axes,
    category_shape,
)
from pramble.values import Floats, frozen


@frozen(eq=False)
class SecondMoments:
    """The second moments of one estimate."""

    axes: tuple[Inverting, ...]
    inverses: tuple[RightInverse, ...]
    p: Floats  # (R, S1, …, Sk): estimated probabilities
    distribution: Floats  # (R, T1, …, Tk): released distribution that belongs to p; it sums to one
    squared_weights: Floats  # (R, T1, …, Tk): the ℓ above
    # Share of the sampling variance that counts: 1 for a sample of a large population, 0 when the
    # file is the population
    sampling: float

    @cached_property
    def true_squared_weights(self) -> Floats:
        return self.invert(self.squared_weights)

    def invert(self, released: Floats) -> Floats:
        """Return cG along every axis."""
        return along_axes([inverse.apply for inverse in self.inverses], released)

    def squares(self, released: Floats) -> Floats:
        return along_axes([inverse.squares for inverse in self.inverses], released)

    def variances(self) -> Floats:
        return self.variances_at(self.squared_weights, self.true_squared_weights)

    def noise(self) -> Floats:
        answer = self.squares(self.squared_weights) - self.true_squared_weights
        return np.asarray(np.sqrt(np.maximum(answer, 0.0)))

    def variances_at(self, released: Floats, true: Floats) -> Floats:
        sampling = true - 2 * self.p * true + self.p**2 * released.sum()
        answer = self.squares(released) - true + self.sampling * sampling
        return np.asarray(np.maximum(answer, 0.0))

    def covariance(self) -> Floats:
        p, s = self.p.ravel(), self.true_squared_weights.ravel()
        cross = np.outer(p, s)
        sampling = np.outer(p, p) * self.squared_weights.sum() - cross - cross.T
        answer = self.sandwich(self.squared_weights) + self.sampling * sampling
        answer[np.diag_indices_from(answer)] -= (1 - self.sampling) * s
        return np.asarray(answer)

    def of_groups(self) -> Iterator[Floats]:
        """Yield the second moments of each group's cells, without the part of their mean."""
        for group, own in enumerate(self.squared_weights.reshape(len(self.p), -1)):
            G = self.dense_inverse(group)
            p = self.p[group].ravel()
            yield (G.T * own) @ G - np.outer(p, p) * self.squared_weights.sum()

    def sandwich(self, released: Floats) -> Floats:
        r"""Return :math:`G^\top \operatorname{diag}(\ell)\,G` over all cells, block by block."""
        cells, G = self.p[0].size, None
        answer = np.zeros((self.p.size, self.p.size))
        differ = any(isinstance(inverse, StackedInverse) for inverse in self.inverses)
        for group, own in enumerate(released.reshape(len(self.p), -1)):
            if G is None or differ:
                G = self.dense_inverse(group)
            block = slice(group * cells, (group + 1) * cells)
            answer[block, block] = (G.T * own) @ G
        return answer

    def dense_inverse(self, group: int) -> Floats:
        G: Floats = np.ones((1, 1))
        for inverse, S in zip(self.inverses, category_shape(self.axes), strict=True):
            one = inverse.of_group(group) if isinstance(inverse, StackedInverse) else inverse
            G = np.asarray(np.kron(G, one.adjoint(np.eye(S)).T), dtype=np.float64)
        return G

    def intervals(
        self, centre: Floats, *, level: float, variances: Floats | None = None
    ) -> tuple[Floats, Floats]:
        r"""Return unified intervals around unbiased estimates.

        For a candidate :math:`\mu` of cell x the other cells keep their proportions, so the second
        moment is :math:`\mu A_x + (1-\mu) B_x`, with :math:`A_x` the moment
        when the truth is x and :math:`B_x` the moment under the others. Variances of another
        design, where given, scale it.
        """
        own = reduce(np.multiply.outer, [inverse.own() for inverse in self.inverses], np.ones(()))
        p = inner_point(self.p, n=1 / float(self.squared_weights.sum()))
        rest = self.squares(apply_axes(self.axes, p)) - p * own
        others = np.divide(rest, 1 - p, out=np.zeros_like(rest), where=p < 1)

        def moment(mu: Floats) -> Floats:
            return np.asarray(mu * own + (1 - mu) * others - mu + self.sampling * mu * (1 - mu))

        # relative to the variances of one record: 1/n without weights
        found = self.variances() if variances is None else variances.reshape(self.p.shape)
        unit = self.variances_at(self.distribution, self.invert(self.distribution))
        flat = np.full_like(unit, self.squared_weights.sum())
        scale = np.divide(found, unit, out=flat, where=unit > 1e-14)
        return unified_interval(centre, lambda mu: scale * moment(mu), level=level)


def right_inverses(
    axes: Sequence[Inverting], distribution: Floats | None = None
) -> tuple[RightInverse, ...]:
    """Return a right inverse per axis, each efficient for the margin of a distribution, if given.

    Without one the inverse does not depend on data, and what it estimates is exactly unbiased.
    """
    if distribution is None:
        return tuple(axis.right_inverse() for axis in axes)
    margins = (
        distribution.sum(axis=tuple(i for i in range(distribution.ndim) if i != 1 + j))
        for j in range(len(axes))
    )
    pairs = zip(axes, margins, strict=True)
    return tuple(axis.right_inverse(np.asarray(margin)) for axis, margin in pairs)


@frozen(eq=False)
class Known:
    """A covariance that is already there."""

    matrix: Floats

    @property
    def errors(self) -> Floats:
        return np.sqrt(np.maximum(np.diag(self.matrix), 0.0))

    def covariance(self) -> Floats:
        return self.matrix


@frozen(eq=False)
class CountedByTotal:
    r"""The covariance of shares times a number of records that is itself noisy.

    A count :math:`\hat n s` with the even share :math:`\bar w` has the covariance
    :math:`n^2\operatorname{Cov}(s, t) + (\bar w t + \bar v s - s t)\operatorname{Var}(\hat n)`.
    """

    parts: Any  # The covariance of the shares
    n: float
    total_variance: float
    shares: Floats  # (Q,): the s above
    even: Floats  # (Q,): what they would be if the records were spread evenly

    @property
    def added(self) -> Floats:
        return self.total_variance * (2 * self.even * self.shares - self.shares**2)

    def covariance(self) -> Floats:
        cross = np.outer(self.even, self.shares)
        added = cross + cross.T - np.outer(self.shares, self.shares)
        return np.asarray(self.n**2 * self.parts.covariance() + self.total_variance * added)


# Entries of the weights that are held together.
MOST_AT_ONCE = 4_000_000


# A table that answers queries, its cells in its order: it has a layout, the fitted cells p and the
# unbiased ones, the squared weights s over the true cells (squares), the share f of the sampling
# variance that counts (sampling), how many numbers a query takes (width), the covariance of answers
# by randomisation alone, (Q, Q) and of pairs (randomised, products), and that of all cells.
Answers = Any


def covariance_of(answers: Answers, w: Floats) -> Floats:
    """Return the covariance of the answers to (Q, K) queries."""
    spread = w - (w @ answers.p)[:, None]
    sampled = (spread * answers.squares) @ spread.T
    return np.asarray(answers.randomised(w) + answers.sampling * sampled)


def batches(rows: int, width: int) -> Iterator[slice]:
    step = max(1, MOST_AT_ONCE // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


@frozen(eq=False)
class CellAnswers:
    """What the cells of one table answer."""

    layout: Layout
    moments: SecondMoments
    centre: Floats  # (R, S1, …, Sk): the unbiased cells

    @cached_property
    def p(self) -> Floats:
        return self.layout.flatten(self.moments.p)

    @cached_property
    def unbiased(self) -> Floats:
        return self.layout.flatten(self.centre)

    @cached_property
    def squares(self) -> Floats:
        return self.layout.flatten(self.moments.true_squared_weights)

    @property
    def sampling(self) -> float:
        return self.moments.sampling

    @property
    def width(self) -> int:
        return max(self.moments.distribution.size, self.moments.p.size)

    def released(self, w: Floats) -> Floats:
        """Return the weights u of released cells with Mu = w."""
        moments = self.moments
        flat = np.empty_like(w)
        flat[:, self.layout.order] = w
        shape = (len(w), len(moments.p), *category_shape(moments.axes))
        u = along_axes([inverse.adjoint for inverse in moments.inverses], flat.reshape(shape))
        return np.asarray(u.reshape(len(w), -1))

    def randomised(self, w: Floats) -> Floats:
        u = self.released(w)
        released = (u * self.moments.squared_weights.ravel()) @ u.T
        return np.asarray(released - (w * self.squares) @ w.T)

    def products(self, w: Floats, other: Floats) -> Floats:
        released = self.released(w) * self.released(other)
        return np.asarray(
            released @ self.moments.squared_weights.ravel() - (w * other) @ self.squares
        )

    def covariance(self) -> Floats:
        order = self.layout.order
        return np.asarray(self.moments.covariance()[np.ix_(order, order)])

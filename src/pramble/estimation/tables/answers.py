r"""What a protected table answers: linear queries, with the covariance of their noise.

The noise of each part is independent, so that two queries w and v of the cells of a table T have
the covariance

.. math:: \sum_{A \subseteq T} \frac{1}{u_A} \frac{\langle P_A w_A, P_A v_A \rangle}
          {\prod_{j \in T \setminus A} n_j^2}
          = \sum_{B \subseteq T} \kappa_B \langle w_B, v_B \rangle, \qquad
          \kappa_B = \sum_{A \supseteq B} \frac{(-1)^{|A \setminus B|}}
          {u_A \prod_{j \in T \setminus A} n_j^2 \prod_{j \in A \setminus B} n_j} ,

in which :math:`w_B` are the sums of w over the columns that B lacks. The second form centres
nothing: it takes one product of the queries as they are, and further ones of their margins, which
are small.

Answers are shares. Where the number of records is measured too, :math:`\hat n = n + \eta`, a share
moves by :math:`-s\,\eta/n` with the total, to first order, and by :math:`\bar w\,\eta/n` with the
even table that the total is spread over: together that adds
:math:`(\bar w - s)(\bar v - t)\operatorname{Var}(\eta)/n^2` to the covariance of two shares s and
t. Counts are not divided by the total and have :math:`\bar w \bar v \operatorname{Var}(\eta)`.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.inverse.layout import NO_GROUPS, Layout
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.values import Floats, value

# Variance that rounding to whole records adds to the noise of the total.
ROUNDED = 1 / 12


@value(eq=False)
class TableNoise:
    """The noise of a measured table, in people, when the total is held.

    Attributes
    ----------
    shape : tuple of int
    factors : mapping from axes to float
        The κ of every margin.
    """

    shape: tuple[int, ...]
    factors: dict[tuple[int, ...], float]

    def margins(self, w: Floats) -> Iterator[tuple[float, Floats]]:
        """Yield κ and the sums (Q, cells) of queries (Q, K), for each margin."""
        axes = tuple(range(len(self.shape)))
        found = {axes: w.reshape(len(w), *self.shape)}
        for size in range(len(axes), -1, -1):
            for margin in (kept for kept in self.factors if len(kept) == size):
                if margin not in found:
                    gone = max(set(axes) - set(margin))
                    finer = found[tuple(sorted((*margin, gone)))]
                    found[margin] = finer.sum(axis=1 + gone, keepdims=True)
                yield self.factors[margin], found[margin].reshape(len(w), -1)

    def covariance(self, w: Floats) -> Floats:
        """Return the (Q, Q) covariance of the answers to queries (Q, K)."""
        return np.asarray(sum(factor * (sums @ sums.T) for factor, sums in self.margins(w)))

    def products(self, w: Floats, other: Floats) -> Floats:
        pairs = zip(self.margins(w), self.margins(other), strict=True)
        parts = (
            factor * np.einsum("qk,qk->q", sums, others) for (factor, sums), (_, others) in pairs
        )
        return np.asarray(sum(parts))

    def whole(self) -> Floats:
        """Return the (K, K) covariance of the cells."""
        K = math.prod(self.shape)
        answer = np.zeros((*self.shape, *self.shape))
        for margin, factor in self.factors.items():
            same = np.ones((1,) * 2 * len(self.shape))
            for axis in margin:
                own = [1] * 2 * len(self.shape)
                own[axis] = own[axis + len(self.shape)] = self.shape[axis]
                same = same * np.eye(self.shape[axis]).reshape(own)
            answer += factor * same
        return answer.reshape(K, K)


def noise_of(plan: TablePlan, columns: Columns) -> TableNoise:
    size = plan.sizes
    factors: dict[tuple[int, ...], float] = {}
    for margin in subsets(columns):
        beyond = tuple(name for name in columns if name not in margin)
        total = 0.0
        for more in subsets(beyond):
            part = plan.ordered((*margin, *more))
            if part:
                beside = math.prod(size[name] for name in beyond if name not in more)
                lines = math.prod(-size[name] for name in more)
                total += 1 / (plan.precision[part] * beside**2 * lines)
        factors[tuple(columns.index(name) for name in margin)] = total
    return TableNoise(plan.shape(columns), factors)


def total_variance(plan: TablePlan) -> float:
    """Return the variance of the number of records; zero where it is public."""
    return 0.0 if plan.total_is_public else 1 / plan.precision[()] + ROUNDED


@value(eq=False)
class TableAnswers:
    """What a protected table answers (:mod:`pramble.estimation.inverse.moments`).

    Attributes
    ----------
    layout : Layout
    noise : TableNoise
    p, unbiased : (K,) arrays
        Fitted and unbiased shares of the cells.
    n : float
        Number of records.
    total_variance : float
        Variance of the noise of that number.
    sampling : float
        The share of the sampling variance that counts.
    """

    layout: Layout
    noise: TableNoise
    p: Floats
    unbiased: Floats
    n: float
    total_variance: float
    sampling: float

    @property
    def squares(self) -> Floats:
        return np.maximum(self.p, 0.0) / self.n

    @property
    def width(self) -> int:
        return len(self.p)

    @property
    def even(self) -> Floats:
        return np.full(len(self.p), 1 / len(self.p))

    @property
    def cell_sampling(self) -> Floats:
        return np.full(len(self.p), self.sampling)

    def moved_by_total(self, w: Floats) -> Floats:
        """Return what one record more in the noisy total adds to answers, times n."""
        return np.asarray(w.mean(axis=1) - w @ self.p)

    def randomised(self, w: Floats) -> Floats:
        found = self.noise.covariance(w)
        if self.total_variance:
            moved = self.moved_by_total(w)
            found = found + self.total_variance * np.outer(moved, moved)
        return np.asarray(found / self.n**2)

    def products(self, w: Floats, other: Floats) -> Floats:
        found = self.noise.products(w, other)
        if self.total_variance:
            moved = self.moved_by_total(w) * self.moved_by_total(other)
            found = found + self.total_variance * moved
        return np.asarray(found / self.n**2)

    @cached_property
    def cell_variances(self) -> Floats:
        held = sum(self.noise.factors.values())  # a cell is one cell in each of its margins
        moved = 1 / len(self.p) - self.p
        return np.asarray((held + self.total_variance * moved**2) / self.n**2)

    def covariance(self) -> Floats:
        """Return the (K, K) covariance of the cells."""
        answer = self.noise.whole() / self.n**2
        if self.total_variance:
            moved = 1 / len(self.p) - self.p
            answer += self.total_variance * np.outer(moved, moved) / self.n**2
        if self.sampling:
            p, s = self.p, self.squares
            cross = np.outer(p, s)
            answer += self.sampling * (np.diag(s) - cross - cross.T + np.outer(p, p) * s.sum())
        return np.asarray(answer)


@value(eq=False)
class CountedByTotal:
    r"""The covariance of shares times a number of records that is itself noisy.

    A count :math:`\hat n s` with the even share :math:`\bar w` has the covariance
    :math:`n^2\operatorname{Cov}(s, t) + (\bar w t + \bar v s - s t)\operatorname{Var}(\hat n)`.

    Attributes
    ----------
    parts : object
        The covariance of the shares.
    n, total_variance : float
    shares, even : (Q,) arrays
        The shares s, and what they would be if the records were spread evenly.
    """

    parts: Any
    n: float
    total_variance: float
    shares: Floats
    even: Floats

    @property
    def added(self) -> Floats:
        return self.total_variance * (2 * self.even * self.shares - self.shares**2)

    def covariance(self) -> Floats:
        """Return the (Q, Q) covariance of the counts."""
        cross = np.outer(self.even, self.shares)
        added = cross + cross.T - np.outer(self.shares, self.shares)
        return np.asarray(self.n**2 * self.parts.covariance() + self.total_variance * added)


def positive(n: float) -> float:
    """Return a number of records that shares may be taken of; refuse none."""
    if n <= 0:
        raise InvalidInput(
            f"Shares are of a positive number of records; the measured one is {n:,.0f}, so noise "
            "hides a file this small. measured.table(columns) gives its counts."
        )
    return n


def layout_of(plan: TablePlan, names: Columns) -> Layout:
    shape = plan.shape(names)
    grid = np.unravel_index(np.arange(math.prod(shape)), shape)
    categories = {name: plan.labels[name].values for name in names}
    return Layout(names, dict(zip(names, grid, strict=True)), categories, {}, NO_GROUPS)

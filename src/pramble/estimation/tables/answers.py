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

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.inverse.tabulate import NO_GROUPS, Layout
from pramble.estimation.tables.nearest import places_within
from pramble.mechanisms.table_plan import Columns, TablePlan, subsets
from pramble.values import Floats, value

# Variance that rounding to whole records adds to the noise of the total.
ROUNDED = 1 / 12


@value(eq=False)
class TableNoise:
    """The noise of a measured table, in people, when the total is held."""

    shape: tuple[int, ...]
    factors: dict[tuple[int, ...], float]  # by margin, as axes: the κ above

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
        answer = np.zeros((math.prod(self.shape),) * 2)
        for margin, factor in self.factors.items():
            place = places_within(self.shape, [axis in margin for axis in range(len(self.shape))])
            answer += factor * (place[:, None] == place)
        return answer


def noise_of_table(plan: TablePlan, columns: Columns) -> TableNoise:
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
    """What a protected table answers (:mod:`pramble.estimation.inverse.moments`)."""

    layout: Layout
    noise: TableNoise
    p: Floats  # (K,): fitted shares of the cells
    unbiased: Floats
    n: float  # Number of records
    total_variance: float  # Variance of the noise of that number
    sampling: float  # The share of the sampling variance that counts

    @property
    def squares(self) -> Floats:
        return np.maximum(self.p, 0.0) / self.n

    @property
    def width(self) -> int:
        return len(self.p)

    @property
    def even(self) -> Floats:
        """The shares that the cells have when the records are spread evenly."""
        return np.full(len(self.p), 1 / len(self.p))

    @property
    def cell_sampling(self) -> Floats:
        """The share of the binomial variance of each cell that sampling adds."""
        return np.full(len(self.p), self.sampling)

    def moved_by_total(self, w: Floats) -> Floats:
        """Return what one record more in the noisy total adds to answers, times n."""
        return np.asarray(w.mean(axis=1) - w @ self.p)

    def randomised(self, w: Floats) -> Floats:
        moved = self.moved_by_total(w)
        found = self.noise.covariance(w) + self.total_variance * np.outer(moved, moved)
        return np.asarray(found / self.n**2)

    def products(self, w: Floats, other: Floats) -> Floats:
        moved = self.moved_by_total(w) * self.moved_by_total(other)
        return np.asarray((self.noise.products(w, other) + self.total_variance * moved) / self.n**2)

    @cached_property
    def cell_variances(self) -> Floats:
        held = sum(self.noise.factors.values())  # a cell is one cell in each of its margins
        moved = 1 / len(self.p) - self.p
        return np.asarray((held + self.total_variance * moved**2) / self.n**2)

    def covariance(self) -> Floats:
        """Return the (K, K) covariance of the cells."""
        moved, p, s = 1 / len(self.p) - self.p, self.p, self.squares
        noise = self.noise.whole() / self.n**2
        by_total = self.total_variance * np.outer(moved, moved) / self.n**2
        cross = np.outer(p, s)
        sampled = np.diag(s) - cross - cross.T + np.outer(p, p) * s.sum()
        return np.asarray(noise + by_total + self.sampling * sampled)


def positive_total(n: float) -> float:
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

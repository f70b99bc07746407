r"""Which columns go into which shuffled file, and how noisy each is.

A view of the columns v has randomised response with noise :math:`c_v` on its :math:`S_v` cells
(:mod:`pramble.solvers.central.response`). Take a table apart into its components, one for each set
s of its columns, with :math:`d_s = \prod_{j\in s}(S_j - 1)` contrasts: each view that shows s tells
it with the noise :math:`d_s c_v/(S_t n)` in a table of :math:`S_t` cells, and the best average of
them has weights :math:`w_v = 1/c_v`. All wanted tables together cost

.. math:: \sum_s \frac{A_s}{\sum_{v \supseteq s} w_v}, \qquad A_s = \sum_{t \supseteq s} d_s/S_t,
          \qquad\text{s.t.}\quad \sum_v \mu_v^2(w_v) \le \mu^2,

besides sampling. Both are convex in w, so the best weights of all sets of columns are found by
multiplicative steps; those that stay at nothing are no views. The law of the records does not
matter, so nothing of the file is used. What is proven in the end is the composed curve of the very
matrices, and the common scale of all weights is the largest that keeps the promise.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.records import Table
from pramble.mechanisms.views import Views
from pramble.solvers.central.promise import Promise, largest_scale
from pramble.solvers.central.response import response_plan
from pramble.solvers.record.anova import Components
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.watch import Watch
from pramble.values import Floats

MOST_VIEW_CELLS = 20_000
MOST_CANDIDATES = 6_000
MANY = 50
"""So many views, or one for each wanted table, are enough; more would cost a little less."""
STEPS, CLOSE, SLIGHT = 300, 1e-4, 1e-3
WORSE, ADDED = 1.03, 0.05
"""How much more tables may cost with few views, and the share of views that is added at once."""


def best_views(problem: RecordProblem, promise: Promise, watch: Watch) -> Views:
    """Return the views that cost least for the wanted tables among those that keep a promise."""
    candidates = candidate_views(problem)
    programme = Programme(problem, candidates, rows=promise.rows)
    many = max(MANY, len(problem.tables))
    weights = programme.few(budget=gaussian(promise), watch=watch, many=many)
    kept = np.flatnonzero(weights).tolist()

    def views_at(scale: float) -> Views:
        noises = [1 / (scale * weights[i]) for i in kept]
        return Views([
            response_plan(problem, candidates[i], noise=noise)
            for i, noise in zip(kept, noises, strict=True)
        ])  # fmt: skip

    scale = largest_scale(
        lambda scale: promise.proven(views_at(scale)), promise.epsilon, start=1.0, high=1e9
    )
    if not scale:
        raise InvalidInput(
            f"No views keep ε = {promise.epsilon:.6g} at δ = {promise.delta:.3g} with "
            f"{promise.rows:,} rows: want fewer tables, or allow more."
        )
    return views_at(scale)


def gaussian(promise: Promise) -> float:
    r"""Return the :math:`\mu^2` of Gaussian noise with this promise (a guide)."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    epsilon = max(promise.epsilon / promise.rows_per_person - promise.besides, 1e-6)

    def above(mu: float) -> float:
        beyond = math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        return float(ndtr(mu / 2 - epsilon / mu)) - beyond - promise.delta

    return float(brentq(above, 1e-9, 50.0 + epsilon)) ** 2


def candidate_views(problem: RecordProblem) -> list[Table]:
    """Return sets of columns that may be views: each lies around a wanted table, and is not large.

    Every wanted table itself is one, whatever its size.
    """
    wanted = [tuple(table) for table in problem.tables]
    found = dict.fromkeys(wanted)
    names = problem.columns
    for size in range(1, len(names) + 1):
        grown = [
            columns
            for columns in combinations(names, size)
            if problem.counts(columns) <= MOST_VIEW_CELLS
            and any(set(table) <= set(columns) for table in wanted)
        ]
        if len(found) + len(grown) > MOST_CANDIDATES:
            break
        found.update(dict.fromkeys(grown))
    return list(found)


class Programme:
    """The weights of candidate views: costs of components, and what each view spends.

    Parameters
    ----------
    problem : RecordProblem
    candidates : sequence of tables
    rows : int
    """

    def __init__(self, problem: RecordProblem, candidates: Sequence[Table], *, rows: int) -> None:
        components = Components(problem)
        self.rows, self.costs = rows, components.weights
        self.cells = np.array([problem.counts(view) for view in candidates], dtype=np.float64)
        self.shows = np.stack([components.shown(view) for view in candidates], axis=1)

    def cost(self, weights: Floats) -> float:
        """Return what noise costs in all wanted tables; infinite where one is not told."""
        told = self.shows @ weights
        return float((self.costs / told).sum()) if self.tells(weights) else math.inf

    def few(self, *, budget: float, watch: Watch, many: int) -> Floats:
        """Return weights of few views, which cost little more than the best of all.

        From a cover of the wanted tables on, those views are added that help most.
        """
        limit = WORSE * self.cost(self.best(np.ones(len(self.cells)), budget=budget))
        used = self.cover()
        weights = self.best(used, budget=budget)
        while self.cost(weights) > limit and used.sum() < min(many, len(used)):
            helps = (self.costs / (self.shows @ weights) ** 2) @ self.shows / self.cells
            more = np.argsort(np.where(used > 0, -1.0, helps))
            count = min(max(int(ADDED * used.sum()), 1), many - int(used.sum()))
            used[more[-count:]] = 1.0
            weights = self.best(used, budget=budget)
            watch.clock.tell("choosing views", min(limit / self.cost(weights), 1.0))
        slight = weights * self.cells < SLIGHT * (weights * self.cells).max()
        fewer = np.where(slight, 0.0, weights)
        return self.best(np.sign(fewer), budget=budget) if self.tells(fewer) else weights

    def tells(self, weights: Floats) -> bool:
        """Whether views with some weight tell every component."""
        return bool((self.shows @ weights > 0).all())

    def cover(self) -> Floats:
        """Return one for views that tell all components together, those first that cost least."""
        used, left = np.zeros(len(self.cells)), self.costs.copy()
        while left.any():
            best = int(np.argmax((left @ self.shows) / self.cells))
            used[best] = 1.0
            left[self.shows[:, best]] = 0.0
        return used

    def best(self, start: Floats, *, budget: float) -> Floats:
        """Return the weights that cost least within a budget, of the views that start with some."""
        weights, before = self.scaled(start / self.cells, budget), math.inf
        for step in range(STEPS):
            told = self.shows @ weights
            gain = (self.costs / told**2) @ self.shows
            weights = self.scaled(weights * np.sqrt(gain / self.price(weights)), budget)
            if step % 10 == 9:
                cost = self.cost(weights)
                if cost > before * (1 - CLOSE):
                    break
                before = cost
        return weights

    def total(self, weights: Floats) -> float:
        r"""Return what all views spend, :math:`\sum_v 2S_v w_v/(nD_v)`, `D = 1 + w - √(w + w²)`."""
        apart = 1 + weights - np.sqrt(weights + weights**2)
        return float((2 * self.cells / self.rows * weights / apart).sum())

    def price(self, weights: Floats) -> Floats:
        """Return what a little more weight costs, for each view."""
        apart = 1 + weights - np.sqrt(weights + weights**2)
        slope = (1 - 0.5 * np.sqrt(weights / (1 + weights))) / apart**2
        return np.asarray(2 * self.cells / self.rows * slope)

    def scaled(self, weights: Floats, budget: float) -> Floats:
        """Return the weights times a factor that spends the budget."""
        low, high = 1e-12, 1e12
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.total(weights * middle) < budget else (low, middle)
        return np.asarray(weights * low)

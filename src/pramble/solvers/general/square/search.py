r"""Local search for a square matrix of small estimation variance, above a floor of information.

Let the columns of H in :math:`\{1,a\}^{S\times S}` be the patterns and :math:`M = H
\operatorname{diag}\theta`. Rows of M sum to 1 iff :math:`\theta = H^{-1}1`, and it is a mechanism
iff θ ≥ 0. The variance of the linear queries W is then

.. math:: \operatorname{tr}(W \operatorname{Cov} W^\top)
          = \sum_j \frac{p\cdot H_j}{\theta_j}\,\| W (H^{-1})_j^\top \|^2 - \|Wp\|^2 .

Flipping one entry of H changes its inverse by rank one, so a flip is judged in O(S) and made in
:math:`O(S^2)`. The search anneals, then descends to a point that no flip improves.
"""

from dataclasses import dataclass

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.patterns import Gain, Sets, matrix_of, patterns_of
from pramble.values import Floats

BATCH = 2_000
SINGULAR = 1e-9


@dataclass(frozen=True)
class Square:
    """High sets (rows of ``sets``), weights θ, the variance, and the information."""

    sets: Sets
    theta: Floats
    variance: float
    information: float

    def matrix(self, alpha: float) -> Floats:
        """Return the row-stochastic matrix."""
        return matrix_of(self.sets, self.theta, alpha)


def least_variance(squares: list[Square | None], floor: float = 0.0) -> Square | None:
    """Return the square of least variance with enough information, if any."""
    enough = [one for one in squares if one is not None and one.information >= floor]
    return min(enough, key=lambda one: one.variance, default=None)


class SquareSearch:
    """The problem: a prior, α, the queries, and the least information allowed."""

    def __init__(
        self, prior: Floats, alpha: float, *, workload: Floats | None = None, floor: float = 0.0
    ) -> None:
        self.prior, self.gain, self.floor = prior, Gain(alpha), floor
        queries = np.eye(len(prior)) if workload is None else workload
        self.weight = queries.T @ queries
        self.constant = float(prior @ self.weight @ prior)

    def evaluate(self, sets: Sets) -> Square | None:
        """Return the square matrix of S high sets; None if it is singular or no mechanism."""
        patterns = patterns_of(sets, self.gain.a1).T
        if sets.shape[0] != sets.shape[1]:
            return None
        try:
            inverse = np.linalg.inv(patterns)
        except np.linalg.LinAlgError:
            return None
        if np.linalg.norm(inverse) * np.linalg.norm(patterns) > 1 / SINGULAR:
            return None
        theta = inverse.sum(axis=1)
        if theta.min() <= 0:
            return None
        shares = self.prior @ patterns
        squares = ((inverse @ self.weight) * inverse).sum(axis=1)
        with np.errstate(divide="ignore"):
            variance = float((shares / theta * squares).sum()) - self.constant
        information = float(theta @ self.gain(sets @ self.prior))
        return Square(sets, theta, variance, information)

    def improve(
        self,
        start: Sets,
        *,
        rng: np.random.Generator,
        steps: int,
        heat: float = 0.02,
        budget: SearchBudget,
    ) -> Square | None:
        """Anneal from a start and descend; None if nothing on the way is above the floor."""
        first = self.evaluate(start)
        if first is None or first.theta.min() < SINGULAR:
            return None
        best = first if first.information >= self.floor else None
        batch = BATCH if len(self.prior) < 40 else 5 * BATCH
        temperatures = heat * (1 - np.arange(0, steps, batch) / steps) ** 2
        sets = start
        for temperature in [*temperatures, 0.0]:
            if budget.is_over():
                break
            try:
                sets = self._batch(sets, float(temperature), rng, batch, budget)
            except np.linalg.LinAlgError:
                break
            best = self._better(best, sets)
        return best if best is None else self._descend(best, rng, budget)

    def _descend(self, best: Square, rng: np.random.Generator, budget: SearchBudget) -> Square:
        """Try every flip in random order until none helps."""
        S = len(self.prior)
        while not budget.is_over():
            try:
                after = self._better(best, self._batch(best.sets, 0.0, rng, 0, budget)) or best
            except np.linalg.LinAlgError:
                return best
            if after.variance >= best.variance * (1 - 1e-9) or S > 150:
                return after
            best = after
        return best

    def _better(self, best: Square | None, sets: Sets) -> Square | None:
        found = self.evaluate(sets)
        if found is None or found.information < self.floor:
            return best
        return found if best is None or found.variance < best.variance else best

    def _batch(
        self,
        sets: Sets,
        temperature: float,
        rng: np.random.Generator,
        steps: int,
        budget: SearchBudget,
    ) -> Sets:
        """Run some proposals from exact matrices; all S² flips once when ``steps`` is 0."""
        from pramble.solvers.general.square.kernel import PENALTY, State, anneal

        S, gain = len(self.prior), self.gain
        high = sets.T.copy()
        patterns = 1 + gain.a1 * high
        inverse = np.linalg.inv(patterns)
        flat = rng.integers(0, S * S, steps) if steps else rng.permutation(S * S)
        state = State(
            high=high,
            inverse=inverse,
            gram=inverse @ self.weight @ inverse.T,
            theta=inverse.sum(axis=1),
            shares=self.prior @ patterns,
            gains=gain(sets @ self.prior),
            prior=self.prior,
            a1=gain.a1,
            slope=gain.slope,
            floor=self.floor,
        )
        if state.theta.min() <= 0:
            raise np.linalg.LinAlgError("No mechanism.")
        value = float((state.shares / state.theta * np.diagonal(state.gram)).sum())
        if (information := float(state.theta @ state.gains)) < self.floor:
            value *= 1 + PENALTY * (self.floor - information) / self.floor
        flips = np.column_stack(np.divmod(flat, S))
        budget.spend(len(flat) * (110 + 2.5 * S) + S**3 / 2)
        anneal(state, value, flips, rng.random(len(flat)), temperature)
        return np.asarray(high.T)

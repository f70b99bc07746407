r"""Local search for a square matrix of small estimation variance, above a floor of information.

Let the columns of H in :math:`\{1,a\}^{S\times S}` be the patterns and :math:`M = H
\operatorname{diag}\theta`. Rows of M sum to 1 iff :math:`\theta = H^{-1}1`, and it is a mechanism
iff θ ≥ 0. The variance of the linear queries W is then

.. math:: \operatorname{tr}(W \operatorname{Cov} W^\top)
          = \sum_j \frac{p\cdot H_j}{\theta_j}\,\| W (H^{-1})_j^\top \|^2 - \|Wp\|^2 .

Flipping one entry of H changes its inverse by rank one, so a flip is judged in O(S) and made in
:math:`O(S^2)`. The search anneals, then descends to a point that no flip improves.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.outputs import float_variance
from pramble.solvers.general.sets import (
    SWAPS,
    Gain,
    Mixture,
    Sets,
    best_turns,
    block_designs,
    known_designs,
    matrix_information,
    matrix_of,
    random_circulants,
    response_matrix,
    two_valued,
)
from pramble.values import Floats, Integers

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
        return matrix_of(self.sets, self.theta, alpha)


def least_variance(squares: list[Square | None], floor: float = 0.0) -> Square | None:
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
        patterns = two_valued(sets, self.gain.a1).T
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
        with suppress(np.linalg.LinAlgError):
            for temperature in [*temperatures, 0.0]:
                if budget.is_over():
                    break
                sets = self._batch(sets, float(temperature), rng, batch, budget)
                best = self._better(best, sets)
        with suppress(np.linalg.LinAlgError):
            # every flip in random order until none helps
            while best is not None and not budget.is_over():
                after = self._better(best, self._batch(best.sets, 0.0, rng, 0, budget)) or best
                done = after.variance >= best.variance * (1 - 1e-9) or len(self.prior) > 150
                best = after
                if done:
                    break
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
        from pramble.solvers.general.kernels import PENALTY, State, anneal

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


MOST_SEARCHED = 150
MOST_SQUARE = 1500
MOST_SIZES = 7
IMPROVED = 4


def best_square(
    prior: Floats, alpha: float, workload: Floats | None, *, improve: bool, budget: SearchBudget
) -> tuple[Square | None, str]:
    """Return the best square matrix found and why the search ended; only structure on demand."""
    S = len(prior)
    search = SquareSearch(prior, alpha, workload=workload)
    rng = np.random.default_rng(S)
    found: list[Square | None] = []
    try:
        for start in structured(S, alpha, rng) if S <= MOST_SQUARE else ():
            found.append(search.evaluate(start))
            budget.spend(1e5 + 8 * SWAPS * S)
            if budget.is_over():
                return least_variance(found), budget.reason
        if improve and S <= MOST_SEARCHED:
            ranked = sorted((one for one in found if one is not None), key=lambda one: one.variance)
            starts = [one.sets for one in ranked[:IMPROVED]]
            for start in [*starts, *random_circulants(S, 40 if S < 20 else 8, rng)]:
                if budget.is_over():
                    return least_variance(found), budget.reason
                found.append(search.improve(start, rng=rng, steps=20_000, budget=budget))
    except KeyboardInterrupt:
        return least_variance(found), "interrupted"
    return least_variance(found), "search"


def structured(size: int, alpha: float, rng: np.random.Generator) -> Iterator[Sets]:
    """Yield randomised response, block designs, those with one more category, and flat turns."""
    yield from known_designs(size)
    for design, (row, column, corner) in product(
        block_designs(size - 1), product((False, True), repeat=3)
    ):
        yield np.block(
            [[design, np.full((size - 1, 1), column)], [np.full((1, size - 1), row), corner]]
        )
    # from below the ideal size of a block, S/(1+a), to some more
    ideal = size / (1 + math.exp(alpha))
    most = MOST_SIZES if size <= MOST_SEARCHED else 3
    sizes = np.linspace(ideal - 1, 1.4 * ideal + 2, 2 * most).round()
    within = sorted({int(k) for k in np.clip(sizes, 1, size - 1)})
    for k in within[:: max(1, len(within) // most)]:
        yield best_turns(size, k, rng=rng)


MOST_CATEGORIES = 150
STARTS = 24


def least_variance_square(
    prior: Floats,
    alpha: float,
    best: Mixture,
    *,
    floors: Sequence[float],
    budget: SearchBudget,
    workload: Floats | None = None,
) -> Square | None:
    """Return the square matrix of least variance found above the last of some falling floors.

    For each floor it is searched for from the best for the one before, and from the same starts.
    """
    S, rng, sizes = len(prior), np.random.default_rng(len(prior)), best.sets.sum(axis=1)
    starts = [best.sets] if len(best.sets) == S else []
    for k in sorted({int(sizes.min()), round(float(sizes.mean())), int(sizes.max())}):
        starts += [best_turns(S, k, rng=rng)] if 0 < k < S else []
    starts += [*known_designs(S), *random_circulants(S, STARTS if S < 40 else 4, rng)]
    found: list[Square | None] = []
    for floor in floors:
        search = SquareSearch(prior, alpha, workload=workload, floor=floor)
        warm = least_variance(found, floor)
        for start in starts if warm is None else [warm.sets, *starts]:
            if budget.is_over():
                break
            found.append(search.evaluate(start))
            found.append(search.improve(start, rng=rng, steps=20_000, budget=budget))
    return least_variance(found, floors[-1])


def complete_rank(prior: Floats, alpha: float, best: Mixture, *, floor: float) -> Floats | None:
    r"""Return :math:`(1-\delta) M + \delta R`, which makes p identifiable; None if no δ > 0 does.

    M is the best mixture, filled up with impossible outputs, and R randomised response, its columns
    ordered by :func:`silent_last`. δ is the largest, to three digits, for which the information
    stays above the floor, with a tenth of what lies above it to spare for rounding, or a part of it
    that leaves less variance.
    """
    S = len(prior)
    floor += (best.value - floor) / 10
    matrix = best.matrix(alpha)
    square = np.column_stack([matrix, np.zeros((S, S - matrix.shape[1]))])
    response = response_matrix(S, alpha)[:, silent_last(matrix)]
    low, high = 0.0, 1.0
    while high > 1e-12 and high - low > 1e-3 * high:
        middle = (low + high) / 2 if low else high / 8
        if matrix_information(prior, (1 - middle) * square + middle * response) >= floor:
            low = middle
        else:
            high = middle
    if not low:
        return None
    shares = [low, 0.7 * low, 0.5 * low, 0.3 * low] if S <= MOST_CATEGORIES else [low]
    mixed = [(1 - share) * square + share * response for share in shares]
    return min(mixed, key=lambda one: float_variance(one, prior, np.eye(S)))


def silent_last(matrix: Floats) -> Integers:
    """Return all categories, last those that differ most in what the matrix does not tell."""
    # Those are found by pivoting in a basis of the vectors u with uᵀM = 0.
    from scipy.linalg import qr

    S, used = matrix.shape
    silent = np.linalg.svd(matrix, full_matrices=True)[0][:, used:]
    if not silent.shape[1]:
        return np.arange(S)
    last = qr(silent.T, pivoting=True, mode="r")[1][: S - used]
    return np.concatenate([np.setdiff1d(np.arange(S), last), last])

"""The relaxed estimation problem: any number of outputs, convex, by column generation."""

from dataclasses import dataclass

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.sets import (
    Gain,
    Sets,
    all_sets,
    matrix_of,
    patterns_of,
    random_circulants,
    sets_numbered,
    trim,
)
from pramble.solvers.general.variance import Optimum, Variance, optimal_mixture
from pramble.solvers.general.variance_bounds import (
    MOST_ENUMERATED,
    enumerated_violations,
    proven_bound,
    sharp_bound,
    spread_bound,
    violations,
)
from pramble.values import Floats

GAP = 5e-4
LEAST_GAP = 5e-7
LOOSE = 1e-2
MOST_ROUNDS = 40
BATCH = 60
WHOLE = 8


@dataclass(frozen=True)
class Relaxed:
    """High sets, weights, their variance, and a proven bound on every mechanism's variance."""

    sets: Sets
    theta: Floats
    variance: float
    bound: float
    stopped: str

    def matrix(self, alpha: float) -> Floats:
        return matrix_of(self.sets, self.theta, alpha)


def relax(prior: Floats, alpha: float, workload: Floats | None, *, budget: SearchBudget) -> Relaxed:
    """Minimise the variance over mixtures of all sets.

    Up to ``MOST_ENUMERATED`` categories every set is priced in every round and the gap closes.
    Beyond, sets are found by local search and the bound is that of :func:`proven_bound`.
    """
    state = _Growing(prior, alpha, workload, budget=budget)
    stopped = "search"
    try:
        for _ in range(MOST_ROUNDS):
            state.solve()
            variance = state.optimum.variance
            budget.tell("adding columns", value=variance, bound=state.bound)
            if variance - state.bound <= state.gap * variance:
                stopped = "tolerance"
                break
            if budget.is_over():
                stopped = budget.reason
                break
            if not state.grow():
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    return _trim(state, alpha, stopped)


def least_gap(size: int, budget: SearchBudget) -> float:
    """Return the gap to reach: half the tolerance where every set is priced."""
    if size > MOST_ENUMERATED:
        return GAP
    return min(max(budget.tolerance / 2, LEAST_GAP), GAP)


class _Growing:
    """The columns so far, the optimum over them, and the bound it proves."""

    def __init__(
        self, prior: Floats, alpha: float, workload: Floats | None, *, budget: SearchBudget
    ) -> None:
        S, self.budget = len(prior), budget
        self.prior, self.alpha, self.gap = prior, alpha, least_gap(len(prior), budget)
        self.variance = Variance(prior, workload)
        if S <= MOST_ENUMERATED:
            self.bound = spread_bound(prior, alpha, workload)
        else:
            self.bound = proven_bound(prior, alpha, workload, budget=budget)
        self.sets = all_sets(S) if S <= WHOLE else first_relaxed_sets(prior)
        self.solved = self.sets
        self.tolerance = LOOSE
        self.optimum = self._optimum()

    def _optimum(self) -> Optimum:
        patterns = patterns_of(self.sets, np.expm1(self.alpha))
        return optimal_mixture(
            patterns, self.variance, tolerance=self.tolerance, budget=self.budget, finish=True
        )

    def solve(self) -> None:
        """Solve over the columns, and price every set where they are few."""
        apart = 1 - self.bound / self.optimum.variance
        self.tolerance = max(self.gap / 20, min(apart / 20, self.tolerance))
        self.optimum, self.solved = self._optimum(), self.sets
        if len(self.prior) <= MOST_ENUMERATED:
            worth = enumerated_violations(self.optimum, self.prior, self.alpha)
            self.bound = max(self.bound, sharp_bound(self.optimum, float(worth.max())))
            self.budget.spend(2.0 ** len(self.prior) * len(self.prior))
            self.new = most_violated(worth, len(self.prior))
        else:
            self.new = climb(self.optimum, self.sets, self.prior, self.alpha)
            self.budget.spend(20 * BATCH * len(self.prior) ** 2)

    def grow(self) -> bool:
        """Take in the sets found, or else solve more closely; whether anything changed."""
        grown = with_new(self.sets, self.optimum.theta, self.new)
        same = grown.shape == self.sets.shape and bool((grown == self.sets).all())
        self.sets = grown
        closest = self.gap / 20
        closer = same and self.tolerance > closest
        self.tolerance = max(closest, self.tolerance / 10) if closer else self.tolerance
        return closer or not same


def _trim(state: _Growing, alpha: float, stopped: str) -> Relaxed:
    found = state.optimum
    sets, theta = trim(state.solved, found.theta, Gain(alpha))
    return Relaxed(sets, theta, found.variance, state.bound, stopped)


def first_relaxed_sets(prior: Floats) -> Sets:
    """Return single categories, all but one, and turns of random blocks."""
    S = len(prior)
    rng = np.random.default_rng(S)
    single = np.eye(S, dtype=np.bool_)
    turns = np.vstack(list(random_circulants(S, max(4, 120 // S), rng)))
    return np.unique(np.vstack([single, ~single, turns]), axis=0)


def most_violated(worth: Floats, size: int) -> Sets:
    count = min(BATCH, len(worth))
    top = np.argpartition(-worth, count - 1)[:count]
    top = top[worth[top] > 0]
    return sets_numbered(top, size)


def with_new(sets: Sets, theta: Floats, new: Sets) -> Sets:
    """Return the heaviest columns, somewhat more than an optimum needs, and the new ones."""
    S = sets.shape[1]
    heaviest = np.argsort(-theta)[: S * (S + 1) // 2 + 2 * BATCH]
    return np.unique(np.vstack([sets[heaviest], new]), axis=0)


def climb(optimum: Optimum, sets: Sets, prior: Floats, alpha: float) -> Sets:
    """Return local maxima of the violation, from the columns in use and from random sets."""
    a1 = float(np.expm1(alpha))
    rng = np.random.default_rng(len(sets))
    S = len(prior)
    starts = sets[np.argsort(-optimum.theta)[:BATCH]]
    current = np.vstack([starts, rng.random((BATCH, S)) < 1 / (2 + a1)])
    for _ in range(4 * S):
        worth = flip_values(optimum, current, prior, a1)
        best = worth.argmax(axis=1)
        rows = np.arange(len(current))
        now = violations(patterns_of(current, a1), optimum, prior)
        better = worth[rows, best] > now + 1e-12 * optimum.variance
        if not better.any():
            break
        current[rows[better], best[better]] ^= True
    worth = violations(patterns_of(current, a1), optimum, prior)
    return np.unique(current[worth > 0], axis=0)


def flip_values(optimum: Optimum, sets: Sets, prior: Floats, a1: float) -> Floats:
    """Return the violation after flipping each category of each set."""
    patterns = patterns_of(sets, a1)
    step = np.where(sets, -a1, a1)
    image = patterns @ optimum.gradient
    squares = (image * patterns).sum(axis=1)[:, None]
    squares = squares + 2 * step * image + step**2 * np.diagonal(optimum.gradient)
    masses = (patterns @ prior)[:, None] + step * prior
    costs = (patterns @ optimum.prices)[:, None] + step * optimum.prices
    return np.asarray(squares / masses - costs)

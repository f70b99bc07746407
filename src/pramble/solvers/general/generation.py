r"""Mutual information over all α-DP matrices, by column generation with a proven bound.

Some best α-DP matrix has columns :math:`\theta_A s_A` with :math:`s_A = a` on a high set A and 1
off it, :math:`a = e^\alpha` (Kairouz, Oh and Viswanath 2016), so the problem is

.. math:: \max_{\theta\ge0} \sum_A \theta_A \varphi(p(A))
          \quad\text{s.t.}\quad \sum_A \theta_A s_A(x) = 1 \text{ for every } x,

over all :math:`2^S` sets. A linear programme over the sets found so far gives θ and prices λ;
:mod:`~pramble.solvers.general.pricing` finds the set that would improve it most.

**Every λ proves a bound.** Let :math:`v = \max_A [\varphi(p(A)) - \sum_x \lambda_x s_A(x)]^+`. For
every feasible θ

.. math:: \sum_A \theta_A \varphi(p(A)) \le \sum_A \theta_A \Big(v + \sum_x \lambda_x s_A(x)\Big)
          = v \sum_A \theta_A + \sum_x \lambda_x \le v + \sum_x \lambda_x,

for :math:`\sum_A \theta_A \le \sum_A \theta_A s_A(x) = 1`. When every set falls short by at least
u > 0 (prices of small α are like that: each errs little, their sum much), the prices
:math:`\lambda - up` are violated by at most :math:`u(p \cdot s_A - 1) \le u(a-1)`, and prove
:math:`\sum_x \lambda_x - u + u(a-1)`. Nothing about λ is assumed, so the float
error of the linear programme cannot spoil the bound; the float error of v is inside the margin of
the pricing. The prices :math:`\lambda + v p` attain the bound with no violation left, and serve as
the centre towards which later prices are pulled: the prices of a linear programme jump about, those
between them and the centre settle down.
"""

import math
from dataclasses import dataclass

import numpy as np

from pramble.information.measures import information_bound
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.pricing import UNIT, price
from pramble.solvers.general.sets import Gain, Sets, matrix_of, polish_weights, two_valued
from pramble.values import Floats, Integers

PULLS = (0.5, 0.25, 0.125, 0.05, 0.0)
SLACK = 0.05
MOST_NODES = 300_000


@dataclass(frozen=True)
class Mixture:
    """Columns by their high sets (rows of ``sets``) and weights θ, with a bound and its prices."""

    sets: Sets
    theta: Floats
    value: float
    bound: float
    prices: Floats
    stopped: str
    rounds: int = 0

    def matrix(self, alpha: float) -> Floats:
        return matrix_of(self.sets, self.theta, alpha)


class Columns:
    r"""The sets found so far, each once, and the linear programme over them.

    It is solved in :math:`\vartheta = a\theta`, with :math:`\kappa = 1 - 1/a`, as

    .. math:: \sum_A \vartheta_A [x \in A] = E \text{ for every } x, \qquad
              \tfrac1a \sum_A \vartheta_A + \kappa E = 1,

    which is the same, and has coefficients of order 1 whatever α. Gains, of order α² when α is
    small, are divided by the universal bound. If :math:`\nu_x` and η are the prices of these rows,
    then :math:`\lambda_x = g\nu_x/\kappa` are those of the original ones, g the universal bound.
    """

    def __init__(
        self,
        prior: Floats,
        gain: Gain,
        groups: Integers | None = None,
    ) -> None:
        self.prior, self.gain = prior, gain
        self._groups = np.arange(len(prior)) if groups is None else groups
        self._shares = shares_in_groups(self._groups, prior)
        rows = self._groups.max() + 1
        self.scale = math.exp(gain.alpha)
        self.unit = information_bound(gain.alpha)
        self.kappa = -math.expm1(-gain.alpha)
        self.sets = np.zeros((0, len(prior)), dtype=np.bool_)
        self.gains = np.zeros(0)
        self._known: set[bytes] = set()
        self._programme = LinearProgramme(np.append(np.zeros(rows), 1.0))
        self._programme.add(np.append(np.full(rows, -1.0), self.kappa)[None], np.zeros(1))

    def add(self, sets: Sets) -> int:
        """Add the sets that are new; return how many."""
        new = []
        for one in sets:
            key = np.packbits(one).tobytes()
            if key not in self._known:
                self._known.add(key)
                new.append(one)
        if not new:
            return 0
        fresh = np.array(new)
        gains = self.gain(fresh @ self.prior)
        columns = np.column_stack([self._in_groups(fresh), np.full(len(fresh), 1 / self.scale)])
        self._programme.add(columns, gains / (self.scale * self.unit))
        self.sets = np.vstack([self.sets, fresh])
        self.gains = np.concatenate([self.gains, gains])
        return len(new)

    def solve(self, budget: SearchBudget) -> tuple[Floats, Floats, float] | None:
        """Return θ ≥ 0, the prices λ and the value of the programme; None if the budget is over."""
        found = self._programme.solve(budget)
        if found is None:
            return None
        solved, prices = found
        theta = np.maximum(solved[1:], 0.0) / self.scale
        spread = prices[self._groups] * self._shares
        return theta, spread * (self.unit / self.kappa), float(theta @ self.gains)

    def _in_groups(self, sets: Sets) -> Floats:
        if len(self._shares) == self._programme.rows - 1:
            return sets.astype(np.float64)
        parts = np.zeros((self._programme.rows - 1, len(sets)))
        np.add.at(parts, self._groups, (sets * self._shares).T)
        return parts.T


def generate(
    prior: Floats,
    alpha: float,
    *,
    start: Sets,
    budget: SearchBudget,
    known: Mixture | None = None,
    groups: Integers | None = None,
) -> Mixture:
    """Return the best mixture found and a proven bound, starting from some sets that suffice."""
    # With groups the equations hold only on average over each group, by mass: a relaxation with
    # fewer rows, whose bound holds all the same, and which is a mixture only of the groups. start
    # must admit a feasible θ. known has a bound proven before, and its prices. The search stops at
    # the tolerance, when the budget is over, or at Ctrl-C, always with the best mixture so far and
    # the bound proven so far.
    gain = Gain(alpha)
    columns = Columns(prior, gain, groups)
    columns.add(np.zeros((1, len(prior)), dtype=np.bool_))
    columns.add(start)
    state = _ColumnSearch(columns, prior, gain, budget)
    try:
        if known is not None:
            state.bound, state.centre = known.bound, known.prices
        stopped = state.run()
    except KeyboardInterrupt:
        stopped = "interrupted"
    used = state.theta > 1e-14 * state.theta.max()
    sets = columns.sets[: len(state.theta)][used]
    return Mixture(
        sets,
        polish_weights(sets, state.theta[used], gain),
        state.value,
        state.bound,
        state.centre,
        stopped,
        state.rounds,
    )


class _ColumnSearch:
    """The loop: solve, pull the prices towards the centre, price, add."""

    def __init__(self, columns: Columns, prior: Floats, gain: Gain, budget: SearchBudget) -> None:
        self.columns, self.prior, self.gain, self.budget = columns, prior, gain, budget
        self.bound = information_bound(gain.alpha)
        self.centre = self.bound * prior
        self.theta = np.ones(1)
        self.value = 0.0
        self.rounds = 0

    def run(self) -> str:
        while True:
            solved = self.columns.solve(self.budget)
            if solved is None:
                return self.budget.reason
            self.theta, prices, self.value = solved
            self.rounds += 1
            self.budget.tell("adding columns", value=self.value, bound=self.bound)
            if self.closed():
                return "tolerance"
            if not self.improve(prices):
                if self.closed():
                    return "tolerance"
                return self.budget.reason if self.budget.is_over() else "search"

    def closed(self) -> bool:
        return self.budget.closed(self.value, self.bound)

    def improve(self, prices: Floats) -> int:
        """Add sets that are worth more than ``prices`` say; return how many."""
        for pull in PULLS:
            if self.budget.is_over():
                break
            sets = self.price_at((1 - pull) * prices + pull * self.centre, pull)
            advantage = self.gain(sets @ self.prior) - two_valued(sets, self.gain.a1) @ prices
            added = self.columns.add(sets[advantage > 1e-13 * self.value])
            if added:
                return added
        return 0

    def price_at(self, prices: Floats, pull: float) -> Sets:
        """Price, move the bound and the centre when this proves a better one, return the sets."""
        slack = self.budget.tolerance * max(self.value, self.bound * 1e-3) * SLACK
        nodes = MOST_NODES if pull else 10 * MOST_NODES
        found = price(
            self.prior,
            self.gain.a1 * prices,
            self.gain,
            slack=slack,
            most_nodes=nodes,
            budget=self.budget,
        )
        bound, shift = bound_by_prices(prices, found.bound, self.gain)
        if bound < self.bound:
            self.bound = bound
            self.centre = prices + shift * self.prior
        return found.sets


def bound_by_prices(prices: Floats, most: float, gain: Gain) -> tuple[float, float]:
    r"""Return the bound that prices prove, and the multiple of p that makes them attain it.

    ``most`` bounds :math:`\varphi(p(A)) - (a-1)\lambda(A)` over all sets; see the module.
    """
    total = math.fsum(prices)
    margin = 8 * UNIT * float(np.abs(prices).sum())
    over = most - total
    if over >= 0 or gain.a1 >= 1:
        shift = max(over, 0.0) + margin
        return total + shift, shift
    shift = over * (1 - gain.a1) + margin
    return total + shift, shift


def merged_groups(prior: Floats, most: int) -> Integers:
    """Return the group of each category, at most ``most`` groups in all."""
    # The heaviest half of the groups are single categories. The rest of the categories are packed,
    # lightest first, into groups whose masses grow linearly from near zero: small ones are needed
    # to fill a high set up to its ideal mass.
    S = len(prior)
    if most >= S:
        return np.arange(S)
    order = np.argsort(-prior, kind="stable")
    alone, packed = most // 2, most - most // 2
    groups = np.empty(S, dtype=np.int64)
    groups[order[:alone]] = np.arange(alone)
    tail = order[alone:][::-1]
    limits = np.cumsum(np.arange(1, packed + 1))
    mass = np.cumsum(prior[tail])
    if mass[-1] > 0:
        middle = (mass - prior[tail] / 2) / mass[-1]
        groups[tail] = alone + np.minimum(np.searchsorted(limits / limits[-1], middle), packed - 1)
    else:
        groups[tail] = alone
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def heaviest_alone(prior: Floats, alone: int) -> Integers:
    """Return groups in which the heaviest categories stand alone and all others together."""
    groups = np.full(len(prior), alone)
    groups[np.argsort(-prior, kind="stable")[:alone]] = np.arange(min(alone, len(prior)))
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def spread_prices(prices: Floats, groups: Integers, prior: Floats) -> Floats:
    """Return prices of categories from prices of groups, by their share of the group's mass."""
    return np.asarray(prices[groups] * shares_in_groups(groups, prior))


def shares_in_groups(groups: Integers, prior: Floats) -> Floats:
    """Return the share of each category in its group, by mass; alike where there is none."""
    mass = np.bincount(groups, weights=prior)
    size = np.bincount(groups)
    heavy = mass[groups] > 0
    return np.where(heavy, prior / np.where(mass > 0, mass, 1.0)[groups], 1 / size[groups])

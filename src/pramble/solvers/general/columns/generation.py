r"""Mutual information over all α-DP matrices, by column generation with a proven bound.

Some best α-DP matrix has columns :math:`\theta_A s_A` with :math:`s_A = a` on a high set A and 1
off it, :math:`a = e^\alpha` (Kairouz, Oh and Viswanath 2016), so the problem is

.. math:: \max_{\theta\ge0} \sum_A \theta_A \varphi(p(A))
          \quad\text{s.t.}\quad \sum_A \theta_A s_A(x) = 1 \text{ for every } x,

over all :math:`2^S` sets. A linear programme over the sets found so far gives θ and prices λ;
:mod:`~pramble.solvers.general.columns.pricing` finds the set that would improve it most.

**Every λ proves a bound.** Let :math:`v = \max_A [\varphi(p(A)) - \sum_x \lambda_x s_A(x)]^+`. For
every feasible θ

.. math:: \sum_A \theta_A \varphi(p(A)) \le \sum_A \theta_A \Big(v + \sum_x \lambda_x s_A(x)\Big)
          = v \sum_A \theta_A + \sum_x \lambda_x \le v + \sum_x \lambda_x,

for :math:`\sum_A \theta_A \le \sum_A \theta_A s_A(x) = 1`. Nothing about λ is assumed, so the float
error of the linear programme cannot spoil the bound; the float error of v is inside the margin of
the pricing. The prices :math:`\lambda + v p` attain the bound with no violation left, and serve as
the centre towards which later prices are pulled: the prices of a linear programme jump about, those
between them and the centre settle down.
"""

import math
from dataclasses import dataclass

import numpy as np

from pramble.information.bound import information_bound
from pramble.solvers.general.columns.branching import UNIT
from pramble.solvers.general.columns.pricing import price
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.patterns import Gain, Sets, matrix_of, patterns_of, polish
from pramble.solvers.watch import Watch
from pramble.values import Floats

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
        """Return the row-stochastic matrix of these columns."""
        return matrix_of(self.sets, self.theta, alpha)


class Columns:
    """The sets found so far, each once, and the linear programme over them."""

    def __init__(self, prior: Floats, gain: Gain) -> None:
        self.prior, self.gain = prior, gain
        self.scale = math.exp(gain.alpha)
        self.sets = np.zeros((0, len(prior)), dtype=np.bool_)
        self.gains = np.zeros(0)
        self._known: set[bytes] = set()
        self._programme = LinearProgramme(np.ones(len(prior)))

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
        self._programme.add(patterns_of(fresh, self.gain.a1) / self.scale, gains / self.scale)
        self.sets = np.vstack([self.sets, fresh])
        self.gains = np.concatenate([self.gains, gains])
        return len(new)

    def solve(self) -> tuple[Floats, Floats, float]:
        """Return θ ≥ 0, the prices λ and the value of the linear programme."""
        scaled, prices = self._programme.solve()
        theta = np.maximum(scaled, 0.0) / self.scale
        return theta, prices, float(theta @ self.gains)


def generate(
    prior: Floats,
    alpha: float,
    *,
    start: Sets,
    watch: Watch,
    prices: Floats | None = None,
) -> Mixture:
    """Return the best mixture found and a proven bound, starting from some sets that suffice.

    ``start`` must admit a feasible θ. The search stops at the watch's tolerance or time, or at
    Ctrl-C, always with the best mixture so far and the bound proven so far.
    """
    gain = Gain(alpha)
    columns = Columns(prior, gain)
    columns.add(np.zeros((1, len(prior)), dtype=np.bool_))
    columns.add(start)
    state = _Search(columns, prior, gain, watch)
    try:
        if prices is not None:
            state.price_at(prices, 0.0)
        stopped = state.run()
    except KeyboardInterrupt:
        stopped = "interrupted"
    used = state.theta > 1e-14 * state.theta.max()
    sets = columns.sets[: len(state.theta)][used]
    return Mixture(
        sets,
        polish(sets, state.theta[used], gain),
        state.value,
        state.bound,
        state.centre,
        stopped,
        state.rounds,
    )


class _Search:
    """The loop: solve, pull the prices towards the centre, price, add."""

    def __init__(self, columns: Columns, prior: Floats, gain: Gain, watch: Watch) -> None:
        self.columns, self.prior, self.gain, self.watch = columns, prior, gain, watch
        self.bound = information_bound(gain.alpha)
        self.centre = self.bound * prior
        self.theta = np.ones(1)
        self.value = 0.0
        self.rounds = 0

    def run(self) -> str:
        """Return why it stopped."""
        while True:
            self.theta, prices, self.value = self.columns.solve()
            self.rounds += 1
            self.watch.tell("adding columns", value=self.value, bound=self.bound)
            if self.closed():
                return "tolerance"
            if self.watch.left() <= 0:
                return "time limit"
            if not self.improve(prices):
                return "tolerance" if self.closed() else "search"

    def closed(self) -> bool:
        """Whether the tolerance is met."""
        return self.watch.closed(self.value, self.bound)

    def improve(self, prices: Floats) -> int:
        """Add sets that are worth more than ``prices`` say; return how many."""
        for pull in PULLS:
            sets = self.price_at((1 - pull) * prices + pull * self.centre, pull)
            worth = self.gain(sets @ self.prior) - patterns_of(sets, self.gain.a1) @ prices
            added = self.columns.add(sets[worth > 1e-13 * self.value])
            if added:
                return added
        return 0

    def price_at(self, prices: Floats, pull: float) -> Sets:
        """Price, move the bound and the centre when this proves a better one, return the sets."""
        slack = self.watch.tolerance * max(self.value, self.bound * 1e-3) * SLACK
        nodes = MOST_NODES if pull else 10 * MOST_NODES
        found = price(self.prior, self.gain.a1 * prices, self.gain, slack=slack, most_nodes=nodes)
        total = math.fsum(prices)
        violation = max(found.bound - total, 0.0) + 8 * UNIT * float(np.abs(prices).sum())
        if total + violation < self.bound:
            self.bound = total + violation
            self.centre = prices + violation * self.prior
        return found.sets

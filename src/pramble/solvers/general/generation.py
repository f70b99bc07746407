r"""Mutual information over all α-DP matrices, by column generation with a proven bound.

Some best α-DP matrix has columns :math:`\theta_A s_A` with :math:`s_A = a` on a high set A and 1
off it, :math:`a = e^\alpha` (Kairouz, Oh and Viswanath 2016), so the problem is

.. math:: \max_{\theta\ge0} \sum_A \theta_A \varphi(p(A))
          \quad\text{s.t.}\quad \sum_A \theta_A s_A(x) = 1 \text{ for every } x,

over all :math:`2^S` sets. A linear programme over the sets found so far gives θ and prices λ;
:func:`price` finds the set that would improve it most.

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

**Branch and bound** finds the high set whose column would improve the linear programme most. With φ
of :class:`~pramble.solvers.general.sets.Gain`, maximise :math:`\varphi(p(A)) - w(A)` over all
:math:`2^S` sets. With items sorted by :math:`w/p` the fractional relaxation is solved in closed
form: by concavity items enter in that order until the marginal gain :math:`\varphi'` of mass meets
the item's price, which happens at the mass :math:`\varphi'^{-1}(w_x/p_x)`; at most one item is
split.

**Nearly equal masses.** Branch and bound leaves out sets by comparing items of equal mass. Masses
that differ in the ninth digit defeat that, and the tree explodes. So replace p by
:math:`\tilde p`, equal within clusters, and w by :math:`\tilde w = w - c\,(p - \tilde p)`. Because
φ lies below its tangent at :math:`\tilde P = \tilde p(A)`, and with
:math:`D = \tfrac12\sum_x |p_x - \tilde p_x| \ge |P - \tilde P|` (the differences sum to zero, so
those of one sign sum to D at most),

.. math:: \varphi(P) - w(A) \le \varphi(\tilde P) - \tilde w(A)
          + |\varphi'(\tilde P) - c| \, D .

With :math:`c = \varphi'(P_0)`, for sets with mass within h of :math:`P_0` the last term is at most
:math:`R(h) D`, R the largest deviation of φ' from c on :math:`[P_0 - h - D, P_0 + h + D]`. Sets
with another mass are bounded by the fractional relaxation of the original problem, which is concave
in the mass and therefore largest at :math:`P_0 \pm h` when :math:`P_0` is its maximiser. The least
of the bounds over some h is returned.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pramble.information.measures import information_bound
from pramble.mechanisms.operators.dense import SMALL
from pramble.solvers.budget import OPERATIONS, SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.sets import (
    Gain,
    Mixture,
    Sets,
    polish_weights,
    shares_in_groups,
    two_valued,
)
from pramble.values import Floats, Integers

UNIT, IMPROVEMENTS = 2.0**-53, 16


@dataclass(frozen=True)
class Priced:
    """Sets found, best last; the best value; and a proven bound on the value of every set."""

    sets: Sets
    value: float
    bound: float
    nodes: int


def branch(
    p: Floats,
    w: Floats,
    gain: Gain,
    *,
    slack: float,
    most_nodes: int,
    budget: SearchBudget,
) -> Priced:
    r"""Maximise by branch and bound; the last improvements are returned.

    The bound holds for every set, whatever ended the search: it is the largest of the best value
    and of the relaxations of the subtrees that were left out, plus a margin for float error. A
    value is a sum of at most S + 3 products of relative error :math:`2^{-53}` each, in any order,
    so :math:`8(S+8)2^{-53}(\psi(a-1) + \sum_x|w_x|)` covers it many times over; the difference
    in :math:`\psi` has an error of a few units of :math:`(1+t)\log(1+t) \le a\alpha`, for which
    :math:`32 \cdot 2^{-53} a\alpha` is added; where :math:`\psi` is a series its error is
    relative to itself, and :math:`32 \cdot 2^{-53} \psi(a-1)` is enough.
    """
    from pramble.solvers.general.kernels import Items, branch_and_bound

    free = (p == 0) & (w <= 0)
    items = np.flatnonzero(p > 0)
    items = items[np.lexsort((p[items], w[items] / p[items]))]
    masses, groups = np.unique(p[items], return_inverse=True)
    found = np.zeros((IMPROVEMENTS, len(items)), dtype=np.bool_)
    best, bound, count, nodes = branch_and_bound(
        Items(
            p=p[items],
            w=w[items],
            target=gain.mass_at(w[items] / p[items]),
            group=groups.astype(np.int64),
            sum_p=np.append(0.0, np.cumsum(p[items])),
            sum_w=np.append(0.0, np.cumsum(w[items])),
            a1=gain.a1,
            slope=gain.slope,
        ),
        len(masses),
        float(w[free].sum()),
        slack,
        most_nodes,
        found,
    )
    budget.spend(nodes * node_cost(p) + 2000 * len(p))
    order = [row % IMPROVEMENTS for row in range(max(0, count - IMPROVEMENTS), count)]
    sets = np.zeros((len(order), len(p)), dtype=np.bool_)
    sets[:, free] = True
    sets[:, items] = found[order]
    return Priced(sets, best, bound + float_margin(w, gain), nodes)


def node_cost(p: Floats) -> float:
    """Return the operations of a node: more where items of equal mass rule out sums."""
    items = p[p > 0]
    return 60.0 if len(np.unique(items)) == len(items) else 40.0 + 2.0 * len(items)


def float_margin(w: Floats, gain: Gain) -> float:
    """Return what covers the float error of any value; see :func:`branch`."""
    sums = 8 * (len(w) + 8) * (gain.slope + float(np.abs(w).sum()))
    terms = gain.slope if gain.a1 < SMALL else (1 + gain.a1) * gain.alpha
    return UNIT * (sums + 32 * terms)


SPAN = 1e-4
FEW_NODES = 20_000
TANGENTS = 4
MOST_COUNTED = 500
WINDOWS = np.geomspace(0.5, 1e-4, 40).tolist()


def price(
    p: Floats,
    w: Floats,
    gain: Gain,
    *,
    slack: float,
    budget: SearchBudget,
    most_nodes: int = 2_000_000,
) -> Priced:
    r"""Maximise :math:`\varphi(p(A)) - w(A)` over all sets A, within ``slack``.

    A search that runs out of a few nodes is bounded by the number of members, and if that is not
    enough goes on; one that runs out of all is done again with nearly equal masses made equal. The
    best of these bounds is returned.
    """
    found = branch(p, w, gain, slack=slack, most_nodes=min(FEW_NODES, most_nodes), budget=budget)
    if found.nodes <= FEW_NODES:
        return found
    counted = count_bound(p, w, gain)
    budget.spend(TANGENTS * 40 * len(p) ** 2)
    most_nodes = int(min(most_nodes, max(budget.left(), 0.0) * OPERATIONS / (2 * node_cost(p))))
    if counted > found.value + slack and most_nodes > FEW_NODES:
        found = branch(p, w, gain, slack=slack, most_nodes=most_nodes, budget=budget)
        if found.nodes > most_nodes:
            # few distinct masses need few nodes, and with many little is won
            found = price_equalised(
                p, w, gain, found, slack=slack, most_nodes=FEW_NODES, budget=budget
            )
    return replace(found, bound=max(min(found.bound, counted), found.value))


def count_bound(p: Floats, w: Floats, gain: Gain) -> float:
    r"""Return a bound on the value of every set, by its number of members.

    φ lies below its tangent at any :math:`P_0`, so a set of k members is worth at most
    :math:`\varphi(P_0) - \varphi'(P_0) P_0` plus the k largest of :math:`\varphi'(P_0) p_x - w_x`.
    Among nearly equal masses only some sums occur, which the fractional relaxation does not know.
    """
    if len(p) > MOST_COUNTED:
        return math.inf
    base = float(w[p == 0].clip(max=0).sum())
    p, w = p[p > 0], w[p > 0]
    least = np.full(len(p) + 1, np.inf)
    touched = np.linspace(0.0, float(p.sum()), len(p) + 1)
    for _ in range(TANGENTS):
        slope = gain.derivative(touched)[:, None]
        order = np.argsort(w - slope * p, axis=1, kind="stable")
        values = np.take_along_axis(slope * p - w, order, axis=1)
        tops = np.column_stack([np.zeros(len(touched)), np.cumsum(values, axis=1)])
        bounds = (gain(touched) - slope[:, 0] * touched)[:, None] + tops
        least = np.minimum(least, bounds.min(axis=0))
        masses = np.column_stack([np.zeros(len(touched)), np.cumsum(p[order], axis=1)])
        touched = np.diagonal(masses).copy()
    return float(least.max()) - base + float_margin(w, gain)


def price_equalised(
    p: Floats,
    w: Floats,
    gain: Gain,
    first: Priced,
    *,
    slack: float,
    most_nodes: int,
    budget: SearchBudget,
) -> Priced:
    """Return the sets of both searches and the better of both bounds."""
    equal, base = equalise(p), float(w[p == 0].clip(max=0).sum())
    each = w[p > 0] / p[p > 0]
    order = np.argsort(each, kind="stable")
    masses = np.append(0.0, np.cumsum(p[p > 0][order]))
    costs = np.append(0.0, np.cumsum(w[p > 0][order]))

    def fractional(mass: float) -> float:
        if not 0 <= mass <= masses[-1]:
            return -math.inf
        return float(gain(np.array(mass))) - float(np.interp(mass, masses, costs)) - base

    # the fractional maximum is where the marginal gain of mass first meets the price of an item
    target = gain.mass_at(each[order])
    past = np.flatnonzero(masses[1:] > target)
    centre = float(max(target[past[0]], masses[past[0]]) if past.size else masses[-1])
    slope = float(gain.derivative(np.array(centre)))
    found = branch(
        equal, w - slope * (p - equal), gain, slack=slack, most_nodes=most_nodes, budget=budget
    )
    spread = float(np.abs(p - equal).sum()) / 2
    bounds = [first.bound]
    for window in WINDOWS:
        ends = np.clip([centre - window - spread, centre + window + spread], 0.0, 1.0)
        deviation = float(np.abs(gain.derivative(ends) - slope).max())
        edges = max(fractional(centre - window), fractional(centre + window))
        bounds.append(max(found.bound + deviation * spread, edges))
    sets = np.vstack([first.sets, found.sets])
    values = gain(sets @ p) - sets @ w
    best_last = np.argsort(values, kind="stable")
    value = float(values.max())
    bound = max(min(bounds) + float_margin(w, gain), value)
    return Priced(sets[best_last], value, bound, first.nodes + found.nodes)


def equalise(p: Floats) -> Floats:
    """Return the masses with each run of nearly equal ones replaced by its mean."""
    order, equal, start = np.argsort(p, kind="stable"), np.empty(len(p)), 0
    while start < len(p):
        end = int(np.searchsorted(p[order], p[order[start]] * (1 + SPAN), side="right"))
        equal[order[start:end]] = p[order[start:end]].mean()
        start = end
    return equal


PULLS = (0.5, 0.25, 0.125, 0.05, 0.0)
SLACK = 0.05
MOST_NODES = 300_000


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
    groups = np.arange(len(prior)) if groups is None else groups
    search = _ColumnSearch(prior, Gain(alpha), budget, groups)
    if known is not None:
        search.bound, search.centre = known.bound, known.prices
    search.add(np.zeros((1, len(prior)), dtype=np.bool_))
    search.add(start)
    try:
        stopped = search.run()
    except KeyboardInterrupt:
        stopped = "interrupted"
    used = search.theta > 1e-14 * search.theta.max()
    sets = search.sets[: len(search.theta)][used]
    theta = polish_weights(sets, search.theta[used], search.gain)
    return Mixture(sets, theta, search.value, search.bound, search.centre, stopped)


class _ColumnSearch:
    r"""The loop: solve, pull the prices towards the centre, price, add; each set once.

    The linear programme is solved in :math:`\vartheta = a\theta`, with
    :math:`\kappa = 1 - 1/a`, as

    .. math:: \sum_A \vartheta_A [x \in A] = E \text{ for every } x, \qquad
              \tfrac1a \sum_A \vartheta_A + \kappa E = 1,

    which is the same, and has coefficients of order 1 whatever α. Gains, of order α² when α is
    small, are divided by the universal bound. If :math:`\nu_x` and η are the prices of these rows,
    then :math:`\lambda_x = g\nu_x/\kappa` are those of the original ones, g the universal bound.
    """

    def __init__(self, prior: Floats, gain: Gain, budget: SearchBudget, groups: Integers) -> None:
        self.prior, self.gain, self.budget, self.groups = prior, gain, budget, groups
        self.unit = self.bound = information_bound(gain.alpha)
        self.centre = self.bound * prior
        self.theta, self.value = np.ones(1), 0.0
        self.scale, self.kappa = math.exp(gain.alpha), -math.expm1(-gain.alpha)
        self.sets, self.gains = np.zeros((0, len(prior)), dtype=np.bool_), np.zeros(0)
        self._known: set[bytes] = set()
        self.shares, rows = shares_in_groups(groups, prior), int(groups.max()) + 1
        self.members = np.zeros((len(prior), rows))
        self.members[np.arange(len(prior)), groups] = self.shares
        self._programme = LinearProgramme(np.append(np.zeros(rows), 1.0))
        first = np.append(np.full(rows, -1.0), self.kappa)
        self._programme.add(first[None], np.zeros(1))

    def add(self, sets: Sets) -> int:
        """Add the sets that are new; return how many."""
        keyed = {np.packbits(one).tobytes(): one for one in sets}
        fresh = np.array([one for key, one in keyed.items() if key not in self._known])
        if not len(fresh):
            return 0
        self._known |= keyed.keys()
        gains = self.gain(fresh @ self.prior)
        last = np.full(len(fresh), 1 / self.scale)
        columns = np.column_stack([fresh @ self.members, last])
        self._programme.add(columns, gains / (self.scale * self.unit))
        self.sets = np.vstack([self.sets, fresh])
        self.gains = np.concatenate([self.gains, gains])
        return len(fresh)

    def run(self) -> str:
        while True:
            solved = self._programme.solve(self.budget)
            if solved is None:
                return self.budget.reason
            self.theta = np.maximum(solved[0][1:], 0.0) / self.scale
            self.value = float(self.theta @ self.gains)
            self.budget.report("adding columns", value=self.value, bound=self.bound)
            added = 0
            if not self.budget.closed(self.value, self.bound):
                spread = solved[1][self.groups] * self.shares
                added = self.improve(spread * (self.unit / self.kappa))
            if not added and self.budget.closed(self.value, self.bound):
                return "tolerance"
            if not added:
                return self.budget.reason if self.budget.is_over() else "search"

    def improve(self, prices: Floats) -> int:
        """Add sets that are worth more than ``prices`` say; return how many."""
        for pull in PULLS:
            if self.budget.is_over():
                break
            # the centre moves where pricing proves a better bound
            pulled = (1 - pull) * prices + pull * self.centre
            found = price(
                self.prior,
                self.gain.a1 * pulled,
                self.gain,
                slack=self.budget.tolerance * max(self.value, self.bound * 1e-3) * SLACK,
                most_nodes=MOST_NODES if pull else 10 * MOST_NODES,
                budget=self.budget,
            )
            bound, shift = bound_by_prices(pulled, found.bound, self.gain)
            if bound < self.bound:
                self.bound, self.centre = bound, pulled + shift * self.prior
            sets = found.sets
            advantage = self.gain(sets @ self.prior) - two_valued(sets, self.gain.a1) @ prices
            added = self.add(sets[advantage > 1e-13 * self.value])
            if added:
                return added
        return 0


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

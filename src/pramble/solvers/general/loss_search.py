r"""The least expected loss by a primal-dual interior-point method that knows the structure.

With :math:`a = e^\alpha`, :math:`\kappa = 1 - 1/a`, outputs' weights :math:`t_z` and
:math:`M_{xz} = t_z/a + \kappa y_{xz}`, the problem is the linear programme

.. math:: \min \sum_x p_x \sum_z L_{xz} M_{xz} \quad\text{s.t.}\quad 0 \le y_{xz} \le t_z,\quad
          \sum_z y_{xz} = E \text{ for every } x,\quad \tfrac1a\sum_z t_z + \kappa E = 1,

with coefficients of order 1 whatever α. Its dual asks for thresholds :math:`\ell_x` and
:math:`f, g \ge 0` with

.. math:: \kappa L_{xz} - \ell_x + g_{xz} = f_{xz}, \quad
          \sum_x p_x g_{xz} = \tfrac1a(\bar L_z - \eta), \quad \sum_x p_x \ell_x = \kappa\eta,
          \qquad \bar L_z = \sum_x p_x L_{xz},

and maximises η. On the path that is followed :math:`y_{xz} f_{xz} = s_{xz} g_{xz} = \mu\omega_x`
with :math:`s = t - y` and :math:`\omega_x \propto p_x^{-1/2}`. That lies half way between a barrier
that weighs rows by their probabilities and one that weighs them alike; either takes many more
rounds when probabilities differ by orders of magnitude.

In Newton's equations every :math:`y_{xz}` depends on :math:`\ell_x` and :math:`t_z` alone: with
:math:`F = f/y`, :math:`G = g/s`, :math:`K = G/(F+G)`, :math:`A_x = \sum_z 1/(F+G)`, what remains
is one positive definite matrix with as many rows as outputs,

.. math:: H = \operatorname{diag}_z\Big(\sum_x p_x F K\Big)
          + K^\top \operatorname{diag}_x(p_x/A_x) K,

and two more unknowns, E and η. So a round costs some passes over S² numbers and one factorisation,
and 10 to 80 rounds suffice. Steps are Mehrotra's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.values import Floats

MOST_ROUNDS = 200
TO_THE_WALL = 0.99
SHORTEST = 1e-8


@dataclass(frozen=True)
class Moves:
    """The weights m of the outputs, thresholds of the true values, and why the search stopped."""

    least: Floats
    thresholds: Floats
    stopped: str
    rounds: int


@dataclass
class Iterate:
    """A primal and dual point, or a step of it, in the names of the module."""

    t: Floats
    E: float
    y: Floats
    s: Floats
    eta: float
    ell: Floats
    f: Floats
    g: Floats

    def move(self, step: "Iterate", primal: float, dual: float) -> None:
        self.t += primal * step.t
        self.E += primal * step.E
        self.y += primal * step.y
        self.s += primal * step.s
        self.eta += dual * step.eta
        self.ell += dual * step.ell
        self.f += dual * step.f
        self.g += dual * step.g

    def reach(self, step: "Iterate") -> tuple[float, float]:
        """Return which parts of a step, at most 1, end at the walls of primal and dual."""
        return (
            min(part(self.y, step.y), part(self.s, step.s)),
            min(part(self.f, step.f), part(self.g, step.g)),
        )


def part(point: Floats, step: Floats) -> float:
    """Return how much of a step leaves the point non-negative, at most all."""
    return min(1.0, -1.0 / min(float((step / point).min()), -1.0))


def least_loss(
    prior: Floats,
    loss: Floats,
    alpha: float,
    budget: SearchBudget,
    shown: Callable[[float], float] = float,
) -> Moves:
    """Search until the gap is within the budget's tolerance, from a point that is feasible."""
    # prior is positive, loss lies between 0 and 1 and has a row for each entry of it. shown turns
    # such a loss into the one that is told.
    search = _LossSearch(prior, loss, alpha, shown)
    try:
        stopped = search.run(budget)
    except KeyboardInterrupt:
        stopped = "interrupted"
    return Moves(
        search.point.t * search.inverse, search.point.ell / search.kappa, stopped, search.rounds
    )


class _LossSearch:
    """The loop over rounds."""

    def __init__(
        self, prior: Floats, loss: Floats, alpha: float, shown: Callable[[float], float]
    ) -> None:
        self.prior, self.loss, self.shown = prior, loss, shown
        self.inverse, self.kappa = math.exp(-alpha), -math.expm1(-alpha)
        self.mean = prior @ loss
        self.omega = prior**-0.5 / float((prior**0.5).sum())
        self.point = self.start()
        self.rounds = 0

    def start(self) -> Iterate:
        """Return a feasible point near the path: equal outputs, thresholds far below every loss."""
        (R, S), inverse, kappa = self.loss.shape, self.inverse, self.kappa
        high = inverse / (1 + inverse)
        each = 1 / (S * (inverse + kappa * high))
        below = self.omega / self.omega.min()
        eta = -float(self.prior @ below)
        g = np.outer(below, self.mean / -eta + 1) * inverse
        return Iterate(
            t=np.full(S, each),
            E=high * S * each,
            y=np.full((R, S), high * each),
            s=np.full((R, S), (1 - high) * each),
            eta=eta,
            ell=-kappa * below,
            f=kappa * (self.loss + below[:, None]) + g,
            g=g,
        )

    def value(self) -> float:
        inside = float(self.prior @ np.einsum("xz,xz->x", self.loss, self.point.y))
        return float(self.mean @ self.point.t) * self.inverse + self.kappa * inside

    def run(self, budget: SearchBudget) -> str:
        """Return why it stopped; where floats resolve no more it says that the tolerance is met."""
        p, point = self.prior, self.point
        for self.rounds in range(MOST_ROUNDS):
            yf, sg = point.y * point.f, point.s * point.g
            gap = float(p @ (yf + sg).sum(axis=1))
            value = self.value()
            bound = min(max(point.eta, 0.0), value)
            budget.report("moving near", value=self.shown(value), bound=self.shown(bound))
            budget.spend(len(point.t) ** 3 / 10 + 70 * point.y.size)
            if gap <= budget.tolerance * value:
                break
            if budget.is_over():
                return budget.reason
            try:
                step, parts = self.step(yf, sg, gap)
            except np.linalg.LinAlgError:
                break
            if not max(parts) > SHORTEST:
                break
            point.move(step, *parts)
        return "tolerance"

    def step(self, yf: Floats, sg: Floats, gap: float) -> tuple[Iterate, tuple[float, float]]:
        """Return the step of a round and how much of it to take in primal and dual."""
        point = self.point
        newton = _Newton(self)
        step = newton.step(-yf, -sg)
        primal, dual = point.reach(step)
        yf_ahead = (point.y + primal * step.y) * (point.f + dual * step.f)
        sg_ahead = (point.s + primal * step.s) * (point.g + dual * step.g)
        ahead = float(self.prior @ (yf_ahead + sg_ahead).sum(axis=1))
        path = ((ahead / gap) ** 3 * gap / (2 * len(point.t))) * self.omega[:, None]
        both = primal * dual
        step = newton.step(path - yf - both * step.y * step.f, path - sg - both * step.s * step.g)
        primal, dual = point.reach(step)
        return step, (TO_THE_WALL * primal, TO_THE_WALL * dual)


class _Newton:
    """Newton's equations at a point, factorised once and solved for several right sides."""

    def __init__(self, search: _LossSearch) -> None:
        from scipy.linalg import cho_factor

        self.search = search
        p, point = search.prior, search.point
        self.F, self.G = point.f / point.y, point.g / point.s
        self.over = 1 / (self.F + self.G)
        self.K = self.G * self.over
        self.A = self.over.sum(axis=1)
        self.rows = p / self.A
        half = self.K * np.sqrt(self.rows)[:, None]
        H = half.T @ half
        H[np.diag_indices(len(H))] += p @ (self.F * self.K)
        H[np.diag_indices(len(H))] *= 1 + 1e-14
        self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
        inverse, kappa = search.inverse, search.kappa
        self.k = self.rows @ self.K
        self.by_E = self.solve(self.k)
        self.by_eta = self.solve(np.full(len(H), inverse))
        self.two = np.array(
            [
                [float(self.by_E.sum()) * inverse + kappa, float(self.by_eta.sum()) * inverse],
                [float(self.rows.sum() - self.k @ self.by_E), -float(self.k @ self.by_eta) - kappa],
            ]
        )

    def solve(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self.factor, right, check_finite=False))

    def step(self, yf: Floats, sg: Floats) -> Iterate:
        """Return the step that changes the products by ``yf`` and ``sg``."""
        # It also restores what rounding took from the equations.
        search, point = self.search, self.search.point
        p, inverse, kappa = search.prior, search.inverse, search.kappa
        by_y, by_s = yf / point.y, sg / point.s
        q = by_s - by_y
        row = np.einsum("xz,xz->x", q, self.over) + point.E - point.y.sum(axis=1)
        column = p @ (self.K * q - by_s) + (search.mean - point.eta) * inverse - p @ point.g
        one = 1 - float(point.t.sum()) * inverse - kappa * point.E
        other = kappa * point.eta - float(p @ point.ell)
        base = self.solve((self.rows * row) @ self.K - column)
        right = [
            one - float(base.sum()) * inverse,
            other - float(self.rows @ row) + float(self.k @ base),
        ]
        E, eta = np.linalg.solve(self.two, right).tolist()
        t = base + E * self.by_E + eta * self.by_eta
        ell = (row - self.K @ t + E) / self.A
        y = (self.G * t + ell[:, None] - q) * self.over
        s = t - y
        return Iterate(t, E, y, s, eta, ell, by_y - self.F * y, by_s - self.G * s)

r"""Proven lower bounds on the estimation variance of every α-DP mechanism.

**Equivalence.** For matrices K, K' of Fisher information and :math:`H \succeq 0`, by Cauchy and
Schwarz,

.. math:: \operatorname{tr}(CK'^{-1}) \cdot \operatorname{tr}(H K')
          \ge \big(\operatorname{tr}(C^{1/2} H C^{1/2})^{1/2}\big)^2,

and :math:`\operatorname{tr}(HK') = \sum_A \theta_A c_A` with :math:`c_A = s_A^\top G s_A / (p\cdot
s_A)` and :math:`G = BHB^\top`. For any prices λ this is at most :math:`\sum_x\lambda_x + v`, v the
largest violation :math:`[c_A - \lambda\cdot s_A]^+` over all sets, because :math:`\sum_A\theta_A
\le 1`. So

.. math:: \operatorname{variance} \ge
    \big(\operatorname{tr}(C^{1/2} H C^{1/2})^{1/2}\big)^2 \Big/ \Big(\sum_x \lambda_x + v\Big).

With :math:`H = K^{-1}CK^{-1}` at an optimum K, the numerator is :math:`f(K)^2` and the bound is
sharp; v is then found by trying every set (few categories).

**Many categories.** With H = I, that is :math:`s^\top G s = \sum_x (s_x - \sigma)^2`,
:math:`\sigma = \sum_x s_x / S`, two-valued patterns give
:math:`c_A = S(\sigma-1)(a-\sigma)/\pi` with :math:`\pi = p\cdot s`: two numbers per set. With
prices :math:`\lambda = \lambda_1 1/S + \lambda_2 p` the violation is convex in π for fixed σ, so it
is largest where the set holds the lightest or the heaviest categories of its number.

A semidefinite bound on the estimation variance, for more categories than can be enumerated.

Let :math:`r = s/(p\cdot s)` be the ratios of a column, :math:`\ell` the lower of its two values and
:math:`a\ell` the higher, :math:`a = e^\alpha`. Every column satisfies

.. math:: p\cdot r = 1, \qquad (r_x - \ell)(a\ell - r_x) = 0, \qquad
          (r_x - \ell)(r_y - \ell) \ge 0 .

Averaged over the columns with their probabilities, for any :math:`\lambda, d` and :math:`\Xi \ge 0`
(symmetric, zero on the diagonal), the Fisher information :math:`J = E[rr^\top]`, for which
:math:`Jp = E[r] = 1`, thus satisfies :math:`\operatorname{tr}(GJ) \le \sum_x\lambda_x` as soon as

.. math:: G \preceq R = \operatorname{diag}(d) + \tfrac12(\lambda p^\top + p\lambda^\top) - \Xi
          - \tfrac1c\, bb^\top, \qquad b = \tfrac{1+a}2 d - \Xi 1, \quad
          c = a\sum_x d_x - 1^\top\Xi 1 > 0 :

add the three relations with multipliers to :math:`\operatorname{tr}(GJ)`; what is left is the mean
of a quadratic form in :math:`(r, \ell)` whose matrix has the Schur complement :math:`G - R`. Of all
:math:`G = BHB^\top` with :math:`G \preceq R` the largest has :math:`H = (B^\top R^{-1} B)^{-1}`,
and by Cauchy and Schwarz as above

.. math:: \operatorname{variance} \ge
          \big(\operatorname{tr}(C^{1/2} H C^{1/2})^{1/2}\big)^2 \Big/ \sum_x\lambda_x .

The root of the numerator is concave in :math:`(\lambda, d, \Xi)`; the bound is maximised by
quasi-Newton steps inside the cone of positive definite R, to which a barrier keeps. With
:math:`\lambda \propto d = p` and :math:`\Xi = 0` it has the closed form
:math:`\frac{4a}{(a-1)^2}\big(\sum_i\sigma_i(W D_p^{1/2}(I - \sqrt p\sqrt p^\top))\big)^2`.
"""

import math
from itertools import product

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.sets import all_sets
from pramble.solvers.general.variance import Optimum, Variance, descend
from pramble.values import Floats, Integers

MOST_ENUMERATED = 18
MARGIN = 1e-9


def violations(patterns: Floats, optimum: Optimum, prior: Floats) -> Floats:
    r"""Return :math:`c_A - \lambda\cdot s_A` for some patterns."""
    squares = ((patterns @ optimum.gradient) * patterns).sum(axis=1)
    return np.asarray(squares / (patterns @ prior) - patterns @ optimum.prices)


def enumerated_violations(optimum: Optimum, prior: Floats, alpha: float) -> Floats:
    r"""Return the violation of every set, in the order of :func:`all_sets`.

    With :math:`G1 = 0` a set with indicator y has :math:`s^\top G s = (a-1)^2 y^\top G y`, a sum of
    what two halves of the categories give and of what they give together.
    """
    S, a1 = len(prior), float(np.expm1(alpha))
    low, high = np.arange(S // 2), np.arange(S // 2, S)
    some, others = (all_sets(len(half)).astype(np.float64) for half in (high, low))
    G, prices = optimum.gradient, a1 * optimum.prices

    def own(sets: Floats, half: Integers) -> Floats:
        return np.asarray(((sets @ G[np.ix_(half, half)]) * sets).sum(axis=1))

    squares = 2 * some @ G[np.ix_(high, low)] @ others.T
    squares += own(some, high)[:, None]
    squares += own(others, low)
    squares *= a1 * a1
    squares /= (1 + a1 * (some @ prior[high]))[:, None] + a1 * (others @ prior[low])
    squares -= (optimum.prices.sum() + some @ prices[high])[:, None] + others @ prices[low]
    return np.asarray(squares.ravel())


def sharp_bound(optimum: Optimum, violation: float) -> float:
    """Return the bound that an optimum over some columns proves, given the largest violation."""
    total = float(optimum.prices.sum()) + max(violation, 0.0)
    return optimum.variance**2 / total * (1 - MARGIN)


def spread_bound(prior: Floats, alpha: float, workload: Floats | None) -> float:
    """Return the bound by sizes and masses of sets, with the best prices found."""
    from scipy.optimize import minimize

    S, a, root = len(prior), math.exp(alpha), Variance(prior, workload).root
    light = np.append(0.0, np.cumsum(np.sort(prior)))
    counts = np.arange(S + 1)
    sigma = 1 + (a - 1) * np.concatenate([counts, S - counts]) / S
    pi = 1 + (a - 1) * np.concatenate([light, 1 - light])
    scale = S * (a - 1) ** 2 / (4 * a)
    gain = S * (sigma - 1) * (a - sigma) / pi / scale

    def payoff(prices: Floats) -> float:
        violation = float((gain - prices[0] * sigma - prices[1] * pi).max())
        return float(prices.sum()) + max(violation, 0.0)

    found = minimize(payoff, np.array([2.0, -1.0]), method="Nelder-Mead", options={"maxiter": 120})
    return float(np.trace(root)) ** 2 / (scale * payoff(found.x)) * (1 - MARGIN)


BARRIERS = (1e-2, 1e-3, 1e-5)
# Shares of H given up so that the order of G and R is sure in floats.
SHRINK = (1e-7, 1e-5, 1e-3)
PAIRED = 0.3
WORK = 1e10
MOST_PAIRED, MOST_CLIMBED, MOST_CLOSED = 150, 200, 1500


def proven_bound(
    prior: Floats, alpha: float, workload: Floats | None, *, budget: SearchBudget
) -> float:
    """Return the best of the bounds that the number of categories and half the time allow."""
    part = budget.part(budget.tolerance, effort=budget.left() / 2, quiet=True)
    found = [spread_bound(prior, alpha, workload)]
    if len(prior) <= MOST_CLOSED:
        found.append(closed_bound(prior, alpha, workload))
    if len(prior) <= MOST_CLIMBED:
        found.append(semidefinite_bound(prior, alpha, workload, budget=part))
    return max(found)


def closed_bound(prior: Floats, alpha: float, workload: Floats | None) -> float:
    queries = np.eye(len(prior)) if workload is None else workload
    root = np.sqrt(prior)
    scaled = queries * root
    values = np.linalg.svd(scaled - np.outer(scaled @ root, root), compute_uv=False)
    return float(values.sum() / math.sinh(alpha / 2)) ** 2 * (1 - 1e-9)


def semidefinite_bound(
    prior: Floats, alpha: float, workload: Floats | None, *, budget: SearchBudget
) -> float:
    """Return the best bound found, with and without pairs; 0 if none holds."""
    variance = Variance(prior, workload)
    found = [0.0]
    for pairs in (0.0, PAIRED) if len(prior) <= MOST_PAIRED else (0.0,):
        if budget.is_over():
            break
        dual = Dual(variance, alpha, pairs=pairs)
        if (x := dual.start(budget)) is not None:
            found.append(dual.proven(dual.climb(x, budget)))
    return max(found)


class Dual:
    """The logarithm of the bound as a function of log d, scaled λ and log Ξ, with a barrier."""

    def __init__(self, variance: Variance, alpha: float, *, pairs: float) -> None:
        self.variance, self.a, self.pairs = variance, math.exp(alpha), pairs
        self.prior, self.size = variance.prior, len(variance.prior)
        self.scale = (self.prior + 1 / self.size) / 2
        self.upper = np.triu_indices(self.size, 1)
        self.barrier = BARRIERS[0]

    def start(self, budget: SearchBudget) -> Floats | None:
        """Return the best of some points in the domain, d a power of p, λ between p and d."""
        found: list[tuple[float, int, Floats]] = []
        for power, between in product((0.0, 0.5, 1.0), (0.0, 1.0, 2.0)):
            d = self.prior**power + 1e-3 * (self.prior**power).mean()
            d /= d.sum()
            logs = np.log(self.pairs * self.a * np.outer(d, d)[self.upper]) if self.pairs else d[:0]
            prices = ((1 - between) * self.prior + between * d) / self.scale
            if budget.is_over():
                break
            budget.spend(13 * (self.size**3 + 1e5))
            for size in np.geomspace(1e-2, 1e4, 13):
                x = np.concatenate([np.log(d), size * prices, logs])
                found.append((self(x)[0], len(found), x))
        value, _, x = min(found, default=(math.inf, 0, self.prior))
        return x if math.isfinite(value) else None

    def climb(self, x: Floats, budget: SearchBudget) -> Floats:
        """Return the best point found, the barrier lowered twice."""
        rounds = min(400, int(WORK / (60 * self.size**3)) + 10)
        for self.barrier in BARRIERS:
            x = descend(
                self,
                x,
                rounds=rounds,
                tolerance=1e-6,
                budget=budget,
                operations=1.2 * self.size**3 + 1.2e5,
            )
        return x

    def parts(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats, float]:
        S = self.size
        d, prices, pairs = np.exp(x[:S]), x[S : 2 * S] * self.scale, np.zeros((S, S))
        if self.pairs:
            pairs[self.upper] = np.exp(x[2 * S :])
            pairs += pairs.T
        b = (1 + self.a) / 2 * d - pairs.sum(axis=1)
        return d, prices, pairs, b, float(self.a * d.sum() - pairs.sum())

    def limit(self, x: Floats) -> Floats:
        d, prices, pairs, b, c = self.parts(x)
        with np.errstate(over="ignore", invalid="ignore"):
            cross, square = np.outer(prices, self.prior) / 2, np.outer(b, b) / c
        return np.asarray(np.diag(d) + cross + cross.T - pairs - square)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return minus the logarithm of the bound and the barrier, and its gradient."""
        S, a, weight = self.size, self.a, self.barrier
        with np.errstate(over="ignore", invalid="ignore"):
            d, prices, pairs, b, c = self.parts(x)
        total = float(prices.sum())
        if not (c > 0 and total > 0 and math.isfinite(c)):
            return math.inf, x
        R = self.limit(x)
        if not np.isfinite(R).all():
            return math.inf, x
        try:
            logdet = 2 * float(np.log(np.diagonal(np.linalg.cholesky(R))).sum())
        except np.linalg.LinAlgError:
            return math.inf, x
        inverse = np.linalg.inv(R)
        H = np.linalg.inv(self.variance.basis.T @ inverse @ self.variance.basis)
        root, weights = self.root_trace(H)
        if not root > 0:
            return math.inf, x
        side = inverse @ self.variance.basis @ H
        slope = side @ weights @ side.T / root + weight * inverse
        slope_b = slope @ b
        own = float(b @ slope_b) / c**2 + weight / c
        gradient = [
            (np.diagonal(slope) - slope_b * (1 + a) / c + own * a) * d,
            (slope @ self.prior - (1 + weight * (S + 1)) / total) * self.scale,
        ]
        if self.pairs:
            by_pair = (slope_b[:, None] + slope_b) / c - slope - own
            gradient.append(2 * (by_pair * pairs)[self.upper])
        value = 2 * math.log(root) - math.log(total)
        value += weight * (logdet + math.log(c) - (S + 1) * math.log(total))
        return -value, -np.concatenate(gradient)

    def root_trace(self, H: Floats) -> tuple[float, Floats]:
        """Return the trace of the root of C½ H C½, and twice its gradient in H."""
        root = self.variance.root
        values, vectors = np.linalg.eigh(root @ ((H + H.T) / 2) @ root)
        useful = values > 1e-13 * values[-1]
        side = root @ vectors[:, useful]
        roots = np.sqrt(values[useful])
        return float(roots.sum()), np.asarray((side / roots) @ side.T)

    def proven(self, x: Floats) -> float:
        """Return the bound at a point with G shrunk until G ≺ R is sure in floats, else 0."""
        basis, R = self.variance.basis, self.limit(x)
        H = np.linalg.inv(basis.T @ np.linalg.inv(R) @ basis)
        G = basis @ ((H + H.T) / 2) @ basis.T
        level = 1 / np.sqrt(np.diagonal(R))
        for share in SHRINK:
            left = (R - (1 - share) * G) * np.outer(level, level)
            if np.linalg.eigvalsh(left)[0] > 1e-14 * self.size:
                prices = float(self.parts(x)[1].sum())
                return (1 - share) * self.root_trace(H)[0] ** 2 / prices * (1 - 1e-9)
        return 0.0

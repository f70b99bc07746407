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

**Many categories.** With :math:`s^\top G s = \sum_x d_x (s_x - \sigma)^2`,
:math:`\sigma = d\cdot s / \Delta`, :math:`\Delta = \sum_x d_x`, two-valued patterns give
:math:`c_A = \Delta(\sigma-1)(a-\sigma)/\pi` with :math:`\pi = p\cdot s`: two numbers per set, which
range over a polygon. With prices :math:`\lambda = \lambda_1 d/\Delta + \lambda_2 p` the violation
is convex in π for fixed σ, so its maximum is on the polygon's boundary, a line through at most 2S
corners, along which it is bounded piece by piece. With constant d (no workload) σ takes only S + 1
values, and the corners alone decide.
"""

import numpy as np

from pramble.solvers.general.columns.interior_point import Optimum
from pramble.solvers.general.patterns import all_sets
from pramble.solvers.general.variance import Variance
from pramble.values import Floats, Integers

MOST_ENUMERATED = 18
PIECES = 64
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
    """Return a bound for any number of categories; see the module."""
    from scipy.optimize import minimize

    variance = Variance(prior, workload)
    d = np.ones(len(prior)) if workload is None else spreads(variance)
    a = float(np.exp(alpha))
    total = float(d.sum())
    flat = bool(np.ptp(d) == 0)
    corners = polygon(d / total, prior)
    scale = total * (a - 1) ** 2 / (4 * a)

    def payoff(prices: Floats) -> float:
        largest = corner_violation if flat else largest_violation
        return float(prices.sum()) + largest(corners, a, total, prices * scale) / scale

    found = minimize(payoff, np.array([2.0, -1.0]), method="Nelder-Mead", options={"maxiter": 120})
    return numerator(variance, d) / (scale * payoff(found.x)) * (1 - MARGIN)


def corner_violation(corners: Floats, a: float, total: float, prices: Floats) -> float:
    """Return the largest violation when d is constant.

    Then σ takes S + 1 values only, and at each of them π is extreme at a corner.
    """
    sigma, pi = (1 + (a - 1) * corners).T
    gain = total * (sigma - 1) * (a - sigma) / pi
    return max(float((gain - prices[0] * sigma - prices[1] * pi).max()), 0.0)


def largest_violation(corners: Floats, a: float, total: float, prices: Floats) -> float:
    """Bound the violation over the boundary of the polygon of (σ, π) from above."""
    fine = cut_sides(1 + (a - 1) * corners)
    sigma, pi = fine[:, 0], fine[:, 1]
    low, high = np.minimum(sigma[:-1], sigma[1:]), np.maximum(sigma[:-1], sigma[1:])
    at = np.clip((1 + a) / 2, low, high)
    top = total * (at - 1) * (a - at) / np.minimum(pi[:-1], pi[1:])
    line = prices[0] * sigma + prices[1] * pi
    return max(float((top - np.minimum(line[:-1], line[1:])).max()), 0.0)


def cut_sides(corners: Floats) -> Floats:
    """Return a closed line with every side cut into pieces."""
    closed = np.vstack([corners, corners[:1]])
    steps = np.arange(PIECES) / PIECES
    sides = closed[:-1, None, :] + steps[None, :, None] * np.diff(closed, axis=0)[:, None, :]
    return np.vstack([sides.reshape(-1, 2), corners[:1]])


def polygon(shares: Floats, prior: Floats) -> Floats:
    """Return the corners of the set of (share, mass) of fractional sets: a zonogon."""
    order = np.argsort(prior / shares, kind="stable")
    steps = np.column_stack([shares, prior])
    up = np.cumsum(steps[order], axis=0)
    down = 1 - up
    return np.vstack([[[0.0, 0.0]], up, down[:-1]])


def spreads(variance: Variance) -> Floats:
    r"""Return weights d > 0 that make the numerator large for :math:`\sum_x d_x = S`."""
    d = np.ones(len(variance.prior))
    most, best = numerator(variance, d), d
    for _ in range(30):
        root, inverse = variance.root, inverse_root(weighted_spread(variance, d))
        weight = variance.basis @ (root @ inverse @ root) @ variance.basis.T
        slope = np.diagonal(weight) - 2 * (weight @ d) / d.sum() + d @ weight @ d / d.sum() ** 2
        d = d * np.maximum(slope, 1e-12)
        d *= len(d) / d.sum()
        if (value := numerator(variance, d)) > most:
            most, best = value, d
    return best


def weighted_spread(variance: Variance, d: Floats) -> Floats:
    r"""Return :math:`C^{1/2} H C^{1/2}`, H the spread around the mean when x has weight d_x."""
    spread = np.diag(d) - np.outer(d, d) / d.sum()
    middle = variance.basis.T @ spread @ variance.basis
    return np.asarray(variance.root @ middle @ variance.root)


def inverse_root(matrix: Floats) -> Floats:
    """Return the inverse square root of a symmetric matrix, zero where the matrix is zero."""
    values, vectors = np.linalg.eigh(matrix)
    useful = values > 1e-12 * values.max()
    return np.asarray((vectors[:, useful] / np.sqrt(values[useful])) @ vectors[:, useful].T)


def numerator(variance: Variance, d: Floats) -> float:
    r"""Return :math:`(\operatorname{tr}(C^{1/2} H C^{1/2})^{1/2})^2`."""
    values = np.linalg.eigvalsh(weighted_spread(variance, d))
    return float(np.sqrt(np.maximum(values, 0)).sum() ** 2)

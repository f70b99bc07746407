r"""A proven lower bound on the estimation variance under a distance, for any number of categories.

By Cauchy and Schwarz :math:`\operatorname{tr}(CK^{-1})\operatorname{tr}(HK) \ge
(\operatorname{tr}(C^{1/2}HC^{1/2})^{1/2})^2` for every :math:`H \succeq 0`. Take :math:`H =
\sum_{ij}\gamma_{ij}\,(e_i-e_j)(e_i-e_j)^\top` over pairs of categories. Then

.. math:: \operatorname{tr}(HK) = \sum_{ij}\gamma_{ij} \sum_v \theta_v
          \frac{(v_i - v_j)^2}{p\cdot v}, \qquad p\cdot v \ge L v_i + R v_j,

where L sums :math:`p_x e^{-\alpha d(x,i)}` over the categories nearer to i and R the same for j,
because a column falls off no faster. The inner sum is now about two numbers, whose mixture is (1,
1); :math:`(v_i-v_j)^2/(L v_i + R v_j)` is convex and homogeneous, so it is largest for columns with
:math:`v_i/v_j = \rho^{\pm1}`, :math:`\rho = e^{\alpha d(i,j)}`:

.. math:: m_{ij} = \frac{(\rho-1)^2}{1+\rho}
          \Big(\frac{1}{L+R\rho} + \frac{1}{L\rho+R}\Big), \qquad
          \operatorname{variance} \ge
          \frac{(\operatorname{tr}(C^{1/2}HC^{1/2})^{1/2})^2}{\sum\gamma_{ij} m_{ij}} .
"""

import numpy as np

from pramble.mechanisms.distance import Distance
from pramble.solvers.general.variance import Variance
from pramble.values import Floats

ROUNDS = 60
MOST_PAIRS = 3000
MARGIN = 1e-9


def pair_bound(prior: Floats, alpha: float, distance: Distance, variance: Variance) -> float:
    """Return the bound with the best γ found; every γ gives one."""
    pairs = np.column_stack(np.triu_indices(distance.size, 1))
    if len(pairs) > MOST_PAIRS:
        near = distance.matrix[pairs[:, 0], pairs[:, 1]]
        pairs = pairs[np.argsort(near, kind="stable")[:MOST_PAIRS]]
    most = np.array([told_apart(prior, alpha, distance, *pair) for pair in pairs.tolist()])
    basis = variance.basis
    sides = ((basis[pairs[:, 0]] - basis[pairs[:, 1]]) / np.sqrt(most)[:, None]) @ variance.root
    weights, best = np.full(len(pairs), 1 / len(pairs)), 0.0
    for _ in range(ROUNDS):
        values, vectors = np.linalg.eigh((sides * weights[:, None]).T @ sides)
        values = np.maximum(values, 0.0)
        best = max(best, float(np.sqrt(values).sum() ** 2))
        roots = np.sqrt(np.maximum(values, 1e-14 * values.max()))
        slope = ((sides @ vectors) ** 2 / roots).sum(axis=1)
        weights = weights * slope / (weights @ slope)
    return best * (1 - MARGIN)


def told_apart(prior: Floats, alpha: float, distance: Distance, i: int, j: int) -> float:
    r"""Return :math:`m_{ij}`: the most that a record can tell about i against j."""
    to_i, to_j = distance.matrix[i], distance.matrix[j]
    nearer = to_i <= to_j
    left = float((prior * np.exp(-alpha * to_i))[nearer].sum())
    right = float((prior * np.exp(-alpha * to_j))[~nearer].sum())
    rho = float(np.exp(min(alpha * to_i[j], 700.0)))
    return (rho - 1) ** 2 / (1 + rho) * (1 / (left + right * rho) + 1 / (left * rho + right))

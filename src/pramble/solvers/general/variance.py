r"""How the variance of linear queries depends on the columns of a mechanism.

With :math:`t_j = B^\top s_j/\sqrt{p\cdot s_j}` and B an orthonormal basis of the directions that
sum to zero, the Fisher information :math:`K(\theta) = \sum_j \theta_j t_j t_j^\top` is linear in θ
and the variance of the queries W,

.. math:: f(\theta) = \operatorname{tr}\big(C K(\theta)^{-1}\big), \qquad C = B^\top W^\top W B,

is convex. Where the queries leave some directions out, C is singular; a small multiple of the
identity is added to it in the search, so that K stays regular.
"""

from functools import cached_property

import numpy as np

from pramble.information.fisher import estimation_variance
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.dense import DenseOperator
from pramble.values import Floats

RIDGE = 1e-9


class Variance:
    """The function f for a prior and a workload, all shares by default."""

    def __init__(self, prior: Floats, workload: Floats | None) -> None:
        S = len(prior)
        self.prior = prior
        self.basis = np.linalg.svd(np.ones((1, S)))[2][1:].T
        queries = np.eye(S) if workload is None else workload
        spread = queries @ self.basis
        self.cost = spread.T @ spread
        values = np.linalg.eigvalsh(self.cost)
        self.rank = int((values > 1e-12 * max(values.max(), 1e-300)).sum())
        lacking = self.rank < S - 1
        self.ridged = self.cost + RIDGE * values.mean() * np.eye(S - 1) if lacking else self.cost

    @cached_property
    def root(self) -> Floats:
        """The symmetric square root of C."""
        values, vectors = np.linalg.eigh(self.cost)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)

    def scores(self, patterns: Floats) -> Floats:
        """Return the vectors t of some patterns s, both as rows."""
        return np.asarray(((patterns - 1) @ self.basis) / np.sqrt(patterns @ self.prior)[:, None])

    def at(self, scores: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
        r"""Return f, :math:`K^{-1}` and :math:`K^{-1} C K^{-1}`, for the ridged C."""
        inverse = self.inverse(scores, theta)
        middle = inverse @ self.ridged
        return float(np.trace(middle)), inverse, middle @ inverse

    def inverse(self, scores: Floats, theta: Floats) -> Floats:
        r"""Return :math:`K^{-1}`."""
        inverse = np.linalg.inv((scores * theta[:, None]).T @ scores)
        return np.asarray((inverse + inverse.T) / 2)

    def gradient(self, middle: Floats) -> Floats:
        """Return the gradient matrix on all S coordinates."""
        return np.asarray(self.basis @ middle @ self.basis.T)


def query_variance(prior: Floats, mechanism: Mechanism, workload: Floats | None) -> float:
    r"""Return :math:`n \operatorname{tr}(W \operatorname{Cov} W^\top)`; W = I by default."""
    if workload is None:
        return estimation_variance(prior, mechanism)
    return DenseOperator(mechanism).query_variance(prior, workload)


def observed_variance(prior: Floats, workload: Floats | None) -> float:
    r"""Return :math:`\operatorname{tr}(W(\operatorname{diag} p - pp^\top)W^\top)`.

    That is the variance when X itself is seen, which no mechanism can beat; rounded down.
    """
    queries = np.eye(len(prior)) if workload is None else workload
    mean = queries @ prior
    return float((queries**2 @ prior).sum() - mean @ mean) * (1 - 1e-12)

"""Linear regression from unbiased estimates of the normal equations."""

import numpy as np

from pramble.errors import NotIdentifiable
from pramble.estimation.regression.patterns import Patterns
from pramble.values import Floats


def fit_linear(patterns: Patterns) -> tuple[Floats, Floats, float]:
    r"""Return coefficients, sandwich covariance, and NaN for a likelihood.

    With :math:`d_{ix} = (w_i, D_x)` and :math:`g_{ix} = G_{z_i x}`, which sums to one over x,

    .. math:: A = \sum_i \sum_x g_{ix} d_{ix} d_{ix}^\top, \quad
              b = \sum_i \sum_x g_{ix} d_{ix} y_i, \quad \hat\beta = A^{-1} b ,

    and the covariance is :math:`A^{-1} (\sum_i u_i u_i^\top) A^{-1}` with
    :math:`u_i = \sum_x g_{ix} d_{ix}(y_i - d_{ix}^\top\hat\beta)`.
    """
    W, D, g, c = patterns.seen, patterns.unseen, patterns.inverse, patterns.counts
    y = patterns.response.value
    expected = np.column_stack([W, g @ D])
    A = (expected * c[:, None]).T @ expected
    q = W.shape[1]
    A[q:, q:] = (D * (c @ g)[:, None]).T @ D
    try:
        beta = np.linalg.solve(A, expected.T @ (c * y))
        bread = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        raise NotIdentifiable(
            "The covariates must not determine one another; their normal equations are singular."
        ) from None
    own = D @ beta[q:]
    fitted = W @ beta[:q]
    u = expected * (y - fitted)[:, None]
    u[:, :q] -= W * (g @ own)[:, None]
    u[:, q:] -= g @ (D * own[:, None])
    meat = (u * patterns.squares[:, None]).T @ u
    covariance = bread @ meat @ bread.T
    order = patterns.order
    return (
        np.asarray(beta[order], dtype=np.float64),
        np.asarray(covariance[np.ix_(order, order)]),
        float("nan"),
    )

r"""Families of regressions: the log-likelihood of a response, given linear predictors.

A family has L linear predictors :math:`\eta_l = \sum_j c_{lj}\,\theta_j D_j`, one for most. Given
the response y it says the log-likelihood :math:`\ell`, its slopes :math:`g_l` and its curvatures
:math:`h_{lm} = -\partial^2 \ell / \partial\eta_l \partial\eta_m`, so a score is
:math:`\psi_j = D_j \sum_l c_{lj}\, g_l`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pramble.values import Floats, Integers, value

LARGEST = 300.0
FEWEST = 1e-3


@value(eq=False)
class Parameters:
    """The parameters θ: their names, the column of the design matrix of each, and the c above."""

    names: tuple[str, ...]
    column: Integers
    loads: Floats

    def by_column(self, theta: Floats, columns: int) -> Floats:
        """Return the (L, p) coefficients of the design matrix."""
        answer = np.zeros((len(self.loads), columns))
        for j, column in enumerate(self.column):
            answer[:, column] += self.loads[:, j] * theta[j]
        return answer


@value(eq=False)
class Pieces:
    """Log-likelihood (…), slopes (L, …) and curvatures (L, L, …) at each combination."""

    value: Floats
    g: Floats
    h: Floats


class Family(Protocol):
    """What a family says; ``answers`` names what its mean holds."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The parts of the mean: classes, or one."""

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return the parameters for the columns of a design matrix."""

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        """Return parameters without effects, from shares of classes or a mean."""

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return log-likelihood, slopes and curvatures."""

    def mean(self, eta: Floats) -> Floats:
        """Return the mean of each answer, (answers, …)."""

    def slope(self, eta: Floats) -> Floats:
        """Return the slopes of the mean, (answers, L, …)."""


def one_predictor(names: Sequence[str]) -> Parameters:
    """Return one parameter for each column."""
    return Parameters(tuple(names), np.arange(len(names)), np.ones((1, len(names))))


def from_intercept(parameters: Parameters, level: float) -> Floats:
    theta = np.zeros(len(parameters.names))
    if "intercept" in parameters.names:
        theta[parameters.names.index("intercept")] = level
    return theta


@value
class Linear:
    """Least squares."""

    answers: tuple[str, ...] = ("mean",)

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return one parameter for each column."""
        return one_predictor(names)

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        """Return the mean."""
        return from_intercept(parameters, float(shares[0]))

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return half the squared residual, the residual, and one."""
        residual = y - eta
        return Pieces(-0.5 * residual[0] ** 2, residual, np.ones((1, *eta.shape)))

    def mean(self, eta: Floats) -> Floats:
        """Return the predictor."""
        return eta

    def slope(self, eta: Floats) -> Floats:
        return np.ones((1, *eta.shape))


@value
class Logistic:
    """A response of zeros and ones, with the logit as link."""

    answers: tuple[str, ...] = ("probability",)

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return one parameter for each column."""
        return one_predictor(names)

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        """Return the logit of the share."""
        share = float(np.clip(shares[0], FEWEST, 1 - FEWEST))
        return from_intercept(parameters, float(np.log(share / (1 - share))))

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return what Bernoulli's law says."""
        mean = self.mean(eta)
        value = y * eta[0] - np.logaddexp(0.0, eta[0])
        return Pieces(value, y - mean, (mean * (1 - mean))[None])

    def mean(self, eta: Floats) -> Floats:
        """Return probabilities."""
        from scipy.special import expit

        return np.asarray(expit(eta))

    def slope(self, eta: Floats) -> Floats:
        """Return p(1 − p)."""
        mean = self.mean(eta)
        return np.asarray((mean * (1 - mean))[None])


@value
class Poisson:
    """Counts, with the logarithm as link."""

    answers: tuple[str, ...] = ("mean",)

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return one parameter for each column."""
        return one_predictor(names)

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        """Return the logarithm of the mean."""
        return from_intercept(parameters, float(np.log(max(shares[0], FEWEST))))

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return what Poisson's law says, without the factorial."""
        mean = self.mean(eta)
        return Pieces(y * eta[0] - mean[0], y - mean, mean[None])

    def mean(self, eta: Floats) -> Floats:
        """Return rates."""
        return np.asarray(np.exp(np.minimum(eta, LARGEST)))

    def slope(self, eta: Floats) -> Floats:
        """Return rates."""
        return self.mean(eta)[None]

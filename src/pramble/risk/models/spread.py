r"""How far the cells of a population vary around a log-linear model: a random effect of each cell.

.. math:: \Lambda_k \sim \mathrm{Gamma}(a_k,\, a_k/\lambda_k), \qquad a_k = c\,\mu_k^\theta,

so sample counts are negative binomial around :math:`\mu = \pi\lambda`. c and θ are of largest
likelihood over all cells, the empty ones too. Given the sample, the unsampled rest of a cell is
negative binomial again, and the Poisson model is the limit of large a.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.risk.measures import uniqueness_risk
from pramble.values import Floats, value

START = (3.0, 0.4)
NEEDED = 3.0
"""Gain in log-likelihood from which on a random effect is taken: 5 % by its χ² with 2 degrees."""
LEAST_MEAN = 1e-9
BINS = 2000
LOGS = 15.0
STEP = 0.05
NODES = np.linspace(-3.4, 3.4, 121)
"""Of the double exponential rule, where both ends of the unit interval are met to 1e-12."""


@value(eq=False)
class Spread:
    """The random effect of cells.

    Attributes
    ----------
    level, power : float
        log c and θ.
    gain : float
        What it adds to the log-likelihood.
    covariance : (2, 2) array
        Of level and power, from the curvature of the likelihood.
    """

    level: float
    power: float
    gain: float
    covariance: Floats

    @property
    def needed(self) -> bool:
        """Whether the data ask for it: elsewhere the Poisson model is used as it is."""
        return self.gain > NEEDED

    def shapes(self, means: Floats, *, change: tuple[float, float] = (0.0, 0.0)) -> Floats:
        """Return a for cells with the given fitted sample means."""
        logs = np.log(np.maximum(means, LEAST_MEAN))
        powers = self.level + change[0] + (self.power + change[1]) * logs
        return np.asarray(np.exp(np.clip(powers, -LOGS, LOGS)), dtype=np.float64)


def fit_spread(counts: Floats, means: Floats) -> Spread:
    """Return the random effect of largest likelihood, the fitted means kept as they are."""
    from scipy.optimize import minimize

    loss = negative_likelihood(counts, means)
    found = minimize(
        loss, START, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3, "maxiter": 200}
    )
    kept = means >= LEAST_MEAN
    occupied = kept & (counts > 0)
    poisson = means[kept].sum() - counts[occupied] @ np.log(means[occupied])
    level, power = found.x.tolist()
    return Spread(level, power, float(poisson - found.fun), inverse_curvature(loss, found.x))


def negative_likelihood(counts: Floats, means: Floats) -> Callable[[Floats], float]:
    """Return minus the log-likelihood of (log c, θ); empty cells are gathered by their means."""
    from scipy.special import gammaln

    kept = means >= LEAST_MEAN
    full, empty = kept & (counts > 0), kept & (counts == 0)
    f, mu = counts[full], means[full]
    logs = np.log(means[empty])
    low, high = logs.min(initial=0.0), logs.max(initial=1.0)
    place = np.minimum((BINS * (logs - low) / max(high - low, 1e-9)).astype(np.int64), BINS - 1)
    weights = np.bincount(place, minlength=BINS)
    sums = np.bincount(place, weights=means[empty], minlength=BINS)
    weights, centres = weights[weights > 0], sums[weights > 0] / weights[weights > 0]

    def loss(parameters: Floats) -> float:
        a, b = (
            np.exp(np.clip(parameters[0] + parameters[1] * np.log(m), -LOGS, LOGS))
            for m in (mu, centres)
        )
        occupied = gammaln(a + f) - gammaln(a) + f * np.log(mu / (a + mu)) - a * np.log1p(mu / a)
        return float((weights * b) @ np.log1p(centres / b) - occupied.sum())

    return loss


def inverse_curvature(loss: Callable[[Floats], float], at: Floats) -> Floats:
    """Return the covariance that the curvature of a loss gives; zeros where it has none."""
    steps = STEP * np.eye(2)
    hessian = np.array(
        [
            [
                loss(at + i + j) - loss(at + i - j) - loss(at - i + j) + loss(at - i - j)
                for j in steps
            ]
            for i in steps
        ]
    ) / (4 * STEP**2)
    values, vectors = np.linalg.eigh(hessian)
    inverse = np.where(values > 1e-6, 1 / np.maximum(values, 1e-6), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T, dtype=np.float64)


def mixed_risks(
    rest: Floats, sizes: NDArray[Any], *, sampled: Floats, shapes: Floats
) -> tuple[Floats, Floats]:
    r"""Return r1 and r2 of classes whose population means vary as gamma variables.

    Given f, the rest of the cell has the generating function
    :math:`\{1 + c(1-t)\}^{-(a+f)}` with :math:`c = \nu/(a + \mu)`, ν the mean rest and μ the mean
    sample, so

    .. math:: r_1 = (1+c)^{-(a+1)} \;(f = 1), \qquad
        r_2 = \int_0^1 t^{f-1} \{1+c(1-t)\}^{-(a+f)}\,dt,

    which is :math:`\{1-(1+c)^{-a}\}/(ac)` at f = 1.

    >>> one = np.ones(1)
    >>> r1, r2 = mixed_risks(one, one, sampled=0.1 * one, shapes=1e6 * one)
    >>> r1.round(4), r2.round(4)  # those of a Poisson variable with mean 1
    (array([0.3679]), array([0.6321]))
    """
    odds = rest / (shapes + sampled)
    logs = np.log1p(odds)
    r1 = uniqueness_risk((shapes + 1) * logs, sizes)
    r2 = np.ones(rest.shape)
    alone = (sizes == 1) & (odds > 0)
    r2[alone] = -np.expm1(-(shapes * logs)[alone]) / (shapes * odds)[alone]
    more = sizes > 1
    r2[more] = _match_integral(odds[more], (shapes + sizes)[more], sizes[more])
    return r1, r2


def _match_integral(odds: Floats, powers: Floats, sizes: NDArray[Any]) -> Floats:
    """Integrate by the double exponential rule: t = 1/(1 + e^-s), s = π sinh(x)."""
    total = np.zeros(odds.shape)
    width = NODES[1] - NODES[0]
    for node in NODES:
        s = np.pi * np.sinh(node)
        log_t, log_rest = -np.logaddexp(0.0, -s), -np.logaddexp(0.0, s)
        logs = sizes * log_t + log_rest - powers * np.log1p(odds * np.exp(log_rest))
        total += width * np.pi * np.cosh(node) * np.exp(logs)
    return total

r"""How far the cells of a population vary around a log-linear model: a random effect of each cell.

.. math:: \Lambda_k \sim \mathrm{Gamma}(a_k,\, a_k/\lambda_k), \qquad a_k = c\,\mu_k^\theta,

so sample counts are negative binomial around :math:`\mu = \pi\lambda`. c and θ are of largest
likelihood over all cells, the empty ones too. Given the sample, the unsampled rest of a cell is
negative binomial again, and the Poisson model is the limit of large a.

With it come intervals of τ1 and τ2 under the log-linear model.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pramble.risk.models import Intervals, mixed_risks
from pramble.values import Floats, Integers, frozen

# Of log c and θ: what files of the census end near to.
START = (3.0, 0.4)
# Gain in log-likelihood from which on a random effect is taken: 5 % by its χ² with 2 degrees.
NEEDED = 3.0
# Cells with smaller means hold nobody, and their logarithms would only disturb the fit.
LEAST_MEAN = 1e-9
# Empty cells are most of all: they are gathered in so many classes of means.
BINS = 2000
# Shapes beyond e^15 are a Poisson variable in every digit, and below e^-15 overflow.
LOGS = 15.0
# Of log c and θ, for their curvature: smaller ones lose digits of the likelihood.
STEP = 0.05


@frozen(eq=False)
class Spread:
    """The random effect of cells.

    - ``level``, ``power``: log c and θ.
    - ``gain``: What it adds to the log-likelihood.
    - ``covariance``: Of level and power, from the curvature of the likelihood.
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
        logs = np.log(np.maximum(means, LEAST_MEAN))
        powers = self.level + change[0] + (self.power + change[1]) * logs
        return np.asarray(np.exp(np.clip(powers, -LOGS, LOGS)), dtype=np.float64)


def fit_spread(counts: Floats, means: Floats) -> Spread:
    from scipy.optimize import minimize

    loss = negative_likelihood(counts, means)
    found = minimize(
        loss, START, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3, "maxiter": 200}
    )
    some = means >= LEAST_MEAN
    occupied = some & (counts > 0)
    poisson = means[some].sum() - counts[occupied] @ np.log(means[occupied])
    level, power = found.x.tolist()
    return Spread(level, power, float(poisson - found.fun), inverse_curvature(loss, found.x))


def negative_likelihood(counts: Floats, means: Floats) -> Callable[[Floats], float]:
    """Return minus the log-likelihood of (log c, θ); empty cells are gathered by their means."""
    from scipy.special import gammaln

    some = means >= LEAST_MEAN
    full, empty = some & (counts > 0), some & (counts == 0)
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


NORMAL = 1.959964  # the normal quantile of two-sided 95 %
# Cells of the fitted margins up to which their joint covariance is formed: 72 MB of floats.
MOST_PARAMETERS = 3000
# Added to the diagonal of a singular sum: small beside a record, large beside rounding.
RIDGE = 1e-9
# One Newton step overshoots where a record carries its margins alone; e^3 is as far as it may go.
LARGEST_SHIFT = 3.0
# A shape so large that the gamma variable is constant.
POISSON = 1e12
# Steps of difference quotients: of log means, and of the parameters of the random effect.
SLOPE_STEP, CHANGE = 1e-3, 0.05
# Rows of the design that are multiplied at once.
PIECE = 2**16

Risks = tuple[Floats, Floats]


@frozen(eq=False)
class Uniques:
    r"""The sample uniques under a fitted model.

    - ``means``: Fitted sample means μ.
    - ``fraction``: Sampling fractions π.
    - ``places``: Where each of them stands among the p cells of the m fitted margins: the rows
      x of the design.
    - ``covariance``: Of the margins' parameters, :math:`C = (\sum_k \mu_k x_k x_k^\top)^{-1}`
      over all cells.
    - ``spread``: The random effect.
    """

    means: Floats
    fraction: Floats
    places: Integers
    covariance: Floats
    spread: Spread

    def risks(self, means: Floats, *, change: tuple[float, float] = (0.0, 0.0)) -> Risks:
        rest = means * (1 / self.fraction - 1)
        shapes = np.full(len(means), POISSON)
        if self.spread.needed:
            shapes = self.spread.shapes(self.means, change=change)
        return mixed_risks(rest, np.ones(len(means)), sampled=means, shapes=shapes)

    def left_out(self) -> Floats:
        r"""Return the means that a fit without the record itself would give.

        One Newton step: :math:`\log\mu_{(-k)} = \log\mu_k - v_k(1-\mu_k)/(1-h_k)`, where
        :math:`v_k = x_k^\top C x_k` and the leverage is :math:`h_k = \mu_k v_k`.
        """
        design = design_rows(self.places, len(self.covariance))
        variances = np.asarray(design.multiply(design @ self.covariance).sum(axis=1)).ravel()
        free = np.maximum(1 - self.means * variances, RIDGE)
        shift = variances * np.maximum(1 - self.means, RIDGE) / free
        return np.asarray(self.means * np.exp(-np.minimum(shift, LARGEST_SHIFT)))


def tau_intervals(uniques: Uniques) -> Intervals:
    r"""Return intervals that allow for four sources of error.

    Luck, the variance of the numbers themselves given the model; the estimated margins, by the
    delta method; the estimated random effect, likewise; and the choice of model, half of what the
    random effect changes. A sample unique pulls its own fitted mean up, and how much of that is
    error the sample does not say: the lower end takes the means as fitted, the upper end those
    fitted without the record.
    """
    low, _ = interval_ends(uniques, uniques.means)
    _, high = interval_ends(uniques, uniques.left_out())
    high = np.minimum(high, len(uniques.means))
    first, second = zip(low.tolist(), high.tolist(), strict=True)
    return Intervals(first, second)


def interval_ends(uniques: Uniques, means: Floats) -> Risks:
    """Return the lower and the upper ends for τ1 and τ2, symmetric on the scale of square roots."""
    risks = np.stack(uniques.risks(means))
    total = risks.sum(axis=1)
    # The variance given the model; of 1/F a bound: its square is at most (1[F = 1] + 1/F) / 2.
    squares = np.stack([risks[0], (risks[0] + risks[1]) / 2])
    variance = (squares - risks**2).clip(0.0).sum(axis=1)
    above, below = (
        np.stack(uniques.risks(means * math.exp(step))) for step in (SLOPE_STEP, -SLOPE_STEP)
    )
    places, size = uniques.places, len(uniques.covariance)
    for measure, slope in enumerate((above - below) / (2 * SLOPE_STEP)):
        weights = np.broadcast_to(slope, places.shape).ravel()
        sums = np.bincount(places.ravel(), weights=weights, minlength=size)
        variance[measure] += max(float(sums @ uniques.covariance @ sums), 0.0)
    if uniques.spread.needed:

        def changed(*change: float) -> Floats:
            shifted = uniques.risks(means, change=(change[0], change[1]))
            return np.asarray(np.sum(shifted, axis=1))

        gradient = np.stack([
            changed(CHANGE, 0.0) - changed(-CHANGE, 0.0),
            changed(0.0, CHANGE) - changed(0.0, -CHANGE),
        ]) / (2 * CHANGE)  # fmt: skip
        # Its estimation, and half of what taking it at all changes: a shape e^30 is none.
        variance += np.einsum("im,ij,jm->m", gradient, uniques.spread.covariance, gradient)
        variance += ((total - changed(30.0, 0.0)) / 2) ** 2
    root = np.sqrt(total)
    width = NORMAL * np.sqrt(variance / np.where(total > 0, total, np.inf)) / 2
    return np.maximum(root - width, 0.0) ** 2, (root + width) ** 2


def design_rows(places: Integers, size: int) -> Any:
    from scipy.sparse import csr_array

    margins, cells = places.shape
    starts = np.arange(0, places.size + 1, margins)
    return csr_array((np.ones(places.size), places.T.ravel(), starts), shape=(cells, size))


def margin_covariance(places: Integers, means: Floats, *, size: int) -> Floats:
    r"""Return :math:`(\sum_k \mu_k x_k x_k^\top)^{-1}`, ``places`` the ones of each x.

    Margins share their own margins, so the sum is singular; a small ridge, above what rounding
    adds, leaves quadratic forms in the x, which lie in its range, as they are.
    """
    from scipy.linalg import cho_factor, cho_solve

    matrix = np.zeros((size, size))
    for start in range(0, len(means), PIECE):
        design = design_rows(places[:, start : start + PIECE], size)
        matrix += (design.T @ design.multiply(means[start : start + PIECE, None])).toarray()
    rounding = 8 * size * np.finfo(np.float64).eps * float(matrix.diagonal().max(initial=0.0))
    matrix[np.diag_indices(size)] += max(RIDGE, rounding)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, np.eye(size), overwrite_b=True, check_finite=False))

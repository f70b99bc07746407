r"""Intervals of τ1 and τ2 under a log-linear model with a random effect of cells."""

import math

import numpy as np

from pramble.risk.models.spread import Spread, mixed_risks
from pramble.values import Floats, Integers, value

NORMAL = 1.959964
MOST_PARAMETERS = 3000
"""Cells of the fitted margins up to which their joint covariance is formed."""
RIDGE = 1e-9
LARGEST_SHIFT = 3.0
POISSON = 1e12
"""A shape so large that the gamma variable is constant."""
STEP = 1e-3
CHANGE = 0.05

Interval = tuple[float, float]
Risks = tuple[Floats, Floats]


@value
class Intervals:
    """95 % intervals of the numbers that τ1 and τ2 estimate."""

    tau1: Interval
    tau2: Interval


@value(eq=False)
class Uniques:
    r"""The sample uniques under a fitted model.

    Attributes
    ----------
    means : (u,) array
        Fitted sample means μ.
    fraction : (u,) array
        Sampling fractions π.
    places : (m, u) array
        Where each of them stands among the p cells of the m fitted margins: the rows x of the
        design.
    covariance : (p, p) array
        Of the margins' parameters, :math:`C = (\sum_k \mu_k x_k x_k^\top)^{-1}` over all cells.
    spread : Spread
        The random effect.
    """

    means: Floats
    fraction: Floats
    places: Integers
    covariance: Floats
    spread: Spread

    def risks(self, means: Floats, *, change: tuple[float, float] = (0.0, 0.0)) -> Risks:
        """Return r1 and r2 at other means, and at a changed random effect."""
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
        from pramble.risk.models.listed_kernels import quadratic_forms

        variances = np.zeros(len(self.means))
        quadratic_forms(self.places, self.covariance, variances)
        free = np.maximum(1 - self.means * variances, RIDGE)
        shift = variances * np.maximum(1 - self.means, RIDGE) / free
        return np.asarray(self.means * np.exp(-np.minimum(shift, LARGEST_SHIFT)))


def intervals(uniques: Uniques) -> Intervals:
    r"""Return intervals that allow for four sources of error.

    Luck, the variance of the numbers themselves given the model; the estimated margins, by the
    delta method; the estimated random effect, likewise; and the choice of model, half of what the
    random effect changes. A sample unique pulls its own fitted mean up, and how much of that is
    error the sample does not say: the lower end takes the means as fitted, the upper end those
    fitted without the record.
    """
    low = [ends(uniques, measure, means=uniques.means)[0] for measure in (0, 1)]
    high = [ends(uniques, measure, means=uniques.left_out())[1] for measure in (0, 1)]
    most = float(len(uniques.means))
    first, second = (
        (lowest, min(highest, most)) for lowest, highest in zip(low, high, strict=True)
    )
    return Intervals(first, second)


def ends(uniques: Uniques, measure: int, *, means: Floats) -> Interval:
    """Return both ends for τ1 or τ2 (measure 0 or 1), symmetric on the scale of square roots."""
    risks = uniques.risks(means)
    total = float(risks[measure].sum())
    if total == 0:
        return 0.0, 0.0
    variance = luck(*risks, measure) + by_margins(uniques, measure, means=means)
    if uniques.spread.needed:
        variance += by_spread(uniques, measure, means=means)
    root, width = math.sqrt(total), NORMAL * math.sqrt(variance / total) / 2
    return max(root - width, 0.0) ** 2, (root + width) ** 2


def luck(r1: Floats, r2: Floats, measure: int) -> float:
    """Return the variance given the model; for 1/F a bound, its square being at most half of it."""
    squares = r1 if measure == 0 else (r1 + r2) / 2
    return float((squares - (r1, r2)[measure] ** 2).clip(0.0).sum())


def by_margins(uniques: Uniques, measure: int, *, means: Floats) -> float:
    """Return the variance that the estimated margins add."""
    above, below = (uniques.risks(means * math.exp(step))[measure] for step in (STEP, -STEP))
    slopes = np.broadcast_to((above - below) / (2 * STEP), uniques.places.shape)
    sums = np.bincount(
        uniques.places.ravel(), weights=slopes.ravel(), minlength=len(uniques.covariance)
    )
    return max(float(sums @ uniques.covariance @ sums), 0.0)


def by_spread(uniques: Uniques, measure: int, *, means: Floats) -> float:
    """Return the variance that the random effect adds: its estimation, and taking it at all."""

    def total(*change: float) -> float:
        return float(uniques.risks(means, change=(change[0], change[1]))[measure].sum())

    gradient = np.array(
        [total(CHANGE, 0.0) - total(-CHANGE, 0.0), total(0.0, CHANGE) - total(0.0, -CHANGE)]
    ) / (2 * CHANGE)
    changed = total(0.0, 0.0) - total(30.0, 0.0)
    return float(gradient @ uniques.spread.covariance @ gradient) + (changed / 2) ** 2


def covariance_of(places: Integers, means: Floats, *, size: int) -> Floats:
    r"""Return :math:`(\sum_k \mu_k x_k x_k^\top)^{-1}`, ``places`` the ones of each x.

    Margins share their own margins, so the sum is singular; a small ridge, above what rounding
    adds, leaves quadratic forms in the x, which lie in its range, as they are.
    """
    from scipy.linalg import cho_factor, cho_solve

    from pramble.risk.models.listed_kernels import add_products

    matrix = np.zeros((size, size))
    add_products(places, means, matrix)
    rounding = 8 * size * np.finfo(np.float64).eps * float(matrix.diagonal().max(initial=0.0))
    matrix[np.diag_indices(size)] += max(RIDGE, rounding)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, np.eye(size), overwrite_b=True, check_finite=False))

"""How far a fitted model is to be trusted.

Of a log-linear model: the criteria of Skinner and Shlomo (2008). Of a sampled one: whether several
chains agree, by split R-hat and the effective sample size.
"""

import math

import numpy as np

from pramble.values import Floats, value

SMALL = 0.05
TERMS = 10


Interval = tuple[float, float]


@value
class Intervals:
    """95 % intervals of the numbers that τ1 and τ2 estimate."""

    tau1: Interval
    tau2: Interval


@value
class FitCriteria:
    r"""Estimated biases of τ1 and τ2, and their standardised values.

    With :math:`\varepsilon = f - \pi\lambda`, summed over all cells,

    .. math:: B_i = \sum a_i \varepsilon + b_i(\varepsilon^2 - f), \qquad
        v_i = \sum a_i^2 \pi\lambda + 2 b_i^2 (\pi\lambda)^2.

    Large positive :math:`B/\sqrt v`: the model underfits and overstates the risk. Negative: it
    overfits.

    Examples
    --------
    >>> FitCriteria(B1=3.0, B2=-1.0, v1=9.0, v2=4.0).standardised
    (1.0, -0.5)
    """

    B1: float
    B2: float
    v1: float
    v2: float

    @property
    def standardised(self) -> tuple[float, float]:
        """``B1 / sqrt(v1)`` and ``B2 / sqrt(v2)``; 0 where the variance is 0."""
        return _ratio(self.B1, self.v1), _ratio(self.B2, self.v2)

    def __add__(self, other: "FitCriteria") -> "FitCriteria":
        return FitCriteria(
            self.B1 + other.B1, self.B2 + other.B2, self.v1 + other.v1, self.v2 + other.v2
        )


def fit_criteria(counts: Floats, fitted: Floats, fraction: float) -> FitCriteria:
    r"""Return the criteria for sample counts f and fitted sample means :math:`\mu = \pi\lambda`.

    .. math:: a_1 = (1-\pi)\lambda e^{-\lambda}, \quad
        b_1 = \frac{(1-\pi)^2 \lambda e^{-\lambda}}{2\pi}, \quad
        a_2 = e^{-\pi\lambda}(h - e^{-\nu}), \quad
        b_2 = e^{-\pi\lambda}\,\frac{h - e^{-\nu}(1+\nu/2)}{\pi\lambda},

    with :math:`\nu = (1-\pi)\lambda` and :math:`h = (1-e^{-\nu})/\nu`. Cells whose fitted mean is 0
    add nothing.
    """
    rates, rest = fitted / fraction, fitted * ((1 - fraction) / fraction)
    residual = counts - fitted
    excess = residual**2 - counts
    a1 = rest * np.exp(-rates)
    b1 = a1 * ((1 - fraction) / (2 * fraction))
    first, second = _differences(rest)
    decay = np.exp(-fitted)
    a2 = decay * first
    b2 = decay * second / np.where(fitted > 0, fitted, 1.0)
    return FitCriteria(
        float((a1 * residual + b1 * excess).sum()),
        float((a2 * residual + b2 * excess).sum()),
        float((a1**2 * fitted + 2 * (b1 * fitted) ** 2).sum()),
        float((a2**2 * fitted + 2 * (b2 * fitted) ** 2).sum()),
    )


def _differences(rest: Floats) -> tuple[Floats, Floats]:
    r"""Return :math:`h - e^{-\nu}` and :math:`h - e^{-\nu}(1+\nu/2)`, by series where small."""
    safe = np.maximum(rest, SMALL)
    decay = np.exp(-safe)
    mean = -np.expm1(-safe) / safe
    first, second = mean - decay, mean - decay * (1 + safe / 2)
    small = np.flatnonzero(rest < SMALL)
    nu = rest[small]
    power, first_sum, second_sum = np.ones_like(nu), np.zeros_like(nu), np.zeros_like(nu)
    for m in range(1, TERMS):
        power = power * -nu
        first_sum -= power * (m / math.factorial(m + 1))
        second_sum += power * (m * (m - 1) / (2 * math.factorial(m + 1)))
    first[small], second[small] = first_sum, second_sum
    return first, second


def _ratio(value: float, variance: float) -> float:
    return value / math.sqrt(variance) if variance > 0 else 0.0


@value(eq=False)
class Chains:
    """How the chains of a sampled model mixed, and the intervals they give.

    - ``intervals``: Central 95 % credible intervals of the population's own τ1 and τ2.
    - ``r_hat``: The larger rank-normalised split R-hat of τ1 and τ2; near 1 when the chains
      agree.
    - ``effective_size``: The smaller effective number of draws.
    - ``draws``: τ1 and τ2, draw by draw.
    - ``sweeps``: Sweeps of each chain, without those thrown away first.
    - ``r_hat_at_most``, ``effective_at_least``: What was asked for.
    """

    intervals: Intervals
    r_hat: float
    effective_size: float
    draws: Floats
    sweeps: int
    r_hat_at_most: float
    effective_at_least: float

    @property
    def converged(self) -> bool:
        """Whether both diagnostics are as asked for."""
        mixed = self.r_hat <= self.r_hat_at_most
        return mixed and self.effective_size >= self.effective_at_least

    @property
    def verdict(self) -> str:
        """Whether the chains agree, in words."""
        found = (
            f"R-hat {self.r_hat:.3f} and {self.effective_size:.0f} effective draws after "
            f"{self.sweeps:,} sweeps of each chain"
        )
        if self.converged:
            return f"{found}: the chains agree"
        return (
            f"{found}: NOT converged (at most {self.r_hat_at_most:g} and at least "
            f"{self.effective_at_least:g} were asked for); do not rely on the intervals, allow "
            "more rounds or updates"
        )


def rank_r_hat(chains: Floats) -> float:
    """Return the larger split R-hat of normal scores, of the draws and of how far out they are.

    Vehtari and others (2021): the second finds chains that differ in scale.

    >>> wide = np.random.default_rng(1).normal(size=(2, 500)) * np.array([[1.0], [5.0]])
    >>> split_r_hat(wide) < 1.01 < 1.1 < rank_r_hat(wide)
    True
    """
    folded = np.abs(chains - np.median(chains))
    return max(split_r_hat(normal_scores(chains)), split_r_hat(normal_scores(folded)))


def normal_scores(values: Floats) -> Floats:
    """Return the normal quantiles of the values' ranks, ties sharing theirs.

    >>> normal_scores(np.array([3.0, 1.0, 2.0])).round(2)
    array([ 0.87, -0.87,  0.  ])
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(values).reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)), dtype=np.float64)


def split_r_hat(chains: Floats) -> float:
    r"""Return the split R-hat of a (chains, draws) array (Gelman and others, BDA3, section 11.4).

    .. math:: \hat R = \sqrt{\frac{(l-1)/l\; W + B/l}{W}}

    with W the mean variance within half-chains of length l and B/l the variance of their means.

    >>> split_r_hat(np.tile(np.array([0.0, 1.0]), (2, 20))) < 1.01
    True
    >>> split_r_hat(np.array([[0.0, 1.0] * 20, [5.0, 6.0] * 20])) > 2
    True
    """
    halves = _halves(chains)
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    length = halves.shape[1]
    return float(np.sqrt((length - 1) / length + between / within))


def effective_size(chains: Floats) -> float:
    """Return the effective number of draws, by Geyer's initial positive sequence.

    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> round(effective_size(draws), -2)
    2000.0
    """
    halves = _halves(chains)
    count, length = halves.shape
    within = float(halves.var(axis=1, ddof=1).mean())
    total = within * (length - 1) / length + float(halves.mean(axis=1).var(ddof=1))
    if total == 0:
        return float(count * length)
    centred = halves - halves.mean(axis=1, keepdims=True)
    covariance = np.array(
        [(centred[:, : length - lag] * centred[:, lag:]).sum() for lag in range(length)]
    ) / (count * length)
    correlation = 1 - (within - covariance * length / (length - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    kept = np.minimum.accumulate(pairs[: negative[0]] if negative.size else pairs)
    time = max(2 * float(kept.sum()) - 1, 1 / np.log10(count * length))
    return float(count * length / time)


def _halves(chains: Floats) -> Floats:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])

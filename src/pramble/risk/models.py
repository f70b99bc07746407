r"""What a model of the population is, and the risk of a record under it.

A model is fitted to a sample and gives the mean of every cell. Population counts
:math:`F \sim \mathrm{Poisson}(\lambda)`, each member sampled with probability π. Given the sample
count f, the unsampled rest :math:`F - f` is Poisson with mean :math:`\nu = (1-\pi)\lambda`.

In weighted samples a class of f records whose weights sum to :math:`\hat F` has an unsampled rest
that is negative binomial with success probability :math:`p = f/\hat F` (Benedetti and Franconi
1998).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.crosstab import Crosstab
from pramble.errors import InvalidInput
from pramble.information.structural_zeros import StructuralZero
from pramble.mechanisms.operators.base import Operator
from pramble.values import Clock, Floats, Integers, value

if TYPE_CHECKING:
    from pramble.risk.membership import Chains

SMALLEST = 1e-200


def uniqueness_risk(rest: ArrayLike, sizes: ArrayLike = 1) -> Floats:
    r"""Return :math:`r_1 = P(F = 1 \mid f) = e^{-\nu}` where f = 1, and 0 where f > 1.

    >>> uniqueness_risk([0.0, 1.0, 1.0], [1, 1, 2]).round(6)
    array([1.      , 0.367879, 0.      ])
    """
    rest, sizes = np.asarray(rest, dtype=np.float64), np.asarray(sizes)
    return np.asarray(np.where(sizes == 1, np.exp(-rest), 0.0), dtype=np.float64)


def match_risk(rest: ArrayLike, sizes: ArrayLike = 1) -> Floats:
    r"""Return the chance that a match is right.

    .. math:: r_2 = E(1/F \mid f) = \int_0^1 t^{f-1} e^{-\nu(1-t)}\,dt
        = \frac1f\, {}_1F_1(1;\, f+1;\, -\nu),

    which is :math:`(1-e^{-\nu})/\nu` at f = 1.

    >>> match_risk([0.0, 1.0, 0.0], [1, 1, 2]).round(6)
    array([1.      , 0.632121, 0.5     ])
    """
    rest, sizes = np.broadcast_arrays(np.asarray(rest, dtype=np.float64), np.asarray(sizes))
    risk = np.empty(rest.shape)
    alone = sizes == 1
    risk[alone] = mean_exponential(rest[alone])
    if not alone.all():
        from scipy.special import hyp1f1

        normal = np.where(rest[~alone] < SMALLEST, 0.0, rest[~alone])
        risk[~alone] = hyp1f1(1.0, sizes[~alone] + 1.0, -normal) / sizes[~alone]
    return risk


def mean_exponential(x: ArrayLike) -> Floats:
    r"""Return :math:`(1-e^{-x})/x`, which is 1 at 0.

    >>> float(mean_exponential(0.0))
    1.0
    """
    x = np.asarray(x, dtype=np.float64)
    safe = np.where(x == 0, 1.0, x)
    return np.asarray(np.where(x == 0, 1.0, -np.expm1(-safe) / safe), dtype=np.float64)


FEW = 50
"""From this class size on, twenty terms of the series reach full precision at any weight."""


def individual_risk(sizes: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Return the chance that a match on a class is right, by the negative binomial model.

    .. math:: r = E(1/F \mid f) = \frac pf\, {}_2F_1(1,1;\,f+1;\,q)
        = \int_0^1 \frac{p\,w^{f-1}}{p + q w}\,dw, \qquad p = f/\hat F,\; q = 1-p.

    All terms of the series are positive: term m+1 over term m is :math:`(m+1)q/(f+1+m)`. It
    converges like :math:`q^m` for small f, so there, with :math:`c = p/q < 1`, the integrals
    :math:`I_f = \int_0^1 w^{f-1}/(c+w)\,dw` come from :math:`I_1 = \log(1/p)` and
    :math:`I_{f+1} = 1/f - c I_f`, which shrinks errors. Every f and every weight keep 14 digits or
    more.

    Class sizes f are at least 1, and the summed weights of a class at least f.

    Examples
    --------
    >>> individual_risk([1, 2, 2], [17.0, 84.5, 110.0]).round(7)
    array([0.1770758, 0.0220423, 0.0171443])
    """
    f, total = np.broadcast_arrays(np.asarray(sizes, np.float64), np.asarray(weights, np.float64))
    if (f < 1).any() or (total < f * (1 - 1e-12)).any():
        raise InvalidInput("Class sizes must be at least 1, and weights at least the class size.")
    p = np.minimum(f / total, 1.0)
    risk = np.empty(f.shape)
    recur = (f < FEW) & (p < 0.5)
    risk[recur] = _by_recurrence(f[recur], p[recur])
    risk[~recur] = _by_series(f[~recur], p[~recur])
    return risk


def household_risk(risk: ArrayLike, household: ArrayLike) -> Floats:
    r"""Return, for each record, the chance that a member of its household is re-identified.

    .. math:: 1 - \prod_{i \in h} (1 - r_i)

    >>> household_risk([0.5, 0.5, 0.1], ["a", "a", "b"])
    array([0.75, 0.75, 0.1 ])
    """
    risk = np.asarray(risk, dtype=np.float64)
    _, member = np.unique(np.asarray(household), return_inverse=True)
    with np.errstate(divide="ignore"):
        escapes = np.bincount(member, weights=np.log1p(-risk))
    return np.asarray(-np.expm1(escapes)[member], dtype=np.float64)


def _by_series(f: Floats, p: Floats) -> Floats:
    term = np.ones_like(f)
    total = np.ones_like(f)
    m = 0
    while (term > 1e-18 * total).any():
        term = term * ((m + 1) * (1 - p) / (f + 1 + m))
        total += term
        m += 1
    return np.asarray(p / f * total, dtype=np.float64)


def _by_recurrence(f: Floats, p: Floats) -> Floats:
    c = p / (1 - p)
    integral = -np.log(p)
    for size in range(1, int(f.max(initial=1))):
        integral = np.where(f > size, 1 / size - c * integral, integral)
    return np.asarray(c * integral, dtype=np.float64)


SERIES_BELOW, SERIES_TERMS = 0.05, 10
"""Below this ν differences of exponentials lose digits; so many terms reach full precision."""

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
    safe = np.maximum(rest, SERIES_BELOW)
    decay = np.exp(-safe)
    mean = -np.expm1(-safe) / safe
    first, second = mean - decay, mean - decay * (1 + safe / 2)
    small = np.flatnonzero(rest < SERIES_BELOW)
    nu = rest[small]
    power, first_sum, second_sum = np.ones_like(nu), np.zeros_like(nu), np.zeros_like(nu)
    for m in range(1, SERIES_TERMS):
        power = power * -nu
        first_sum -= power * (m / math.factorial(m + 1))
        second_sum += power * (m * (m - 1) / (2 * math.factorial(m + 1)))
    first[small], second[small] = first_sum, second_sum
    return first, second


def _ratio(value: float, variance: float) -> float:
    return value / math.sqrt(variance) if variance > 0 else 0.0


NODES = np.linspace(-3.4, 3.4, 121)
"""Of the double exponential rule, where both ends of the unit interval are met to 1e-12."""


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


Codes = NDArray[np.integer]
"""(K, d): the codes of cells, one column per key."""
Margin = tuple[int, ...]
"""The keys of a margin, by their place."""
Operators = Mapping[int, Operator]
"""How the levels of each randomised key move among each other, by its place."""


@value(eq=False)
class JointKey:
    """Some keys taken as one.

    - ``axes``: Their places.
    - ``sizes``: Their numbers of levels.
    - ``level_of``: Which level of the one each combination of their levels is, the last running
      fastest; −1 where it is none.
    - ``count``: The number of levels of the one.
    """

    axes: Margin
    sizes: tuple[int, ...]
    level_of: Integers
    count: int

    def codes(self, cells: Codes) -> Integers:
        """Return the level of each cell."""
        index = np.zeros(len(cells), dtype=np.int64)
        for axis, size in zip(self.axes, self.sizes, strict=True):
            index = index * size + cells[:, axis]
        return np.asarray(self.level_of[index])

    def sums(self, values: Floats) -> Floats:
        """Return the sums over the combinations of each level, along the first axis."""
        answer = np.zeros((self.count, *values.shape[1:]))
        there = self.level_of >= 0
        np.add.at(answer, self.level_of[there], values[there])
        return answer


class CellMeans(ABC):
    r"""Fitted sample means :math:`\mu = \pi\lambda` of every cell."""

    @property
    @abstractmethod
    def margins(self) -> tuple[Margin, ...]:
        """The observed margins that the means reproduce."""

    @abstractmethod
    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""

    @abstractmethod
    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        r"""Return the mean released counts :math:`\tilde\mu_j = \sum_k \mu_k M_{kj}`."""

    @abstractmethod
    def over(self, keys: Sequence[JointKey]) -> "CellMeans":
        """Return the means over some keys alone, several of them as one."""

    def risks(
        self, cells: Codes, sizes: Integers, *, fraction: Floats, stay: Floats
    ) -> tuple[Floats, Floats]:
        r"""Return r1 and r2 of classes of some cells, whose members are known with chance ``stay``.

        :math:`\lambda = \mu/\pi` people of a cell are sampled with chance π and then seen as what
        they are with chance M, ``stay``, so :math:`\lambda(1-\pi M)` are not seen.
        """
        means = self.means(cells)
        rest, shapes = means * (1 / fraction - stay), self.shapes(means)
        if shapes is None:
            return uniqueness_risk(rest, sizes), match_risk(rest, sizes)
        return mixed_risks(rest, sizes, sampled=means * stay, shapes=shapes)

    def shapes(self, means: Floats) -> Floats | None:  # noqa: ARG002
        """Return how closely cells keep to such means: shapes of gamma laws; None: exactly."""
        return None

    def criteria(self, table: Crosstab, fraction: float) -> FitCriteria | None:  # noqa: ARG002
        """Return the criteria of fit; None where there are none, or too many cells to scan."""
        return None

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:  # noqa: ARG002
        """Return intervals of τ1 and τ2, with the sampling fraction of each class; None if none."""
        return None


@value(eq=False)
class Sample:
    """What a model is fitted to.

    - ``table``: The counts, with the class of each record.
    - ``population_size``: N.
    - ``rules``: Structural zeros.
    - ``rng``: For models that are sampled.
    - ``clock``: Told how far the fit has come.
    """

    table: Crosstab
    population_size: float
    rules: Sequence[StructuralZero] = ()
    rng: np.random.Generator | None = None
    clock: Clock = Clock(None)

    @property
    def fraction(self) -> float:
        """The share of the population that was sampled."""
        return self.table.n / self.population_size


@value(eq=False)
class FittedModel:
    """What a model gave.

    - ``means``: None where nothing was fitted.
    - ``reason``: Why this fit was taken.
    - ``chains``: How its chains mixed, if it was sampled.
    - ``unique_risks``: r1 and r2 of the sample uniques, where the model has better ones than
      its means give.
    """

    means: CellMeans | None
    reason: str
    chains: "Chains | None" = None
    unique_risks: tuple[Floats, Floats] | None = None


class RiskModel(ABC):
    """A model of the population; ``registry.MODELS`` lists those that have a name.

    - ``name``, ``summary``: What it is called, and what it is, in a few words for help pages.
    - ``needs_population``: Whether it must know how many people the file was sampled from.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs_population: ClassVar[bool] = True

    @abstractmethod
    def fit(self, sample: Sample) -> FittedModel:
        """Return the model fitted to a sample."""

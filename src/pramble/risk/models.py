r"""What a model of the population is, and the risk of a record under it.

A model is fitted to a sample and gives the mean of every cell. Population counts
:math:`F \sim \mathrm{Poisson}(\lambda)`, each member sampled with probability π. Given the sample
count f, the unsampled rest :math:`F - f` is Poisson with mean :math:`\nu = (1-\pi)\lambda`.

In weighted samples a class of f records whose weights sum to :math:`\hat F` has an unsampled rest
that is negative binomial with success probability :math:`p = f/\hat F` (Benedetti and Franconi
1998).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.crosstab import Crosstab
from pramble.errors import InvalidInput
from pramble.information.structural_zeros import StructuralZero
from pramble.mechanisms.operators.base import Operator
from pramble.values import Floats, Integers, Reporter, frozen

if TYPE_CHECKING:
    from pramble.risk.membership import Chains

# Below it scipy's 1F1 meets denormal numbers.
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
    nu = np.where(rest[alone] == 0, 1.0, rest[alone])
    risk[alone] = np.where(rest[alone] == 0, 1.0, -np.expm1(-nu) / nu)
    if not alone.all():
        from scipy.special import hyp1f1

        normal = np.where(rest[~alone] < SMALLEST, 0.0, rest[~alone])
        risk[~alone] = hyp1f1(1.0, sizes[~alone] + 1.0, -normal) / sizes[~alone]
    return risk


# From this class size on, twenty terms of the series reach full precision at any weight.
FEW = 50


def individual_risk(sizes: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Return the chance that a match on a class is right, by the negative binomial model.

    .. math:: r = E(1/F \mid f) = \frac pf\, {}_2F_1(1,1;\,f+1;\,q)
        = \int_0^1 \frac{p\,w^{f-1}}{p + q w}\,dw, \qquad p = f/\hat F,\; q = 1-p.

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
    # scipy's hyp2f1 is infinite or NaN from f of a hundred on, so terms are summed here: all are
    # positive, and term m+1 over term m is (m+1)q/(f+1+m). That converges like q^m for small f.
    # There, with c = p/q < 1, the integrals I_f of w^(f-1)/(c+w) over the unit interval come from
    # I_1 = log(1/p) and I_(f+1) = 1/f - c I_f, which shrinks errors. Both keep 14 digits.
    recur = (f < FEW) & (p < 0.5)
    few, own = f[recur], p[recur]
    c, integral = own / (1 - own), -np.log(own)
    for size in range(1, int(few.max(initial=1))):
        integral = np.where(few > size, 1 / size - c * integral, integral)
    risk[recur] = c * integral
    many, own = f[~recur], p[~recur]
    term, sums, m = np.ones_like(many), np.ones_like(many), 0
    while (term > 1e-18 * sums).any():
        term = term * ((m + 1) * (1 - own) / (many + 1 + m))
        sums, m = sums + term, m + 1
    risk[~recur] = own / many * sums
    return risk


@frozen
class Intervals:
    """95 % intervals of the numbers that τ1 and τ2 estimate."""

    tau1: tuple[float, float]
    tau2: tuple[float, float]


# Of the double exponential rule, where both ends of the unit interval are met to 1e-12.
NODES = np.linspace(-3.4, 3.4, 121)


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


# (K, d): the codes of cells, one column per key.
Codes = NDArray[np.integer]
# How the levels of each randomised key move among each other, by its place.
Operators = Mapping[int, Operator]


@frozen(eq=False)
class JointKey:
    """Some keys taken as one.

    - ``axes``: Their places.
    - ``sizes``: Their numbers of levels.
    - ``level_of``: Which level of the one each combination of their levels is, the last running
      fastest; −1 where it is none.
    - ``count``: The number of levels of the one.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    level_of: Integers
    count: int

    def codes(self, cells: Codes) -> Integers:
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

    def intervals(self, table: Crosstab, fraction: Floats) -> Intervals | None:  # noqa: ARG002
        """Return intervals of τ1 and τ2, with the sampling fraction of each class; None if none."""
        return None


@frozen(eq=False)
class Sample:
    """What a model is fitted to.

    - ``table``: The counts, with the class of each record.
    - ``population_size``: N.
    - ``rules``: Structural zeros.
    - ``rng``: For models that are sampled.
    - ``reporter``: Says how far the fit has come.
    """

    table: Crosstab
    population_size: float
    rules: Sequence[StructuralZero] = ()
    rng: np.random.Generator | None = None
    reporter: Reporter = Reporter(None)


@frozen(eq=False)
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

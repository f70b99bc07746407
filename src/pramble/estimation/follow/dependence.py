r"""A test of independence from estimated cells, for plans that release no table of the two columns.

With the unbiased estimate :math:`\hat p` of the two-way table and its margins a and b,
:math:`D = \hat p - ab^\top = (I - a1^\top)\,\hat p\,(I - 1b^\top)`, whose covariance C under
independence follows from that of :math:`\hat p` at the law :math:`ab^\top`, randomisation included:

.. math:: X^2 = \operatorname{vec}(D)^\top C^{+} \operatorname{vec}(D) \sim
          \chi^2_{(S-1)(S'-1)} .

Where some released cell is expected fewer than five times, the statistic is compared with those of
releases drawn from :math:`ab^\top` (a parametric bootstrap).

How strongly two original columns depend on each other, seen through a release.

Cramér's V is :math:`\sqrt{\phi^2/(\min(S,S')-1)}` with :math:`\phi^2 = \sum p^2/(ab) - 1` over the
cells of the original table and its margins a and b. From a release :math:`\phi^2` is estimated with
unbiased squares, :math:`\hat p^2 - \hat V`. Its law is skewed and far from normal where dependence
is weak, so the interval inverts a test: for every strength t the law of the estimate is simulated
around

.. math:: p_t = ab + t\,(\hat p - ab), \qquad V(p_t) = t\,V(\hat p) ,

with normal noise of the estimated covariance, and t is kept when the estimate found is neither
among the largest nor among the smallest of its law.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from pramble.estimation.inverse.layout import Tabulated
from pramble.estimation.inverse.likelihood import by_inverse
from pramble.estimation.inverse.moments import SecondMoments, right_inverses
from pramble.mechanisms.operators.base import along_axes, apply_axes, category_shape
from pramble.values import Floats, Integers, value

RARE = 5
DRAWS = 1999
LARGEST_BATCH = 5_000_000
NEGLIGIBLE = 1e-9


@value(eq=False)
class MomentTest:
    """Estimated cells against those of independent columns."""

    tabulated: Tabulated

    def two_way(self, cells: Floats) -> Floats:
        """Return cells (…, R, S1, …) as two-way tables in the order of the columns asked for."""
        layout = self.tabulated.layout
        flat = cells.reshape(*cells.shape[: cells.ndim - self.depth], -1)[..., layout.order]
        rows = len(np.unique(layout.codes[layout.by[0]]))
        return flat.reshape(*flat.shape[:-1], rows, -1)

    @property
    def depth(self) -> int:
        return 1 + len(self.tabulated.axes)

    @cached_property
    def cells(self) -> Floats:
        return self.two_way(by_inverse(self.tabulated.axes, self.tabulated.counts).p)

    @cached_property
    def independent(self) -> SecondMoments:
        tabulated = self.tabulated
        rows, columns = (np.maximum(self.cells.sum(axis=axis), 0.0) for axis in (1, 0))
        expected = np.outer(rows / rows.sum(), columns / columns.sum())
        shape = (len(tabulated.layout.groups), *category_shape(tabulated.axes))
        p = tabulated.layout.unflatten(expected.ravel()).reshape(shape)
        law = apply_axes(tabulated.axes, p)
        inverses = right_inverses(tabulated.axes)
        return SecondMoments(tabulated.axes, inverses, p, law, law / tabulated.n, 1.0)

    @cached_property
    def scores(self) -> Floats:
        """Directions (f, SS') along which the residuals have variance 1 under independence."""
        order = self.tabulated.layout.order
        covariance = self.independent.covariance()[np.ix_(order, order)]
        p = self.two_way(self.independent.p)
        away = [np.eye(len(m)) - np.outer(m, np.ones(len(m))) for m in (p.sum(1), p.sum(0))]
        J = np.kron(*away)
        values, vectors = np.linalg.eigh(J @ covariance @ J.T)
        most = (p.shape[0] - 1) * (p.shape[1] - 1)
        large = np.flatnonzero(values > NEGLIGIBLE * max(values[-1], 1e-300))
        kept = large[max(len(large) - most, 0) :]
        return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T)

    @property
    def freedom(self) -> int:
        return len(self.scores)

    def statistics(self, tables: Floats) -> Floats:
        expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
        residuals = (tables - expected).reshape(*tables.shape[:-2], -1)
        return np.asarray(((residuals @ self.scores.T) ** 2).sum(axis=-1))

    @property
    def statistic(self) -> float:
        return float(self.statistics(self.cells))

    @property
    def is_rare(self) -> bool:
        """Whether some released cell is expected too seldom for chi-square to hold."""
        law = self.independent.law
        return self.freedom > 0 and self.tabulated.n * float(law[law > 0].min(initial=1.0)) < RARE

    def p_value(self) -> float:
        """Return how likely a statistic as large is when the originals are independent."""
        from scipy.special import chdtrc

        if not self.freedom:
            return 1.0
        if self.is_rare:
            return self.bootstrapped()
        return float(chdtrc(self.freedom, self.statistic))

    def bootstrapped(self) -> float:
        """Return the share of releases of independent columns, this one among them, as far off."""
        law, rng = self.independent.law, np.random.default_rng(0)
        flat = np.maximum(law.ravel(), 0.0)
        n, found = round(self.tabulated.n), self.statistic
        inverses = [inverse.apply for inverse in self.independent.inverses]
        step, farther = max(LARGEST_BATCH // flat.size, 1), 0
        for first in range(0, DRAWS, step):
            count = min(step, DRAWS - first)
            drawn = rng.multinomial(n, flat / flat.sum(), size=count).reshape(count, *law.shape) / n
            tables = self.two_way(along_axes(inverses, drawn))
            farther += int((self.statistics(tables) >= found * (1 - 1e-9)).sum())
        return (1 + farther) / (1 + DRAWS)


STRENGTH_DRAWS = 2000
MOST_NUMBERS = 20_000_000
LARGEST_TABLE = 2500
HALVINGS = 30
STRONGEST = 2.0**20


def cramers_v(contingency: float, shape: tuple[int, ...]) -> float:
    """Return Cramér's V of a mean square contingency, within 0 and 1."""
    return float(np.sqrt(min(max(contingency, 0.0) / max(min(shape) - 1, 1), 1.0)))


def unbiased_contingency(p: Floats, variances: Floats) -> Floats:
    r"""Return :math:`\sum (\hat p^2 - \hat V)/(a b) - 1` over cells with positive margins.

    ``p`` may hold many tables, on its first axes.
    """
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    expected = np.maximum(rows, 0)[..., :, None] * np.maximum(columns, 0)[..., None, :]
    squares = np.divide(p**2 - variances, expected, out=np.zeros_like(p), where=expected > 0)
    return np.asarray(squares.sum(axis=(-2, -1)) - 1)


def v_interval(
    p: Floats, variances: Floats, covariance: Callable[[], Floats], *, level: float
) -> tuple[float, float]:
    """Return an interval for Cramér's V of the originals; NaN for tables too large for it.

    Rows and columns are taken in the order of their shares, so that the interval does not depend
    on how levels are listed.
    """
    cells = np.arange(p.size).reshape(p.shape)
    order = cells[by_size(p)][:, by_size(p.T)]
    p, variances = p.ravel()[order], variances.ravel()[order]
    if p.size > LARGEST_TABLE or min(p.shape) < 2:
        return float("nan"), float("nan")
    found = float(unbiased_contingency(p, variances))
    margins = [np.maximum(p.sum(axis=1), 0), np.maximum(p.sum(axis=0), 0)]
    independent = np.outer(margins[0] / margins[0].sum(), margins[1] / margins[1].sum())
    draws = max(min(STRENGTH_DRAWS, MOST_NUMBERS // p.size), 200)
    noise = noise_of(covariance()[np.ix_(order.ravel(), order.ravel())], draws=draws)
    noise = noise.reshape(-1, *p.shape)
    direction = p - independent
    used = independent > 0
    strength = float((direction[used] ** 2 / independent[used]).sum())
    if strength == 0:
        return 0.0, 0.0

    def share_below(t: float) -> float:
        tables = independent + t * direction + noise
        return float((unbiased_contingency(tables, variances) < found).mean())

    tail = (1 - level) / 2
    ends = (strongest(share_below, 1 - tail), strongest(share_below, tail))
    lower, upper = (cramers_v(t**2 * strength, p.shape) for t in ends)
    best = cramers_v(found, p.shape)
    return min(lower, best), max(upper, best)


def by_size(rows: Floats) -> Integers:
    """Return the places of rows in the order of their sums, and of their squares where those tie.

    >>> by_size(np.array([[0.3, 0.2], [0.1, 0.4], [0.0, 0.0]]))
    array([2, 0, 1])
    """
    return np.lexsort((np.round((rows**2).sum(axis=1), 12), np.round(rows.sum(axis=1), 12)))


def noise_of(covariance: Floats, *, draws: int) -> Floats:
    """Return normal draws with a covariance, the same ones for the same covariance."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    rng = np.random.default_rng(0)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((draws, len(values))) @ scaled.T)


def strongest(share_below: Callable[[float], float], share: float) -> float:
    """Return the largest t for which at least that share of estimates would be smaller; 0 if none.

    The share falls with t.
    """
    if share_below(0.0) < share:
        return 0.0
    low, high = 0.0, 1.0
    while share_below(high) >= share and high < STRONGEST:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if share_below(middle) >= share:
            low = middle
        else:
            high = middle
    return low

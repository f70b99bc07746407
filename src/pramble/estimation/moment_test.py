r"""A test of independence from estimated cells, for plans that release no table of the two columns.

With the unbiased estimate :math:`\hat p` of the two-way table and its margins a and b,
:math:`D = \hat p - ab^\top = (I - a1^\top)\,\hat p\,(I - 1b^\top)`, whose covariance C under
independence follows from that of :math:`\hat p` at the law :math:`ab^\top`, randomisation included:

.. math:: X^2 = \operatorname{vec}(D)^\top C^{+} \operatorname{vec}(D) \sim
          \chi^2_{(S-1)(S'-1)} .

Where some released cell is expected fewer than five times, the statistic is compared with those of
releases drawn from :math:`ab^\top` (a parametric bootstrap).
"""

from functools import cached_property

import numpy as np

from pramble.estimation.fit.fit import by_inverse
from pramble.estimation.moments import SecondMoments, right_inverses
from pramble.estimation.tabulated import Tabulated
from pramble.mechanisms.operators.base import along_axes, apply_axes, category_shape
from pramble.values import Floats, value

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
        """Number of axes of one table of cells."""
        return 1 + len(self.tabulated.axes)

    @cached_property
    def cells(self) -> Floats:
        """The unbiased estimate, as a two-way table."""
        return self.two_way(by_inverse(self.tabulated.axes, self.tabulated.counts).p)

    @cached_property
    def independent(self) -> SecondMoments:
        """The second moments of the estimate, were the columns independent."""
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
        """The degrees of freedom."""
        return len(self.scores)

    def statistics(self, tables: Floats) -> Floats:
        """Return the statistic of each of many estimated tables."""
        expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
        residuals = (tables - expected).reshape(*tables.shape[:-2], -1)
        return np.asarray(((residuals @ self.scores.T) ** 2).sum(axis=-1))

    @property
    def statistic(self) -> float:
        """The statistic of the release."""
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

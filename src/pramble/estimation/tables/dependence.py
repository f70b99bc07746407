r"""A test of independence of two columns of a protected table.

With the unbiased shares p and their margins a and b,

.. math:: D = p - ab^\top = (I - a1^\top)\,p\,(I - 1b^\top)

has, under independence, the covariance C of noise and of sampling from :math:`ab^\top`. D without
its first row and column says all of it, and

.. math:: X^2 = \operatorname{vec}(D)^\top C^{-1} \operatorname{vec}(D) \sim
          \chi^2_{(S-1)(S'-1)} .

Noise is normal, and most of it is in D directly; where sampling is what counts and some cell is
expected fewer than five times, the statistic is compared with those of tables drawn from
:math:`ab^\top`, with noise (a parametric bootstrap).
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from pramble.errors import NotIdentifiable
from pramble.estimation.inverse.moments import normal_draws
from pramble.estimation.tables.answers import TableAnswers
from pramble.values import Floats, value

# Records, noise counted in, that a cell must be expected to have for chi-square.
RARE = 5

DRAWS = 1999


@value(eq=False)
class TableTest:
    """A two-way table against that of independent columns."""

    answers: TableAnswers

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.answers.noise.shape
        return rows, columns

    @cached_property
    def cells(self) -> Floats:
        return self.answers.unbiased.reshape(self.shape)

    @cached_property
    def variances(self) -> Floats:
        inside = np.clip(self.cells, 0.0, 1.0)
        noise = self.answers.cell_variances.reshape(self.shape)
        return np.asarray(noise + self.answers.sampling * inside * (1 - inside) / self.answers.n)

    @cached_property
    def margins(self) -> tuple[Floats, Floats]:
        rows, columns = (np.maximum(self.cells.sum(axis=axis), 0.0) for axis in (1, 0))
        return rows / rows.sum(), columns / columns.sum()

    @cached_property
    def independent(self) -> TableAnswers:
        return replace(self.answers, p=np.outer(*self.margins).ravel())

    @property
    def freedom(self) -> int:
        return (self.shape[0] - 1) * (self.shape[1] - 1)

    @cached_property
    def root(self) -> Floats:
        away = [(np.eye(len(m)) - np.outer(m, np.ones(len(m))))[1:] for m in self.margins]
        J = np.kron(*away)
        try:
            return np.linalg.cholesky(J @ self.independent.covariance() @ J.T)
        except np.linalg.LinAlgError:
            raise NotIdentifiable(
                "Independence is tested where every category has records or noise; some have "
                "neither. Merge them with others."
            ) from None

    def statistics(self, tables: Floats) -> Floats:
        from scipy.linalg import solve_triangular

        expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
        off = (tables - expected)[..., 1:, 1:].reshape(-1, self.freedom)
        return np.asarray((solve_triangular(self.root, off.T, lower=True) ** 2).sum(axis=0))

    @property
    def statistic(self) -> float:
        return float(self.statistics(self.cells[None])[0])

    @property
    def is_rare(self) -> bool:
        n, independent = self.answers.n, self.independent
        expected = n * independent.p + n**2 * independent.cell_variances
        return bool(expected.min() < RARE)

    def p_value(self) -> float:
        from scipy.special import chdtrc

        if not self.is_rare:
            return float(chdtrc(self.freedom, self.statistic))
        independent = self.independent
        noise = normal_draws(replace(independent, sampling=0.0).covariance(), draws=DRAWS)
        n, rng = round(self.answers.n), np.random.default_rng(1)
        tables = rng.multinomial(n, independent.p, size=DRAWS) / n + noise
        drawn = self.statistics(tables.reshape(-1, *self.shape))
        farther = int((drawn >= self.statistic * (1 - 1e-9)).sum())
        return (1 + farther) / (1 + DRAWS)

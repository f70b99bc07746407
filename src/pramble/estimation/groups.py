r"""Totals and means of a numeric column within groups that were randomised.

With :math:`t_i = w_i y_i G_{Z_i x}` the total of group x is estimated by :math:`\sum_i t_i`, which
is unbiased, and its mean by the ratio :math:`R_x` to the estimated size
:math:`\hat N_x = \sum_i w_i G_{Z_i x}`. The variance of the ratio is that of the residuals
:math:`(y_i - R_x)\,w_i G_{Z_i x}/\hat N_x`. Everything follows from sums of :math:`w^2`,
:math:`w^2 y` and :math:`w^2 y^2` over released cells.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.fit import fit
from pramble.estimation.result import Estimate
from pramble.estimation.settings import Settings
from pramble.estimation.source import Source, numbers
from pramble.estimation.spread import Spread, right_inverses
from pramble.estimation.tables import Layout
from pramble.values import Floats


@dataclass(frozen=True)
class Sums:
    """Weighted sums over released cells: of 1 and y, and of their squared-weight relatives."""

    n: float
    size: Floats
    total: Floats
    squares: tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Totals:
    """Estimated totals of a numeric column within true cells."""

    layout: Layout
    spread: Spread
    sums: Sums

    def values(self) -> Floats:
        """Return the totals."""
        return self.spread.invert(self.sums.total)

    def variances(self) -> Floats:
        """Return the variance of every total."""
        f, second = self.spread.sampling, self.sums.squares[2]
        within = (1 - f) * self.spread.invert(second) + f * self.values() ** 2 / self.sums.n
        return np.asarray(self.spread.squares(second) - within)

    def covariance(self) -> Floats:
        """Return the covariance of all totals, in the order of the table."""
        f, second, totals = self.spread.sampling, self.sums.squares[2], self.values().ravel()
        answer = self.spread.sandwich(second) - f * np.outer(totals, totals) / self.sums.n
        answer[np.diag_indices_from(answer)] -= (1 - f) * self.spread.invert(second).ravel()
        return np.asarray(answer[np.ix_(self.layout.order, self.layout.order)])


@dataclass(frozen=True)
class Means:
    """Estimated means of a numeric column within true cells; NaN where no size is left."""

    layout: Layout
    spread: Spread
    sums: Sums

    def sizes(self) -> Floats:
        """Return the estimated sizes of the cells."""
        sizes = self.spread.invert(self.sums.size)
        return np.where(sizes > 0, sizes, np.nan)

    def values(self) -> Floats:
        """Return the means."""
        return np.asarray(self.spread.invert(self.sums.total) / self.sizes())

    def residuals(self, of: Callable[[Floats], Floats]) -> Floats:
        """Return a second moment of the residuals y − R, from those of 1, y and y²."""
        zero, one, two = map(of, self.sums.squares)
        return np.asarray(two - 2 * self.values() * one + self.values() ** 2 * zero)

    def variances(self) -> Floats:
        """Return the variance of every mean."""
        whole = self.residuals(self.spread.squares)
        within = self.residuals(self.spread.invert)
        return np.asarray((whole - (1 - self.spread.sampling) * within) / self.sizes() ** 2)

    def covariance(self) -> Floats:
        """Return the covariance of all means, in the order of the table."""
        R, N = self.values().ravel(), self.sizes().ravel()
        zero, one, two = map(self.spread.sandwich, self.sums.squares)
        answer = two - (R[:, None] + R[None, :]) * one + np.outer(R, R) * zero
        within = self.residuals(self.spread.invert).ravel()
        answer[np.diag_indices_from(answer)] -= (1 - self.spread.sampling) * within
        answer /= np.outer(N, N)
        return np.asarray(answer[np.ix_(self.layout.order, self.layout.order)])


KINDS: dict[str, type[Totals] | type[Means]] = {"total": Totals, "mean": Means}


def group_estimate(source: Source, settings: Settings, *, column: str, kind: str) -> Estimate:
    """Return totals or means of a column within the cells of a table, with normal intervals."""
    from scipy.special import ndtri

    layout = source.layout
    moments = KINDS[kind](layout, inverse_spread(source, settings), sums_of(source, column))
    values = layout.flatten(moments.values())
    errors = np.sqrt(np.maximum(layout.flatten(moments.variances()), 0.0))
    reach = ndtri((1 + settings.level) / 2) * errors
    return Estimate(
        cells=layout.labels(),
        probabilities=values,
        standard_errors=errors,
        lower=values - reach,
        upper=values + reach,
        n=source.n,
        covariance_parts=moments,
        method="inverse",
        level=settings.level,
        covers=settings.covers,
        quantity=kind,
        backend=source.backend,
    )


def inverse_spread(source: Source, settings: Settings) -> Spread:
    """Return the second moments of the unbiased inverse."""
    axes = source.layout.axes
    fitted = fit(axes, source.counts, method="inverse")
    squares = fitted.law / source.n
    share = settings.sampling_share(source.n)
    return Spread(axes, right_inverses(axes), fitted.p, fitted.law, squares, share)


def sums_of(source: Source, column: str) -> Sums:
    """Return the sums of a numeric column over released cells."""
    if source.table is None or source.columns is None:
        raise InvalidInput("mean= and total= go with a frame.")
    table = source.table
    y = numbers(source.columns[column], len(table.cell), what=f"Column {column!r}")
    w = np.ones_like(y) if source.weights is None else source.weights
    squares = (table.sums(w * w), table.sums(w * w * y), table.sums(w * w * y * y))
    return Sums(source.n, table.sums(w), table.sums(w * y), squares)

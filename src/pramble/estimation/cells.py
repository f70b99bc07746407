"""Estimates of every cell of a table."""

from dataclasses import dataclass

import numpy as np

from pramble.estimation.fit import Fit, fit
from pramble.estimation.result import Estimate
from pramble.estimation.settings import Settings
from pramble.estimation.source import Source
from pramble.estimation.spread import Spread, right_inverses
from pramble.estimation.tables import Layout
from pramble.values import Floats


def cell_estimate(source: Source, settings: Settings) -> Estimate:
    """Return the estimate of every cell of a table."""
    layout = source.layout
    fitted = fit(layout.axes, source.counts, method=settings.method)
    spread = spread_of(source, fitted, settings=settings)
    lower, upper = spread.intervals(
        spread.invert(source.counts / source.counts.sum()), level=settings.level
    )
    return Estimate(
        cells=layout.labels(),
        probabilities=layout.flatten(fitted.p),
        standard_errors=np.sqrt(layout.flatten(spread.variances())),
        lower=layout.flatten(lower),
        upper=layout.flatten(upper),
        n=source.n,
        covariance_parts=CellCovariance(layout, spread),
        method=settings.method,
        level=settings.level,
        covers=settings.covers,
        log_likelihood=fitted.log_likelihood,
        gap=fitted.gap,
        misfit=misfit_of(source, fitted),
        backend=source.backend,
    )


def misfit_of(source: Source, fitted: Fit) -> float:
    r"""Return a bound on the p-value of :math:`2\sum_z c_z \log(\hat c_z/\hat m_z)`.

    The simplex is a cone around the truth, so the statistic is at most chi-square with one degree
    of freedom less than there are released cells.
    """
    from scipy.special import chdtrc, xlogy

    if source.squares is not None:
        return float("nan")
    saturated = float(xlogy(source.counts, source.counts / source.n).sum())
    statistic = 2 * (saturated - fitted.log_likelihood)
    return float(chdtrc(max(source.counts.size - 1, 1), max(statistic, 0.0)))


def spread_of(source: Source, fitted: Fit, *, settings: Settings) -> Spread:
    """Return the second moments of a fit; without weights they come from the fitted law."""
    axes = source.layout.axes
    inverses = right_inverses(axes, fitted.law if settings.method == "mle" else None)
    if source.squares is None:
        squares = fitted.law / source.n
    else:
        squares = source.squares / source.counts.sum() ** 2
    share = settings.sampling_share(source.n)
    return Spread(axes, inverses, fitted.p, fitted.law, squares, share)


@dataclass(frozen=True)
class CellCovariance:
    """The covariance of the cells of a table, in the table's order."""

    layout: Layout
    spread: Spread

    def covariance(self) -> Floats:
        """Return the (K, K) matrix."""
        order = self.layout.order
        return np.asarray(self.spread.covariance()[np.ix_(order, order)])

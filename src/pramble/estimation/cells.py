"""Estimates of every cell of a table."""

import numpy as np

from pramble.estimation.answers import CellAnswers
from pramble.estimation.fit.fit import FittedTable, fit_table
from pramble.estimation.intervals import errors_within, nothing_known
from pramble.estimation.moments import SecondMoments, right_inverses
from pramble.estimation.result import Estimate, Settings
from pramble.estimation.tabulated import Tabulated

UNLIKELY = 1e-6
"""A p-value below which data and plan are said not to fit."""

MISFIT = (
    f"The data fits its plan badly (p < {UNLIKELY:g}): is it what was released, and whole? Rows "
    "that were selected by a randomised column are not a release of their originals."
)


def cell_estimate(tabulated: Tabulated, settings: Settings) -> Estimate:
    layout, counts = tabulated.layout, tabulated.counts
    fitted = fit_table(tabulated, method=settings.method)
    moments = moments_of(tabulated, fitted, settings=settings)
    centre = moments.invert(counts / counts.sum())
    lower, upper = moments.intervals(centre, level=settings.level)
    misfit = misfit_of(tabulated, fitted)
    p, errors = layout.flatten(fitted.p), np.sqrt(layout.flatten(moments.variances()))
    if settings.method == "mle":
        errors = errors_within(p, errors, layout.flatten(moments.noise()))
    return Estimate(
        cells=layout.labels(),
        probabilities=p,
        standard_errors=errors,
        lower=layout.flatten(lower),
        upper=layout.flatten(upper),
        n=tabulated.n,
        covariance_parts=CellAnswers(layout, moments, centre),
        method=settings.method,
        level=settings.level,
        covers=settings.covers,
        log_likelihood=fitted.log_likelihood,
        gap=fitted.gap,
        misfit=misfit,
        backend=tabulated.backend,
        notes=(*nothing_known(lower, upper, "cells"), *([MISFIT] if misfit < UNLIKELY else [])),
    )


def misfit_of(tabulated: Tabulated, fitted: FittedTable) -> float:
    r"""Return a bound on the p-value of :math:`2\sum_z c_z \log(\hat c_z/\hat m_z)`.

    The simplex is a cone around the truth, so the statistic is at most chi-square with one degree
    of freedom less than there are released cells.
    """
    from scipy.special import chdtrc, xlogy

    if tabulated.weighted:
        return float("nan")
    counts = fitted.counts
    saturated = float(xlogy(counts, counts / tabulated.n).sum())
    statistic = 2 * (saturated - fitted.log_likelihood)
    return float(chdtrc(max(counts.size - 1, 1), max(statistic, 0.0)))


def moments_of(tabulated: Tabulated, fitted: FittedTable, *, settings: Settings) -> SecondMoments:
    """Return the second moments of a fit; without weights they come from the fitted law."""
    axes, squares = tabulated.axes, tabulated.squared_weights
    inverses = right_inverses(axes, fitted.law if settings.method == "mle" else None)
    share = settings.sampling_share(tabulated.n)
    squares = fitted.law / tabulated.n if squares is None else squares
    return SecondMoments(axes, inverses, fitted.p, fitted.law, squares, share)

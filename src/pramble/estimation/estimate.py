"""The verb of the analyst: what a release says about the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidInput
from pramble.estimation.fit import Fit, fit
from pramble.estimation.intervals import check_level
from pramble.estimation.result import COVERS, Estimate
from pramble.estimation.source import Source, source_of
from pramble.estimation.spread import Spread, right_inverses
from pramble.estimation.tables import Layout

Floats = NDArray[np.float64]


def estimate(
    data: Any,
    plan: Any = None,
    *,
    by: Sequence[str] | str | None = None,
    counts: bool = False,
    method: str = "mle",
    level: float = 0.95,
    covers: str = "both",
    population_size: float | None = None,
    weights: Any = None,
) -> Estimate:
    r"""Estimate the original distribution from a release, with intervals.

    By maximum likelihood (the default), with counts c over the released values,

    .. math:: \hat p = \arg\max_{p \in \Delta} \sum_z c_z \log (pM)_z ,

    to a proven optimality gap (``e.gap``); or by the unbiased inverse
    :math:`\hat p = \hat c\,G`, :math:`MG = I`, which may leave the simplex. The covariance is
    :math:`G^\top(\operatorname{diag} m - m m^\top)G/n`, the whole multinomial variance of
    sampling and randomisation. Intervals respect the simplex: far from its boundary they
    are score intervals, at it they become one-sided
    (:mod:`pramble.estimation.intervals`), around the unbiased estimate.

    Parameters
    ----------
    data
        One column of released values (list, NumPy, pandas, polars or pyarrow); a vector of
        counts in the order of ``m.outputs``, with ``counts=True``; a frame; or an opened release.
    plan : Mechanism, or mapping from column to mechanism
        What the data was randomised with. Columns of a frame that are not in the plan are taken as
        they are. An opened release brings its own.
    by : str or sequence of str, optional
        Columns of the frame to cross-classify, randomised or not.
    counts : bool
        Whether ``data`` holds counts.
    method : {"mle", "inverse"}
    level : float
        Confidence level of the intervals.
    covers : {"both", "randomisation"}
        What standard errors and intervals account for: sampling and randomisation, for the
        population behind the file; or randomisation alone, for the file itself.
    population_size : float, optional
        Size N of the finite population that the n records are a simple random sample of. The
        sampling variance is then multiplied by (N − n)/(N − 1).
    weights : str or array, optional
        Survey weights: a column of the frame, or one number per record. The likelihood becomes
        the weighted pseudo-likelihood, and the variance that of a weighted share.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["a", "b", "c"], 1.0)
    >>> e = pramble.estimate([500, 300, 200], m, counts=True)
    >>> e.probabilities.round(3)
    array([0.77, 0.23, 0.  ])
    >>> e.lower.round(2), e.upper.round(2)
    (array([0.71, 0.17, 0.  ]), array([0.88, 0.32, 0.04]))

    A frame of randomised and untouched columns:

    >>> frame = {"sex": ["f", "m", "f", "m"] * 50, "town": ["x"] * 80 + ["y"] * 120}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> pramble.estimate(frame, plan, by=["town", "sex"]).probabilities
    array([0.2, 0.2, 0.3, 0.3])
    """
    settings = Settings(check_level(level), *checked_cover(covers), population_size, method)
    source = source_of(data, plan, by=by, counts=counts, weights=weights)
    return cell_estimate(source, settings)


@dataclass(frozen=True)
class Settings:
    """How to estimate, and what the intervals are about."""

    level: float
    covers: str
    population_size: float | None
    method: str

    def sampling_share(self, n: float) -> float:
        """Return the share of the sampling variance that counts."""
        if self.covers == "randomisation":
            return 0.0
        N = self.population_size
        if N is None:
            return 1.0
        if not max(n, 2) <= N:
            raise InvalidInput(
                f"population_size must be at least the number of records, {n:g}; found {N!r}."
            )
        return float((N - n) / (N - 1))


def checked_cover(covers: str) -> tuple[str]:
    """Return what intervals cover; either spelling will do."""
    name = "randomisation" if covers == "randomization" else covers
    if name not in COVERS:
        raise InvalidInput(f"covers must be one of {', '.join(COVERS)}; found {covers!r}.")
    return (name,)


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
        backend=source.backend,
    )


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

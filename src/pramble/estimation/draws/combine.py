r"""Answers from several copies put together: Rubin's rules.

With estimates :math:`q_l` and variances :math:`u_l` from m copies,

.. math:: \bar q = \frac1m \sum q_l, \quad T = \bar u + \left(1 + \frac1m\right) b, \quad
          \nu = (m - 1)\left(1 + \frac{\bar u}{(1 + 1/m)\,b}\right)^2 ,

b the variance of the estimates between copies: :math:`\bar q` has the variance T and a
t-distribution with :math:`\nu` degrees of freedom (Rubin, 1987).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.estimation.records.intervals import check_level
from pramble.numbers import percent
from pramble.shown import Display, Grid, number, shortened
from pramble.values import Floats, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@frozen(eq=False, repr=False)
class Combined(Display, Tidy):
    """Estimates from several copies, put together by Rubin's rules.

    Attributes
    ----------
    names : tuple of str
    estimate, standard_errors, lower, upper : (q,) arrays
        Estimates, their standard errors, and intervals of the confidence ``level``.
    within, between : (q,) arrays
        The mean variance within copies, and the variance between their estimates.
    degrees : (q,) array
        Degrees of freedom.
    missing : (q,) array
        The fraction of missing information: how much of what the original file would tell of an
        estimate the release does not.
    covariance : (q, q) array or None
        Of the estimates, where covariances were given.
    copies : int
    level : float

    Examples
    --------
    >>> import pramble
    >>> c = pramble.combine([[1.0, 5.0], [1.2, 5.2], [1.1, 5.4]], [[0.04, 0.09]] * 3)
    >>> c.estimate, c.standard_errors.round(3)
    (array([1.1, 5.2]), array([0.231, 0.379]))
    """

    names: tuple[str, ...]
    estimate: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    within: Floats
    between: Floats
    degrees: Floats
    missing: Floats
    covariance: Floats | None
    copies: int
    level: float

    def shown(self) -> Grid:
        """Return a line for each estimate."""
        numbers = zip(
            self.estimate, self.standard_errors, self.lower, self.upper, self.missing, strict=True
        )
        rows = [
            [name, *(number(own, 4) for own in given), percent(lost, 0)]
            for name, (*given, lost) in zip(self.names, numbers, strict=True)
        ]
        return Grid(
            f"Combined from {self.copies} copies ({100 * self.level:g} % intervals)",
            ["", "estimate", "std err", "from", "to", "missing"],
            shortened(rows),
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        return {
            "name": list(self.names),
            "estimate": self.estimate.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "degrees": self.degrees.tolist(),
            "missing": self.missing.tolist(),
        }

    def plot(self) -> "Figure":
        """Return a figure of the estimates with their intervals."""
        from pramble.plots.estimates import interval_figure

        return interval_figure(
            self.names, self.estimate, (self.lower, self.upper),
            title=f"Combined from {self.copies} copies", quantity="estimate", level=self.level,
        )  # fmt: skip


def combine(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    level: float = 0.95,
    records: float | None = None,
    names: Sequence[str] | None = None,
) -> Combined:
    r"""Put the answers from several copies together, by Rubin's rules.

    The variance of the mean estimate is that within copies plus :math:`1 + 1/m` times that between
    them, with m copies (:mod:`pramble.estimation.draws.combine`).

    Parameters
    ----------
    estimates : (m,) or (m, q) array
        What each copy gives: a number, or q of them.
    variances : (m,) or (m, q) array, or (m, q, q)
        Their squared standard errors, or covariance matrices.
    level : float
        Confidence level of the intervals.
    records : float, optional
        Degrees of freedom that the estimates would have from the original file, mostly records less
        parameters. With them the degrees of freedom are those of Barnard and Rubin (1999), which
        small files need.
    names : sequence of str, optional
        What the q estimates are called.

    Returns
    -------
    Combined

    Examples
    --------
    >>> import pramble
    >>> c = pramble.combine([10.0, 12.0, 11.0], [1.0, 1.2, 1.1])
    >>> c
    Combined from 3 copies (95 % intervals)
    -------------------------------------------
       estimate  std err   from     to  missing
    -------------------------------------------
    0        11     1.56  7.273  14.73     64 %
    -------------------------------------------
    >>> c.missing.round(2), c.degrees.round(1)
    (array([0.64]), array([6.7]))
    """
    from scipy.special import ndtri, stdtrit

    q, u, covariances = as_copies(estimates, variances)
    check_level(level)
    m, size = q.shape
    labels = tuple(map(str, range(size) if names is None else names))
    if len(labels) != size:
        raise InvalidInput(f"names must name all {size} estimates; found {len(labels)}.")
    if records is not None and not records > 0:
        raise InvalidInput(f"records must be above zero; found {records!r}.")
    within, between = u.mean(axis=0), q.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    share = np.divide((1 + 1 / m) * between, total, out=np.zeros_like(total), where=total > 0)
    with np.errstate(divide="ignore"):
        degrees = (m - 1) / share**2
        if records is not None:  # those of Barnard and Rubin
            seen = (records + 1) / (records + 3) * records * (1 - share)
            degrees = np.asarray(1 / (1 / degrees + 1 / np.maximum(seen, 1e-300)))
    tail, endless = (1 + level) / 2, ~(degrees < 1e10)
    quantiles = np.where(endless, ndtri(tail), stdtrit(np.where(endless, 1.0, degrees), tail))
    reach = np.sqrt(total) * quantiles
    # The fraction of missing information (Rubin, 1987, page 77): (r + 2 / (ν + 3)) / (r + 1) with
    # r the variance added over that within copies, written without dividing by the latter.
    missing = share + (1 - share) * 2 / (degrees + 3)
    centre, matrix = q.mean(axis=0), None
    if covariances is not None:
        spread = np.atleast_2d(np.cov(q, rowvar=False))
        matrix = covariances.mean(axis=0) + (1 + 1 / m) * spread
    return Combined(
        labels, centre, np.sqrt(total), centre - reach, centre + reach, within, between, degrees,
        missing, matrix, m, level,
    )  # fmt: skip


def as_copies(estimates: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats, Floats | None]:
    """Return (m, q) estimates and variances, and (m, q, q) covariances where they were given."""
    q, u = numbers_of_copies(estimates, "estimates"), numbers_of_copies(variances, "variances")
    if q.ndim not in (1, 2) or len(q) < 2:
        raise InvalidInput(
            "estimates must be those of two or more copies, a number or a vector from each; found "
            f"an array of shape {q.shape}."
        )
    q = q.reshape(len(q), -1)
    matrices = u if u.shape == (*q.shape, q.shape[1]) else None
    if matrices is not None:
        u = np.diagonal(matrices, axis1=1, axis2=2)
    if u.ndim == 1:
        u = u.reshape(-1, 1)
    if u.shape != q.shape:
        raise InvalidInput(
            f"variances must be one for each estimate, or a covariance matrix for each copy; there "
            f"are estimates of shape {q.shape} and variances of shape {np.shape(variances)}."
        )
    if (u < 0).any():
        copy, place = np.argwhere(u < 0)[0].tolist()
        raise InvalidInput(
            f"Variances must not be negative; that of estimate {place} in copy {copy} is "
            f"{u[copy, place]:g}."
        )
    return q, u, matrices


def numbers_of_copies(given: ArrayLike, what: str) -> Floats:
    """Return finite numbers; refuse others, and copies of different lengths."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers, as many from every copy.") from None
    if not np.isfinite(found).all():
        raise InvalidInput(
            f"{what} must be finite numbers; copy {np.argwhere(~np.isfinite(found))[0][0]} has "
            "others. An analysis that fails on a copy needs a simpler model."
        )
    return found

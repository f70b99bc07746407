r"""Numbers out of bands: the mean, the spread and the quantiles of what was banded.

Within a band :math:`[l_j, u_j)` numbers count as spread evenly. With its share :math:`p_j`, middle
:math:`m_j` and width :math:`w_j`,

.. math:: \mu = \sum_j p_j m_j, \qquad
          \sigma^2 = \sum_j p_j \{(m_j - \mu)^2 + w_j^2/12\}, \qquad
          F(x) = \sum_j p_j \min\Bigl(\max\Bigl(\frac{x - l_j}{w_j}, 0\Bigr), 1\Bigr).

All are sums of cells, so they have the intervals of ratios
(:mod:`pramble.estimation.functionals.ratios`); μ may be held at its estimate in σ², whose
derivative by it is zero.

A quantile is where the share F(x) of numbers up to x reaches a share q, and its interval holds the
x whose interval of F(x) holds q (Woodruff 1952). Its standard error is the length of the interval
over that of a standard normal one.

Randomisation lets the errors of F differ between neighbouring edges by more than F does, the more
so the finer the bands. F is therefore averaged over the numbers within h of x, with h half the
length of the interval that this leaves, :math:`h = z\,\mathrm{se}(\bar F_h) / \bar f_h`. That takes
the density for even over the length of the interval, as linearised errors do everywhere; :math:`h
f'/6f` of half the interval is what a sloping density f costs. Where the curves of F and of both
ends of its intervals fall all the same, they are put in increasing order, which brings them nearer
to any increasing curve (Chernozhukov, Fernández-Val and Galichon 2009).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.bands import edges_of_labels, is_finite_number
from pramble.data.labels import Label, label_key
from pramble.errors import InvalidInput
from pramble.estimation.functionals.ratios import (
    QUARTERS,
    Ratios,
    checked_shares,
    combinations_of,
    derived,
    matrix,
    ordered_labels,
    ratios_of,
    refuse_conditional,
    refuse_unknown,
)
from pramble.estimation.records.intervals import normal_quantile
from pramble.estimation.records.moments import Known
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pramble.estimation.functionals.result import Estimate

# Distances of averaging, as a part of the narrowest band, below which there is none.
NEGLIGIBLE = 1e-4

# The least distance that is tried for averaging, in narrowest bands, and the ratio to the next.
LEAST, WIDER = 0.25, 2**0.5

# Where curves are read near a quantile, in half lengths of its interval.
NEAR = np.linspace(-4, 4, 65)


# Values, their errors, the ends of their intervals, and their covariance.
Part = tuple[Floats, Floats, Floats, Floats, Floats]


@frozen(eq=False)
class Banded:
    """A table with a column of bands, and where they begin and end."""

    estimate: Estimate
    column: str
    labels: tuple[Label, ...]  # The bands in order
    edges: Floats  # (S + 1,): infinite at the end if the last band is open

    @cached_property
    def groups(self) -> tuple[Integers, dict[str, list[Any]]]:
        others = [name for name in self.estimate.cells if name != self.column]
        return combinations_of(self.estimate.cells, others)

    @property
    def many(self) -> int:
        return int(self.groups[0].max()) + 1

    @property
    def finite_edges(self) -> Floats:
        return self.edges[np.isfinite(self.edges)]

    def means(self, group: Integers, scores: Floats) -> Ratios:
        known = {label_key(label): i for i, label in enumerate(self.labels)}
        cells = self.estimate.cells[self.column]
        code = np.array([known.get(label_key(label), -1) for label in cells])
        banded = np.flatnonzero(code >= 0)
        whole = matrix(self.groups[0][banded], banded, shape=(self.many, len(code)))[group]
        mix: Any = whole.copy()
        mix.data = scores[np.repeat(np.arange(len(group)), np.diff(mix.indptr)), code[mix.indices]]
        return ratios_of(self.estimate).of(mix, whole)

    def statistics(self) -> list[Part]:
        """Return the mean, the variance and the standard deviation in every group."""
        middles, groups = (self.edges[:-1] + self.edges[1:]) / 2, np.arange(self.many)

        def mean_of(scores: Floats) -> Part:
            found = self.means(groups, scores)
            ends = found.intervals(level=self.estimate.level)
            return found.values, found.standard_errors, *ends, found.covariance()

        mean = mean_of(np.tile(middles, (self.many, 1)))
        away = np.nan_to_num(middles - mean[0][:, None], nan=0.0)
        variance = mean_of(away**2 + np.diff(self.edges) ** 2 / 12)
        values, errors, lower, upper, covariance = variance
        root = np.sqrt(values)
        slope = np.divide(0.5, root, out=np.full(root.shape, np.nan), where=root > 0)
        ends = np.sqrt(lower), np.sqrt(upper)
        return [mean, variance, (root, errors * slope, *ends, covariance * np.outer(slope, slope))]

    def quantiles(self, shares: Sequence[float]) -> Part:
        """Return the quantiles in every group, one share after the other."""
        ends = self.finite_edges
        group = np.tile(np.arange(self.many), len(shares))
        wanted = np.repeat(shares, self.many)
        (rough,) = self.reached(group, wanted, np.zeros(len(group))).T
        rough = np.clip(np.nan_to_num(rough, nan=ends[0]), ends[0], ends[-1])
        found = self.reached(group, wanted, self.half_lengths(group, rough), near=rough)
        # quantiles of larger shares are larger
        rank = np.argsort(np.argsort(shares))
        found = np.sort(found.reshape(len(shares), self.many, 3), axis=0)[rank].reshape(-1, 3)
        at, lower, upper = found.T
        lower = np.minimum(lower, ends[-1])
        lower, upper = np.where(np.isnan(at), [[ends[0]], [self.edges[-1]]], [lower, upper])
        values = np.where(at > ends[-1], np.nan, at)
        errors = (upper - lower) / (2 * normal_quantile(self.estimate.level))
        known = np.isfinite(values) & np.isfinite(errors)
        # quantiles hang together as the shares up to them do
        spread = self.shares_below(group, np.where(known, values, ends[0])).covariance()
        scale = np.sqrt(np.maximum(np.diag(spread), 0.0))
        alike = np.zeros_like(spread)
        np.divide(spread, np.outer(scale, scale), out=alike, where=np.outer(scale, scale) > 0)
        np.fill_diagonal(alike, 1.0)
        own = np.where(known, errors, np.nan)
        return values, errors, lower, upper, alike * np.outer(own, own)

    def shares_below(self, group: Integers, x: Floats, halves: Floats | float = 0.0) -> Ratios:
        """Return the shares of numbers up to each x within its group.

        With ``halves``, shares are averaged over the numbers at most so far from x, or as far as
        the nearer end of the scale.
        """
        ends, low, width = self.finite_edges, self.edges[:-1], np.diff(self.edges)
        scores = np.where(x[:, None] > self.edges[1:], 1.0, 0.0)
        wide = np.isfinite(width) & (width > 0)
        low, width = low[wide], width[wide]
        half = np.minimum(halves, np.minimum(x - ends[0], ends[-1] - x))[:, None]
        half = np.where(half > NEGLIGIBLE * width.min(initial=np.inf), half, 0.0)
        above, below = ((x[:, None] + sign * half - low) / width for sign in (1, -1))
        mean = width * (area(above) - area(below)) / np.where(half > 0, 2 * half, 1.0)
        scores[:, wide] = np.where(half > 0, mean, np.clip(above, 0.0, 1.0))
        return self.means(group, scores)

    def reached(
        self, group: Integers, shares: Floats, halves: Floats, *, near: Floats | None = None
    ) -> Floats:
        """Return where shares are reached by the averaged F, read at all edges.

        ``near`` some numbers it is read more closely, and so are its upper and lower ends.
        """
        ends = self.finite_edges
        places = np.tile(ends, (len(group), 1))
        if near is not None:
            close = np.clip(near[:, None] + NEAR * halves[:, None], ends[0], ends[-1])
            places = np.sort(np.concatenate([places, close], axis=1), axis=1)
        each = np.repeat(np.arange(len(group)), places.shape[1])
        ratios = self.shares_below(group[each], places.ravel(), halves[each])
        _, errors = with_errors(ratios)
        read = [np.where(np.isfinite(errors), ratios.values, np.nan)]
        if near is not None:
            lower, upper = ratios.intervals(level=self.estimate.level)
            read += [upper, lower]
        found = np.empty((len(group), len(read)))
        for column, curve in enumerate(read):
            curves = np.clip(curve, 0.0, 1.0).reshape(places.shape)
            curves[:, 0] = 0.0
            if len(ends) == len(self.edges):
                curves[:, -1] = 1.0
            for row, (own, share) in enumerate(zip(np.sort(curves, axis=1), shares, strict=True)):
                found[row, column] = crossed(places[row], own, share)
        return found

    def half_lengths(self, group: Integers, x: Floats) -> Floats:
        """Return the half length of an interval over which shares have been averaged that far.

        The least of some distances that is not below the half length it leaves, or that half
        length; no distance where nothing is known.
        """
        ends, widths = self.finite_edges, np.diff(self.finite_edges)
        least = LEAST * widths[widths > 0].min()
        many = int(np.ceil(np.log((ends[-1] - ends[0]) / least) / np.log(WIDER))) + 1
        halves = np.tile(least * WIDER ** np.arange(many), len(x))
        own, x = np.repeat(group, many), np.repeat(x, many)
        _, errors = with_errors(self.shares_below(own, x, halves))
        above, below = (
            self.shares_below(own, np.clip(x + sign * halves, ends[0], ends[-1])).values
            for sign in (1, -1)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            left = normal_quantile(self.estimate.level) * errors * 2 * halves / (above - below)
        fits = (halves >= left).reshape(-1, many)
        first = left.reshape(-1, many)[np.arange(len(group)), np.argmax(fits, axis=1)]
        return np.where(fits.any(axis=1), first, 0.0)


def area(t: Floats) -> Floats:
    inside = np.clip(t, 0.0, 1.0)
    return np.asarray(inside**2 / 2 + np.maximum(t - 1.0, 0.0))


def with_errors(ratios: Ratios) -> tuple[Floats, Floats]:
    """Return unbiased shares and their errors; one half, and infinite, where nothing is known."""
    whole = ratios.bottom @ ratios.answers.unbiased
    known = (whole > 0) & np.isfinite(ratios.standard_errors)
    share = ratios.top @ ratios.answers.unbiased / np.where(known, whole, 1.0)
    return np.where(known, share, 0.5), np.where(known, ratios.standard_errors, np.inf)


def crossed(places: Floats, curve: Floats, share: float) -> float:
    """Return where an increasing curve reaches a share, interpolated; not a number if unknown.

    >>> crossed(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 1.0]), 0.75)
    2.0
    """
    if np.isnan(curve).any():
        return np.nan
    at = int(np.searchsorted(curve, share))
    if at == len(curve):  # in the open band
        return np.inf
    part = (share - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(places[at - 1] + part * (places[at] - places[at - 1]))


def distribution(
    e: Estimate,
    column: str | None = None,
    *,
    edges: Sequence[float] | None = None,
    high: float | None = None,
    shares: Sequence[float] = QUARTERS,
    leave_out: Sequence[Label] = (),
) -> Estimate:
    """Return mean, spread and quantiles of the numbers behind a column of bands.

    Within each combination of the other columns, with numbers spread evenly within each band
    (:mod:`pramble.estimation.functionals.numbers`).

    Parameters
    ----------
    e : Estimate
    column : str, optional
        Needed where the table has several.
    edges : sequence of numbers, optional
        Where bands begin, and perhaps where the last one ends. Labels such as 7, "5-9",
        "0 to 1.5", "95+" or "2020-01" tell it themselves; dates count in years.
    high : float, optional
        Where an open last band ends. With its beginning, everything in it counts as that.
    shares : sequence of float
        Of the quantiles.
    leave_out : sequence of labels
        Labels that are no bands, as of a missing value; None is always left out.

    Returns
    -------
    Estimate
        With the column "statistic": the mean, the variance and the standard deviation, which need
        an end of the last band, and each quantile.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.geometric(["0-14", "15-29", "30-59", "60+"], 1.5)
    >>> e = pramble.estimate([300, 250, 300, 150], m, counts=True)
    >>> e.distribution(high=90)
    Estimate of 6 cells from 1,000 records (mle, 95 % intervals)
    -------------------------------------------------
    statistic            value  std err   from     to
    -------------------------------------------------
    mean                  31.1   0.8467  29.43  32.82
    variance            459.29    30.23  400.7  521.1
    standard deviation  21.431   0.7053  20.02  22.83
    0.25 quantile       12.767   0.9238  11.17  14.79
    0.5 quantile         28.02    1.337  25.69  30.93
    0.75 quantile       46.967    1.106   44.8  49.14
    -------------------------------------------------
    Errors cover sampling and randomisation.
    """
    from scipy.linalg import block_diag

    if column is None:
        if len(e.cells) != 1:
            raise InvalidInput(f"Say which column holds bands: {', '.join(map(repr, e.cells))}.")
        column = next(iter(e.cells))
    refuse_conditional(e, column)
    refuse_unknown(e, column, leave_out)
    gone = {label_key(label) for label in (*leave_out, None)}
    known = ordered_labels(e, column, beside=(*leave_out, None))
    labels = tuple(label for label in known if label_key(label) not in gone)
    if edges is None:
        ends = list(edges_of_labels(labels))
    else:
        ends = list(edges)
        if len(ends) not in (len(labels), len(labels) + 1) or not all(map(is_finite_number, ends)):
            raise InvalidInput(
                f"{len(labels)} bands of {column!r} need as many edges, or one more for the end of "
                f"the last; found {len(ends)}."
            )
        ends += [np.inf] * (len(labels) + 1 - len(ends))
        if any(after <= before for before, after in pairwise(ends)):
            raise InvalidInput(f"The edges of bands must increase; found {list(edges)}.")
    if high is not None:
        if not np.isinf(ends[-1]):
            raise InvalidInput(f"high= ends an open band; the last one ends at {ends[-1]:g}.")
        if not is_finite_number(high) or high < ends[-2]:
            raise InvalidInput(
                f"high must be a number from {ends[-2]:g} on, where the last band begins; found "
                f"{high!r}."
            )
        ends[-1] = high
    banded = Banded(e, column, labels, np.array(ends, dtype=np.float64))
    is_open, many = bool(np.isinf(ends[-1])), banded.many
    parts = [*([] if is_open else banded.statistics()), banded.quantiles(checked_shares(shares))]
    names = [] if is_open else ["mean", "variance", "standard deviation"]
    names += [f"{share:g} quantile" for share in shares]
    *numbers, covariances = zip(*parts, strict=True)
    values, errors, lower, upper = map(np.concatenate, numbers)
    notes = []
    if is_open:
        beyond = int((np.isnan(values) & np.isinf(upper) & (lower > ends[0])).sum())
        notes.append(
            f"The band {labels[-1]!r} is open, so {column!r} has no mean, and {beyond} of "
            f"{len(values)} quantiles lie in it; say where it ends by high=…, or high= its "
            "beginning to count it as that number."
        )
    if unknown := int((np.isnan(values) & (lower <= ends[0])).sum()):
        notes.append(f"Nothing is known of {unknown} of {len(values)}: their group may be empty.")
    return derived(
        e,
        *(values, errors, (lower, upper), Known(block_diag(*covariances))),
        cells={
            **{name: own * len(names) for name, own in banded.groups[1].items()},
            "statistic": [name for name in names for _ in range(many)],
        },
        quantity="value",
        given=(),
        notes=tuple(notes),
    )

r"""Numbers out of bands: the mean, the spread and the quantiles of what was banded.

Within a band :math:`[l_j, u_j)` numbers count as spread evenly. With its share :math:`p_j`, middle
:math:`m_j` and width :math:`w_j`,

.. math:: \mu = \sum_j p_j m_j, \qquad
          \sigma^2 = \sum_j p_j \{(m_j - \mu)^2 + w_j^2/12\}, \qquad
          F(x) = \sum_j p_j \min\Bigl(\max\Bigl(\frac{x - l_j}{w_j}, 0\Bigr), 1\Bigr).

All are sums of cells, so they have the intervals of ratios
(:mod:`pramble.estimation.follow.functions`); μ may be held at its estimate in σ², whose derivative
by it is zero.

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

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.bands import edges_of_labels, is_finite_number
from pramble.data.frames import Tidy
from pramble.data.labels import Label, label_key
from pramble.errors import InvalidInput
from pramble.estimation.follow.functions import (
    QUARTERS,
    Ratios,
    checked_shares,
    combinations_of,
    matrix,
    of_ratios,
    ordered_labels,
    ratios_of,
    refuse_conditional,
    refuse_unknown,
)
from pramble.estimation.inverse.intervals import normal_quantile
from pramble.estimation.inverse.moments import Known
from pramble.shown import Display, Grid, number
from pramble.values import Floats, Integers, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.estimation.follow.result import Estimate

# Distances of averaging, as a part of the narrowest band, below which there is none.
NEGLIGIBLE = 1e-4

# The step, in bands, at which curves are read, and about how many places are read in all.
FINEST, MOST_READ = 0.25, 100

# The ratio of the distances that are tried for averaging.
WIDER = 2**0.5

# Standard errors beyond an interval's own in which its ends are looked for.
FARTHER = 3.0


@value(eq=False)
class Banded:
    """A table with a column of bands, and where they begin and end."""

    estimate: Estimate
    column: str
    labels: tuple[Label, ...]  # The bands in order
    edges: Floats  # (S + 1,): infinite at the end if the last band is open

    @cached_property
    def code(self) -> Integers:
        """The band of each cell; -1 where it has none."""
        place = {label_key(label): i for i, label in enumerate(self.labels)}
        own = (place.get(label_key(label), -1) for label in self.estimate.cells[self.column])
        return np.fromiter(own, np.int64, len(self.estimate.values))

    @cached_property
    def grouped(self) -> tuple[Integers, dict[str, list[Any]]]:
        return combinations_of(
            self.estimate.cells, [n for n in self.estimate.cells if n != self.column]
        )

    @property
    def many(self) -> int:
        return int(self.grouped[0].max()) + 1

    @property
    def is_open(self) -> bool:
        return bool(np.isinf(self.edges[-1]))

    def ratios(self, group: Integers, scores: Floats) -> Ratios:
        """Return the mean of (Q, S) scores of the bands within the group of each."""
        banded = np.flatnonzero(self.code >= 0)
        whole = matrix(self.grouped[0][banded], banded, shape=(self.many, len(self.code)))[group]
        mix: Any = whole.copy()
        row = np.repeat(np.arange(len(group)), np.diff(mix.indptr))
        mix.data = scores[row, self.code[mix.indices]]
        return ratios_of(self.estimate).of(mix, whole)

    def shares_below(self, group: Integers, places: Floats, halves: Floats | float = 0.0) -> Ratios:
        """Return the shares of numbers up to each place within its group.

        A place is a number of bands: 2.25 is a quarter of the way through the third. With
        ``halves``, shares are averaged over the numbers at most so far from that at the place, or
        as far as the nearer end of the scale.
        """
        bands = np.arange(len(self.labels))
        scores = np.clip(places[:, None] - bands, 0.0, 1.0)
        ends = self.edges[np.isfinite(self.edges)]
        point = np.interp(places, np.arange(len(ends)), ends)
        room = np.minimum(point - ends[0], ends[-1] - point)
        wide = np.isfinite(np.diff(self.edges)) & (np.diff(self.edges) > 0)
        low, width = self.edges[:-1][wide], np.diff(self.edges)[wide]
        half = np.minimum(halves, room)[:, None]
        half = np.where(half > NEGLIGIBLE * width.min(initial=np.inf), half, 0.0)
        above, below = ((point[:, None] + sign * half - low) / width for sign in (1, -1))
        mean = width * (area(above) - area(below)) / np.where(half > 0, 2 * half, 1.0)
        scores[:, wide] = np.where(half > 0, mean, scores[:, wide])
        return self.ratios(group, scores)

    def numbers(self, places: Floats) -> Floats:
        """Return the numbers at some places; infinite within an open band."""
        finite = self.edges[np.isfinite(self.edges)]
        found = np.interp(places, np.arange(len(finite)), finite)
        return np.where(places > len(finite) - 1, np.inf, found)

    def mean(self, scores: Floats, quantity: str) -> Estimate:
        """Return the mean of (G, S) scores in every group."""
        found = self.ratios(np.arange(self.many), scores)
        cells = self.grouped[1] or {self.column: ["all"]}
        return of_ratios(self.estimate, found, cells, quantity=quantity)


def area(t: Floats) -> Floats:
    """Return the integral of min(max(s, 0), 1) up to t."""
    inside = np.clip(t, 0.0, 1.0)
    return np.asarray(inside**2 / 2 + np.maximum(t - 1.0, 0.0))


def quantiles_of(banded: Banded, shares: Sequence[float]) -> Estimate:
    e = banded.estimate
    group = np.repeat(np.arange(banded.many), len(shares))
    wanted = np.tile(shares, banded.many)
    rough, _ = first_look(banded, group, wanted, halves=np.zeros(len(wanted)))
    halves = half_lengths(banded, group, rough)
    _, read = first_look(banded, group, wanted, halves=halves)
    found = located(banded, group, wanted, read, halves=halves)
    rank = np.argsort(np.argsort(shares))
    found = np.sort(found.reshape(banded.many, -1, 3), axis=1)[:, rank].reshape(-1, 3)
    at, last = found[:, 0], len(banded.labels) - banded.is_open
    values = np.where(at > last, np.nan, banded.numbers(np.nan_to_num(at)))
    values = np.where(np.isnan(at), np.nan, values)
    lower, upper = banded.numbers(np.minimum(found[:, 2], last)), banded.numbers(found[:, 1])
    open_ones = int((at > last).sum())
    errors = (upper - lower) / (2 * normal_quantile(e.level))
    known = np.isfinite(at) & np.isfinite(errors)
    # quantiles hang together as the shares up to them do
    shares_up_to = banded.shares_below(group, np.where(known, at, 0.0)).covariance()
    scale = np.sqrt(np.maximum(np.diag(shares_up_to), 0.0))
    product, alike = np.outer(scale, scale), np.zeros_like(shares_up_to)
    np.divide(shares_up_to, product, out=alike, where=product > 0)
    np.fill_diagonal(alike, 1.0)
    own = np.where(known, errors, np.nan)
    others = {name: [cell[i] for i in group] for name, cell in banded.grouped[1].items()}
    note = (
        f"{open_ones} of {len(values)} quantiles lie in the open band {banded.labels[-1]!r}; "
        "high= says where it ends."
    )
    return replace(
        e,
        cells={**others, "share": wanted.tolist()},
        probabilities=values,
        standard_errors=errors,
        lower=lower,
        upper=upper,
        covariance_parts=Known(alike * np.outer(own, own)),
        quantity="quantile",
        given=(),
        notes=(note,) if open_ones else (),
    )


def first_look(
    banded: Banded, group: Integers, shares: Floats, *, halves: Floats
) -> tuple[Floats, list[Floats]]:
    """Return about where shares are reached, and the places at which to read curves for more.

    By the averaged shares up to the edges of bands, with normal intervals.
    """
    size, edges = len(banded.labels), np.arange(len(banded.labels) + 1.0)
    of = np.repeat(np.arange(len(group)), size + 1)
    ratios = banded.shares_below(group[of], np.tile(edges, len(group)), halves[of])
    centre, errors = (part.reshape(-1, size + 1) for part in with_errors(ratios))
    fitted = np.where(np.isfinite(errors), ratios.values.reshape(centre.shape), centre)
    reach = (normal_quantile(banded.estimate.level) + FARTHER) * errors
    high, low = np.maximum(centre + reach, fitted), np.minimum(centre - reach, fitted)
    for curve in (centre, high, low):
        curve[:, 0], curve[:, -1] = 0.0, 1.0
    at, read = np.empty(len(group)), []
    for i, share in enumerate(shares):
        at[i] = reached(edges, np.sort(centre[i]), share)
        start = max(int(np.flatnonzero(high[i] >= share)[0]) - 1, 0)
        stop = int(np.flatnonzero(low[i] < share)[-1]) + 1
        parts = max(stop - start, 1) / FINEST
        every = FINEST * max(1.0, np.ceil(parts / MOST_READ))
        read.append(np.append(np.arange(start, max(stop, start + 1), every), max(stop, start + 1)))
    return at, read


def half_lengths(banded: Banded, group: Integers, at: Floats) -> Floats:
    """Return the half length of an interval over which shares have been averaged that far.

    The least of some distances that is not below the half length it leaves, or that half length; no
    distance where nothing is known.
    """
    z = normal_quantile(banded.estimate.level)
    ends = banded.edges[np.isfinite(banded.edges)]
    least = FINEST * np.diff(ends)[np.diff(ends) > 0].min()
    many = int(np.ceil(np.log((ends[-1] - ends[0]) / least) / np.log(WIDER))) + 1
    tried = least * WIDER ** np.arange(many)
    of, halves = np.repeat(np.arange(len(group)), many), np.tile(tried, len(group))
    x = np.interp(at, np.arange(len(ends)), ends)
    _, errors = with_errors(banded.shares_below(group[of], at[of], halves))
    outer = [
        banded.shares_below(
            group[of], np.interp(x[of] + sign * halves, ends, np.arange(len(ends)))
        ).values
        for sign in (1, -1)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        left = z * errors * 2 * halves / (outer[0] - outer[1])
    fits = (halves >= left).reshape(-1, many)
    first = np.argmax(fits, axis=1)
    return np.where(fits.any(axis=1), left.reshape(-1, many)[np.arange(len(group)), first], 0.0)


def with_errors(ratios: Ratios) -> tuple[Floats, Floats]:
    """Return unbiased shares and their errors; one half, and infinite, where nothing is known."""
    whole = ratios.bottom @ ratios.answers.unbiased
    known = (whole > 0) & np.isfinite(ratios.standard_errors)
    share = ratios.top @ ratios.answers.unbiased / np.where(known, whole, 1.0)
    return np.where(known, share, 0.5), np.where(known, ratios.standard_errors, np.inf)


def located(
    banded: Banded, group: Integers, shares: Floats, read: Sequence[Floats], *, halves: Floats
) -> Floats:
    """Return the places where shares are reached by their curve and by both ends of its intervals.

    Curves are averaged over numbers so far from each place.
    """
    sizes = [len(own) for own in read]
    of, places = np.repeat(np.arange(len(read)), sizes), np.concatenate(read)
    ratios = banded.shares_below(group[of], places, halves[of])
    lower, upper = ratios.intervals(level=banded.estimate.level)
    before, after = places <= 0, places >= len(banded.labels)
    curves = [
        np.where(after, 1.0, np.where(before, 0.0, curve))
        for curve in (ratios.values, lower, upper)
    ]
    first = np.cumsum([0, *sizes])
    return np.array(
        [
            [reached(own, np.sort(curve[a:b]), share) for curve in curves]
            for own, share, (a, b) in zip(read, shares, pairwise(first), strict=True)
        ]
    )


def reached(places: Floats, curve: Floats, share: float) -> float:
    """Return where an increasing curve reaches a share, interpolated; not a number if unknown.

    >>> reached(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 1.0]), 0.75)
    2.0
    """
    if np.isnan(curve).any():
        return np.nan
    at = int(np.searchsorted(curve, share))
    if at == 0 or at == len(curve):
        return float(places[min(at, len(curve) - 1)])
    part = (share - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(places[at - 1] + part * (places[at] - places[at - 1]))


@value(eq=False, repr=False)
class Distribution(Display, Tidy):
    """What an estimate says of the numbers behind the bands of a column.

    Attributes
    ----------
    column : str
    edges : (S + 1,) array
        Where the bands begin, and where the last one ends: infinite if it is open.
    quantiles : Estimate
        In the order of the groups and shares; not a number in an open band.
    mean, variance, standard_deviation : Estimate
        One for each combination of the other columns. They need an end of the last band.
    cumulative : Estimate
        The share of numbers below the end of each band.
    table : frame
        Means, spreads and quantiles with their errors and intervals.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.geometric(["0-14", "15-29", "30-59", "60+"], 1.5)
    >>> e = pramble.estimate([300, 250, 300, 150], m, counts=True)
    >>> d = e.distribution(high=90)
    >>> d
    Distribution of 'category' in 4 bands, from 1,000 records (95 % intervals)
    ------------------------------------------------
    statistic           value  std err   from     to
    ------------------------------------------------
    mean                 31.1   0.8467  29.46  32.78
    variance            459.3    30.23  402.2  520.8
    standard deviation  21.43   0.7053  20.05  22.82
    0.25 quantile        12.8    0.922  11.17  14.78
    0.5 quantile        28.07    1.333  25.69  30.92
    0.75 quantile       46.97    1.112  44.82  49.17
    ------------------------------------------------
    Numbers count as spread evenly within each band.
    >>> e.distribution(high=60).mean.values.round(2)  # whoever is above 60 counts as 60
    array([29.87])
    """

    banded: Banded
    quantiles: Estimate

    @property
    def column(self) -> str:
        """The column of bands."""
        return self.banded.column

    @property
    def edges(self) -> Floats:
        """Where the bands begin, and where the last one ends."""
        return self.banded.edges

    @cached_property
    def mean(self) -> Estimate:
        """The mean in every group."""
        return self.banded.mean(np.tile(self.middles, (self.banded.many, 1)), "mean")

    @cached_property
    def variance(self) -> Estimate:
        """The variance in every group."""
        away = self.middles - self.mean.values[:, None]
        scores = np.where(np.isfinite(away), away, 0.0) ** 2 + np.diff(self.edges) ** 2 / 12
        return self.banded.mean(scores, "variance")

    @cached_property
    def standard_deviation(self) -> Estimate:
        found = self.variance
        root = np.sqrt(found.values)
        slope = np.divide(0.5, root, out=np.full(root.shape, np.nan), where=root > 0)
        return replace(
            found,
            probabilities=root,
            standard_errors=found.standard_errors * slope,
            lower=np.sqrt(found.lower),
            upper=np.sqrt(found.upper),
            covariance_parts=Known(found.covariance * np.outer(slope, slope)),
            quantity="standard deviation",
        )

    @cached_property
    def cumulative(self) -> Estimate:
        """The share of numbers below the end of each band, in every group."""
        banded, size = self.banded, len(self.banded.labels)
        group = np.repeat(np.arange(banded.many), size)
        scores = np.tile(np.tri(size), (banded.many, 1))
        others = {name: [cell[i] for i in group] for name, cell in banded.grouped[1].items()}
        cells: dict[str, list[Any]] = {**others, banded.column: list(banded.labels) * banded.many}
        found = banded.ratios(group, scores)
        return of_ratios(banded.estimate, found, cells, quantity="share up to")

    @property
    def middles(self) -> Floats:
        """The middles of the bands."""
        if self.banded.is_open:
            raise InvalidInput(
                f"The band {self.banded.labels[-1]!r} is open, and so {self.column!r} has no mean; "
                "say where it ends with high=…, or high= its beginning to count it as that number."
            )
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2)

    @property
    def parts(self) -> list[tuple[str, Estimate]]:
        """What there is, by the name of the statistic of every row."""
        names = () if self.banded.is_open else ("mean", "variance", "standard_deviation")
        found: list[tuple[str, Estimate]] = [(n.replace("_", " "), getattr(self, n)) for n in names]
        return [*found, ("quantile", self.quantiles)]

    @property
    def backend(self) -> str:  # type: ignore[override]
        """The library of frames that the data came from."""
        return str(self.banded.estimate.backend)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        others = list(self.banded.grouped[1])
        names = (*others, "statistic", "value", "standard_error", "lower", "upper")
        answer: dict[str, list[Any]] = {name: [] for name in names}
        for statistic, part in self.parts:
            shares = part.cells["share"] if statistic == "quantile" else ()
            own = [f"{share:g} {statistic}" for share in shares]
            answer["statistic"] += own or [statistic] * len(part.values)
            for name in others:
                answer[name] += list(part.cells[name])
            figures = (part.values, part.standard_errors, part.lower, part.upper)
            for name, figure in zip(names[-4:], figures, strict=True):
                answer[name] += figure.tolist()
        return answer

    def shown(self) -> Grid:
        """Return every statistic with its interval."""
        *labels, values, errors, lower, upper = self.columns().values()
        figures = zip(values, errors, lower, upper, strict=True)
        rows = [
            [*map(str, cell), *(number(own, 4) for own in numbers)]
            for cell, numbers in zip(zip(*labels, strict=True), figures, strict=True)
        ]
        e = self.banded.estimate
        return Grid(
            f"Distribution of {self.column!r} in {len(self.banded.labels):,} bands, from "
            f"{e.n:,.0f} records ({100 * e.level:g} % intervals)",
            [*list(self.banded.grouped[1]), "statistic", "value", "std err", "from", "to"],
            rows,
            left=len(labels),
            notes=tuple(dict.fromkeys(note for _, part in self.parts for note in part.notes)),
            below="Numbers count as spread evenly within each band.",
        )

    def plot(self) -> Figure:
        from pramble.plots.estimates import distribution_figure

        return distribution_figure(self)


def distribution(
    e: Estimate,
    column: str | None = None,
    *,
    edges: Sequence[float] | None = None,
    high: float | None = None,
    shares: Sequence[float] = QUARTERS,
    leave_out: Sequence[Label] = (),
) -> Distribution:
    """Return mean, spread and quantiles of the numbers behind a column of bands.

    Within each combination of the other columns, with numbers spread evenly within each band
    (:mod:`pramble.estimation.follow.numbers`).

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
    """
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
    return Distribution(banded, quantiles_of(banded, checked_shares(shares)))

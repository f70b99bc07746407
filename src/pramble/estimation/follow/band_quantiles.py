r"""Quantiles of the numbers behind bands.

A quantile is where the share F(x) of numbers up to x reaches a share q, and its interval holds the
x whose interval of F(x) holds q (Woodruff 1952).

Randomisation lets the errors of F differ between neighbouring edges by more than F does, the more
so the finer the bands. F is therefore averaged over the numbers within h of x, with h half the
length of the interval that this leaves, :math:`h = z\,\mathrm{se}(\bar F_h) / \bar f_h`. That takes
the density for even over the length of the interval, as linearised errors do everywhere; :math:`h
f'/6f` of half the interval is what a sloping density f costs. Where the curves of F and of both
ends of its intervals fall all the same, they are put in increasing order, which brings them nearer
to any increasing curve (Chernozhukov, Fernández-Val and Galichon 2009).

The standard error is the length of the interval over that of a standard normal one.

A table with a column of bands: means of scores of the bands, and shares up to a place.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.estimation.follow.functions import groups, matrix, ratios_of, told
from pramble.estimation.follow.ratios import Ratios
from pramble.estimation.inverse.moments import Known
from pramble.values import Floats, Integers, value

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pramble.estimation.follow.result import Estimate


NEGLIGIBLE = 1e-4
"""Distances of averaging, as a part of the narrowest band, below which there is none."""


@value(eq=False)
class Banded:
    """A table with a column of bands, and where they begin and end."""

    estimate: "Estimate"
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
        """Which combination of the other columns each cell has, and all of them."""
        return groups(self.estimate.cells, [n for n in self.estimate.cells if n != self.column])

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
        mix: csr_array = whole.copy()
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

    def mean(self, scores: Floats, quantity: str) -> "Estimate":
        """Return the mean of (G, S) scores in every group."""
        found = self.ratios(np.arange(self.many), scores)
        cells = self.grouped[1] or {self.column: ["all"]}
        return told(self.estimate, found, cells, quantity=quantity)


def area(t: Floats) -> Floats:
    """Return the integral of min(max(s, 0), 1) up to t."""
    inside = np.clip(t, 0.0, 1.0)
    return np.asarray(inside**2 / 2 + np.maximum(t - 1.0, 0.0))


FINEST, MOST_READ = 0.25, 100
"""The step, in bands, at which curves are read, and about how many places are read in all."""

WIDER = 2**0.5
"""The ratio of the distances that are tried for averaging."""

FARTHER = 3.0
"""Standard errors beyond an interval's own in which its ends are looked for."""


def quantiles_of(banded: Banded, shares: Sequence[float]) -> "Estimate":
    """Return the numbers below which given shares lie, in every group."""
    from scipy.special import ndtri

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
    errors = (upper - lower) / (2 * ndtri((1 + e.level) / 2))
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
        covariance_parts=Known(joint_covariance(banded, group, at, errors)),
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
    from scipy.special import ndtri

    size, edges = len(banded.labels), np.arange(len(banded.labels) + 1.0)
    of = np.repeat(np.arange(len(group)), size + 1)
    ratios = banded.shares_below(group[of], np.tile(edges, len(group)), halves[of])
    centre, errors = (part.reshape(-1, size + 1) for part in with_errors(ratios))
    fitted = np.where(np.isfinite(errors), ratios.values.reshape(centre.shape), centre)
    reach = (ndtri((1 + banded.estimate.level) / 2) + FARTHER) * errors
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
    from scipy.special import ndtri

    z = ndtri((1 + banded.estimate.level) / 2)
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


def joint_covariance(banded: Banded, group: Integers, places: Floats, errors: Floats) -> Floats:
    """Return the covariance of quantiles: correlated as the shares below them are."""
    known = np.isfinite(places) & np.isfinite(errors)
    shares = banded.shares_below(group, np.where(known, places, 0.0)).covariance()
    scale = np.sqrt(np.maximum(np.diag(shares), 0.0))
    product = np.outer(scale, scale)
    alike = np.divide(shares, product, out=np.zeros_like(shares), where=product > 0)
    np.fill_diagonal(alike, 1.0)
    own = np.where(known, errors, np.nan)
    return np.asarray(alike * np.outer(own, own))

r"""Quantiles of the numbers behind bands.

A quantile is where the share F(x) of numbers up to x reaches a share q, and its interval holds the
x whose interval of F(x) holds q (Woodruff 1952). Both are read at four places in each band.

Where the interval is longer than a band, the errors of F at neighbouring edges differ more than F
does. F is then averaged over one band's width about x, which for a smooth density is off by a third
of what even spread within bands may be; over the length of the interval, if that is less. Where the
curves of F and of both ends of its intervals fall all the same, they are put in increasing order,
which brings them nearer to any increasing curve (Chernozhukov, Fernández-Val and Galichon 2009). If
intervals are many bands long they cover more often than their level.

The standard error is the length of the interval over that of a standard normal one.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pramble.estimation.banded import Banded
from pramble.estimation.weighing import Known
from pramble.values import Floats, Integers

if TYPE_CHECKING:
    from pramble.estimation.result import Estimate

PLACES = 4
"""Places in each band at which the curves are read."""

MOST_FINE = 200
"""Bands among which a quantile may lie, above which curves are read at their edges alone."""

FARTHER = 3.0
"""Standard errors beyond an interval's own in which its ends are looked for."""


def quantiles_of(banded: Banded, shares: Sequence[float]) -> "Estimate":
    """Return the numbers below which given shares lie, in every group."""
    from scipy.special import ndtri

    e = banded.estimate
    group = np.repeat(np.arange(banded.many), len(shares))
    wanted = np.tile(shares, banded.many)
    spans, halves = first_look(banded, group, wanted)
    read = [np.arange(*span) for span in spans]
    found = located(banded, group, wanted, read, halves=halves)
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
    banded: Banded, group: Integers, shares: Floats
) -> tuple[list[tuple[float, float, float]], Floats]:
    """Return the places at which to read the curves for each quantile, and how far to average.

    By the shares up to the edges of bands, with normal intervals: each quantile and its interval
    lie between two places, which come with a step; half of the interval is the distance.
    """
    from scipy.special import ndtri

    last = len(banded.labels) - banded.is_open
    size, z = len(banded.labels), ndtri((1 + banded.estimate.level) / 2)
    every = np.repeat(np.arange(banded.many), size - 1)
    ratios = banded.shares_below(every, np.tile(np.arange(1, size), banded.many))
    whole = ratios.bottom @ ratios.answers.unbiased
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = ratios.top @ ratios.answers.unbiased / whole
    errors = np.where(np.isfinite(centre) & (whole > 0), ratios.standard_errors, np.inf)
    centre = np.where(np.isfinite(errors), centre, 0.5)
    fitted = np.where(np.isfinite(errors), ratios.values, 0.5)
    spans: list[tuple[float, float, float]] = []
    halves = np.zeros(len(shares))
    for i, (own, share) in enumerate(zip(group, shares, strict=True)):
        part = slice(own * (size - 1), (own + 1) * (size - 1))
        reach = (z + FARTHER) * errors[part]
        above = np.flatnonzero(np.maximum(centre[part] + reach, fitted[part]) >= share)
        below = np.flatnonzero(np.minimum(centre[part] - reach, fitted[part]) < share)
        start = int(above[0]) if above.size else size - 1
        stop = max(int(below[-1]) + 2 if below.size else 1, start + 1)
        step = 1 / PLACES if stop - start <= MOST_FINE else 1.0
        spans.append((start, stop + step / 2, step))
        spread = z * np.minimum(errors[part], 1.0)
        curves = (centre[part] + spread, centre[part], centre[part] - spread)
        ends = [
            reached(np.arange(size + 1.0), np.r_[0.0, np.sort(np.clip(curve, 0, 1)), 1.0], share)
            for curve in curves
        ]
        length = float(np.diff(banded.numbers(np.minimum([ends[0], ends[2]], last)))[0])
        width = np.diff(banded.edges)[min(int(ends[1]), size - 1)]
        halves[i] = min(length, width) / 2 if np.isfinite(width) else 0.0
    return spans, halves


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

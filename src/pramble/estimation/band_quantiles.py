r"""Quantiles of the numbers behind bands.

A quantile is where F reaches a share q, and its interval holds the x whose interval of F(x) holds q
(Woodruff 1952); it is read off at four places in each band. Randomisation can make the curves of F
and of both ends of its intervals fall; they are put in increasing order first, which brings them
nearer to any increasing curve (Chernozhukov, Fernández-Val and Galichon 2009). Where the errors of
neighbouring bands are as large as their shares, the interval then covers more often than its level.
Its standard error is its length over that of a standard normal interval.
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
    read = [np.arange(*span) for span in spans(banded, group, wanted)]
    curves = curves_at(banded, np.repeat(group, [len(own) for own in read]), np.concatenate(read))
    first = np.cumsum([0, *(len(own) for own in read)])
    found = np.array(
        [
            [reached(own, np.sort(curve[a:b]), share) for curve in curves]
            for own, share, (a, b) in zip(read, wanted, pairwise(first), strict=True)
        ]
    )
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


def spans(banded: Banded, group: Integers, shares: Floats) -> list[tuple[float, float, float]]:
    """Return the places between which each quantile and its interval must lie, and their step."""
    from scipy.special import ndtri

    size = len(banded.labels)
    inner = np.arange(1, size)
    every = np.repeat(np.arange(banded.many), size - 1)
    ratios = banded.shares_below(every, np.tile(inner, banded.many))
    whole = ratios.bottom @ ratios.answers.unbiased
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = ratios.top @ ratios.answers.unbiased / whole
    reach = (ndtri((1 + banded.estimate.level) / 2) + FARTHER) * ratios.standard_errors
    unknown = ~np.isfinite(reach) | ~np.isfinite(centre) | (whole <= 0)
    high = np.where(unknown, np.inf, np.fmax(centre + reach, ratios.values))
    low = np.where(unknown, -np.inf, np.fmin(centre - reach, ratios.values))
    answer: list[tuple[float, float, float]] = []
    for own, share in zip(group, shares, strict=True):
        part = slice(own * (size - 1), (own + 1) * (size - 1))
        above = np.flatnonzero(high[part] >= share)
        below = np.flatnonzero(low[part] < share)
        start = int(above[0]) if above.size else size - 1
        stop = max(int(below[-1]) + 2 if below.size else 1, start + 1)
        step = 1 / PLACES if stop - start <= MOST_FINE else 1.0
        answer.append((start, stop + step / 2, step))
    return answer


def curves_at(banded: Banded, group: Integers, places: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the shares below places, and the ends of their intervals."""
    ratios = banded.shares_below(group, places)
    lower, upper = ratios.intervals(level=banded.estimate.level)
    before, after = places <= 0, places >= len(banded.labels)
    curves = [
        np.where(after, 1.0, np.where(before, 0.0, curve))
        for curve in (ratios.values, lower, upper)
    ]
    return curves[0], curves[1], curves[2]


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

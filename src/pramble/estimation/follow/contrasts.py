r"""Differences and ratios of estimates, with intervals that join those of both.

With the distances :math:`d_1 = r_1 - l_1` and :math:`d_2 = u_2 - r_2` to the ends of two intervals,
and the correlation ρ of the estimates (MOVER, Zou and Donner 2008),

.. math:: l = r_1 - r_2 - \sqrt{d_1^2 + d_2^2 - 2\rho d_1 d_2} .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import label_key
from pramble.errors import InvalidInput
from pramble.estimation.follow.functions import (
    column_of,
    inner_values,
    linearised,
    refuse_unknown,
)
from pramble.values import Floats, Integers

if TYPE_CHECKING:
    from pramble.estimation.follow.result import Estimate


def contrast(
    e: Estimate, column: str, one: Any, other: Any, *, kind: str = "difference"
) -> Estimate:
    """Return the difference, or the "ratio", of the estimates for two labels of a column."""
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}; found {kind!r}.")
    own = [label_key(label) for label in column_of(e, column)]
    refuse_unknown(e, column, (one, other))
    others = [name for name in e.cells if name != column]
    rest = list(zip(*(e.cells[name] for name in others), strict=True)) or [()] * len(own)
    where: dict[Any, dict[Any, int]] = {}
    for i, (label, cell) in enumerate(zip(own, rest, strict=True)):
        where.setdefault(tuple(map(label_key, cell)), {})[label] = i
    pairs = [
        (found[label_key(one)], found[label_key(other)])
        for found in where.values()
        if label_key(one) in found and label_key(other) in found
    ]
    a, b = np.array(pairs, dtype=np.int64).T
    values, by_one, by_other, ends = KINDS[kind](e, a, b)
    gradient = np.zeros((len(a), len(e.values)))
    gradient[np.arange(len(a)), a], gradient[np.arange(len(a)), b] = by_one, by_other
    names = {name: [e.cells[name][i] for i in a] for name in others}
    cells = {column: [f"{one} against {other}"] * len(a), **names}
    return linearised(e, values, gradient, cells, quantity=kind, ends=ends)


# Values, their derivatives by the one and by the other estimate, and the ends of intervals.
Contrast = tuple[Floats, Any, Any, tuple[Floats, Floats]]


def difference(e: Estimate, a: Integers, b: Integers) -> Contrast:
    r, rho = inner_values(e), correlations(e, a, b)
    down, up = (r - e.lower, e.upper - r)
    middle = r[a] - r[b]
    ends = middle - joined(down[a], up[b], rho), middle + joined(up[a], down[b], rho)
    return e.values[a] - e.values[b], 1.0, -1.0, ends


def quotient(e: Estimate, a: Integers, b: Integers) -> Contrast:
    r"""Return ratios: μ is in the interval if the joined interval of :math:`r_1 - \mu r_2` holds 0.

    The end is open where the other estimate may be zero.
    """
    r, rho = inner_values(e), correlations(e, a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = e.values[a] / e.values[b]
    finite = np.isfinite(values)
    safe = np.where(finite, e.values[b], 1.0)
    by_one, by_other = np.where(finite, 1 / safe, np.nan), np.where(finite, -values / safe, np.nan)
    low = ratio_end(r[a], r[b], r[a] - e.lower[a], e.upper[b] - r[b], rho, sign=-1)
    high = ratio_end(r[a], r[b], e.upper[a] - r[a], r[b] - e.lower[b], rho, sign=1)
    high = np.where(e.lower[b] <= 0, np.inf, high)
    return values, by_one, by_other, (np.maximum(low, 0.0), high)


KINDS = {"difference": difference, "ratio": quotient}


def ratio_end(r: Floats, s: Floats, d: Floats, c: Floats, rho: Floats, *, sign: int) -> Floats:
    r"""Return the root of :math:`(r - \mu s)^2 = d^2 + \mu^2c^2 - 2\rho\mu dc` on one side."""
    A, B, C = s**2 - c**2, r * s - rho * d * c, r**2 - d**2
    root = np.sqrt(np.maximum(B**2 - A * C, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (B + sign * root) / A
        other = C / (B - sign * root)  # the same root, exact where A is next to zero
    return np.asarray(np.where(np.abs(A) > 1e-12 * s**2, found, other))


def joined(d: Floats, c: Floats, rho: Floats) -> Floats:
    """Return the distance of an end of a difference from its middle."""
    return np.asarray(np.sqrt(np.maximum(d**2 + c**2 - 2 * rho * d * c, 0.0)))


def correlations(e: Estimate, a: Integers, b: Integers) -> Floats:
    """Return the correlation of pairs of estimates; zero where one has no error."""
    scale = np.sqrt(np.maximum(np.diag(e.covariance), 0.0))
    product = scale[a] * scale[b]
    known = product > 0
    return np.asarray(np.where(known, e.covariance[a, b] / np.where(known, product, 1.0), 0.0))

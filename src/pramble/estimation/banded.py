"""A table with a column of bands: means of scores of the bands, and shares up to a place."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.estimation.functions import groups, matrix, ratios_of, told
from pramble.estimation.ratios import Ratios
from pramble.values import Floats, Integers, value

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pramble.estimation.result import Estimate

NEGLIGIBLE = 1e-4
"""Distances of averaging, as a part of the narrowest band, below which there is none."""


@value(eq=False)
class Banded:
    """A table with a column of bands, and where they begin and end.

    Attributes
    ----------
    estimate : Estimate
    column : str
    labels : tuple
        The bands in order.
    edges : (S + 1,) array
        Infinite at the end if the last band is open.
    """

    estimate: "Estimate"
    column: str
    labels: tuple[Label, ...]
    edges: Floats

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
        """The number of combinations of the other columns."""
        return int(self.grouped[0].max()) + 1

    @property
    def is_open(self) -> bool:
        """Whether the last band has no end."""
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

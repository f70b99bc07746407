r"""Shares of a part in a whole, and means of scores: ratios of sums of cells.

A ratio :math:`r = t\cdot p / b\cdot p`, as the share of the employed among women, or the mean score
of a group, has the linearised error

.. math:: g = (t - \hat r\, b)/(b \cdot \hat p), \qquad \operatorname{Var}(\hat r) = g^\top V g .

Its interval (Fieller 1954) holds every :math:`\mu` for which :math:`t\cdot\tilde p - \mu\,b \cdot
\tilde p` is not too far from zero. With :math:`y = t\cdot\tilde p / b\cdot\tilde p` that is a test
of the mean :math:`\mu` at the variance

.. math:: \frac{R(t - \mu b,\, t - \mu b) + f\, s_b\,(E_\mu[x^2] - \mu^2)}{(b\cdot\tilde p)^2},

in which sampling counts as it does under a law with that very mean
(:mod:`pramble.estimation.inverse.intervals`); near the ends of the range it becomes one-sided
(:mod:`pramble.estimation.inverse.intervals`). Where the whole itself cannot be told from zero,
nothing is known of the ratio, and its interval is the whole range.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramble.estimation.inverse.intervals import Candidates, candidates_of, unified_interval
from pramble.estimation.inverse.layout import Layout
from pramble.estimation.inverse.moments import Answers, batches, covariance_of, inner_point
from pramble.values import Floats, value

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@value(eq=False)
class Ratios:
    """Ratios of sums of the cells of a table."""

    answers: Answers
    # (Q, K): weights of the cells. Where the bottom weighs nothing the top does not either
    top: "csr_array"
    bottom: "csr_array"

    @property
    def layout(self) -> Layout:
        return self.answers.layout

    def __len__(self) -> int:
        return int(self.top.shape[0])

    def of(self, mix: "csr_array", whole: "csr_array | None" = None) -> "Ratios":
        """Return ratios of sums: of the tops, to the bottoms or to sums of the tops.

        Without ``whole`` all ratios that are summed must have the same bottom.
        """
        if whole is not None:
            return Ratios(self.answers, mix @ self.top, whole @ self.top)
        first = mix.indices[mix.indptr[:-1]]
        return Ratios(self.answers, mix @ self.top, self.bottom[first])

    @cached_property
    def values(self) -> Floats:
        """The ratios of the fitted cells; not a number where the whole is empty."""
        top, bottom = self.top @ self.answers.p, self.bottom @ self.answers.p
        empty = np.full(len(self), np.nan)
        return np.asarray(np.divide(top, bottom, out=empty, where=bottom > 0))

    @cached_property
    def ranges(self) -> Floats:
        """How far the largest value that each ratio can have is above the smallest."""
        found = [
            range_of(self.top[some].toarray(), self.bottom[some].toarray())[1]
            for some in batches(len(self), self.width)
        ]
        wide = np.concatenate(found)
        return np.where(wide > 0, wide, np.inf)

    @property
    def width(self) -> int:
        return max(self.answers.width, int(self.top.shape[1]))

    def gradient(self, some: Any = slice(None)) -> Floats:
        """Return the derivatives g of some ratios in the cells; zeros where nothing is known."""
        bottom = self.bottom[some].toarray()
        whole = bottom @ self.answers.p
        known = whole > 0
        scale = np.where(known, whole, 1.0)[:, None]
        values = np.where(known, self.values[some], 0.0)[:, None]
        parts = self.top[some].toarray() - values * bottom
        return np.asarray(np.where(known[:, None], parts / scale, 0.0))

    def covariance(self) -> Floats:
        """Return the (Q, Q) covariance of the ratios; not a number where nothing is known."""
        found = covariance_of(self.answers, self.gradient())
        unknown = np.isnan(self.values)
        found[unknown] = np.nan
        found[:, unknown] = np.nan
        return found

    @cached_property
    def standard_errors(self) -> Floats:
        """The linearised standard errors; infinite where nothing is known."""
        found = np.empty(len(self))
        for some in batches(len(self), self.width):
            g = self.gradient(some)
            sampled = self.answers.sampling * (g**2 @ self.answers.squares)
            found[some] = self.answers.products(g, g) + sampled
        return np.where(np.isnan(self.values), np.inf, np.sqrt(np.maximum(found, 0.0)))

    def intervals(self, *, level: float) -> tuple[Floats, Floats]:
        found = [self.some_intervals(some, level=level) for some in batches(len(self), self.width)]
        lower, upper = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return lower, upper

    def known(self, bottom: Floats, *, level: float) -> NDArray[np.bool_]:
        """Return which wholes can be told from nothing."""
        from scipy.special import ndtri

        answers = self.answers
        D, s = bottom @ answers.unbiased, bottom @ answers.squares
        size = s - 2 * D * s + D**2 * answers.squares.sum()
        spread = np.maximum(answers.products(bottom, bottom) + answers.sampling * size, 0.0)
        return np.asarray((D > 0) & (ndtri((1 + level) / 2) ** 2 * spread < D**2))

    def some_intervals(self, some: slice, *, level: float) -> tuple[Floats, Floats]:
        answers, top, bottom = self.answers, self.top[some].toarray(), self.bottom[some].toarray()
        low, width = range_of(top, bottom)
        top = (top - low[:, None] * bottom) / np.where(width > 0, width, 1.0)[:, None]
        known, s = self.known(bottom, level=level), bottom @ answers.squares
        tt, tb, bb = (
            answers.products(*pair) for pair in ((top, top), (top, bottom), (bottom, bottom))
        )
        whole = np.where(known, bottom @ answers.unbiased, 1.0)
        candidates = self.candidates(top, bottom)

        def variance(mu: Floats) -> Floats:
            sampled = answers.sampling * s * np.maximum(candidates.moment(mu) - mu**2, 0.0)
            return np.asarray((tt - 2 * mu * tb + mu**2 * bb + sampled) / whole**2)

        y = np.where(known, top @ answers.unbiased / whole, 0.5)
        lower, upper = unified_interval(y, variance, level=level)
        lower, upper = np.where(known, lower, 0.0), np.where(known, upper, 1.0)
        return low + width * lower, low + width * upper

    def candidates(self, top: Floats, bottom: Floats) -> Candidates:
        """Return the laws of the scores in each whole, for every candidate mean."""
        law = inner_point(self.answers.p, n=1 / float(self.answers.squares.sum()))
        inside = bottom > 0
        share = np.where(inside, top / np.where(inside, bottom, 1.0), 0.0)
        return candidates_of(share, inside * law, share**2)


def range_of(top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    """Return the smallest score in each whole, and how far above it the largest is."""
    inside = bottom > 0
    score = top / np.where(inside, bottom, 1.0)
    low = np.where(inside, score, np.inf).min(axis=1)
    return low, np.where(inside, score, -np.inf).max(axis=1) - low

r"""Where signed weights come from: the patterns of records; and what a sum of them errs.

For a function F of the untouched values w and the cell x, :math:`\sum_{w,x} \omega(w,x) F(w,x)` is
unbiased for the sum of F over records. One record adds :math:`u_i = \sum_x G_{z_i x} F(w_i, x)`, so
the variance is :math:`\sum_i u_i u_i^\top` about zero, and what randomisation alone adds is

.. math:: \sum_i \Bigl( u_i u_i^\top - \sum_x G_{z_i x} F(w_i, x) F(w_i, x)^\top \Bigr) .

G knows how many records each branch of the plan has, so that differences between the means of
branches are no part of either.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from pramble.data.table import totals
from pramble.estimation.inverse.likelihood import nearest_inside
from pramble.estimation.inverse.patterns import Patterns
from pramble.estimation.survey import BranchTally, Survey
from pramble.values import Floats, value

AT_ONCE = 4_000_000
"""Numbers that are held together."""

MOST_KEPT = 8_000_000
"""Signed weights that are kept from step to step."""

Function = Callable[[slice], Floats]
"""From some groups to the values (groups, cells, functions) of several functions."""


@value(eq=False)
class Moments:
    """The covariance of sums: of sampling and randomisation, and of randomisation alone."""

    both: Floats
    randomisation: Floats

    def covers(self, share: float) -> Floats:
        return np.asarray(share * self.both + (1 - share) * self.randomisation)


class Source(Protocol):
    """Signed weights over groups and cells."""

    @property
    def n(self) -> float:
        """Number of records."""

    @property
    def counts(self) -> Floats:
        """The weight of each group."""

    def chunks(self, width: int) -> Iterator[slice]:
        """Yield groups, so many that arrays of that width can be held."""

    def weights(self, some: slice) -> Floats:
        """Return the signed weights of some groups, (groups, cells)."""

    def moments(self, function: Function, width: int) -> Moments:
        """Return the covariance of the sums of several functions."""

    def inside(self) -> Floats | None:
        """Return weights that are nowhere negative, near the signed ones; None if too many."""


@value(eq=False)
class RecordSource:
    """The signed weights of records."""

    patterns: Patterns
    survey: Survey

    @property
    def n(self) -> float:
        return self.patterns.n

    @cached_property
    def counts(self) -> Floats:
        return totals(self.patterns.group, self.patterns.sums, len(self.patterns.groups))

    def chunks(self, width: int) -> Iterator[slice]:
        """Yield groups, so many that arrays of that width can be held."""
        step = max(1, AT_ONCE // (self.patterns.size * width))
        for start in range(0, len(self.patterns.groups), step):
            yield slice(start, min(start + step, len(self.patterns.groups)))

    def pieces(self, some: slice, width: int) -> Iterator[slice]:
        """Yield the patterns of some groups, so many that arrays of that width can be held."""
        starts = self.patterns.starts
        step = max(1, AT_ONCE // (self.patterns.size * width))
        for start in range(int(starts[some.start]), int(starts[some.stop]), step):
            yield slice(start, min(start + step, int(starts[some.stop])))

    def weights(self, some: slice) -> Floats:
        return self.kept[some] if self.kept is not None else self.summed(some, self.patterns.sums)

    @cached_property
    def kept(self) -> Floats | None:
        """All signed weights, where they are few."""
        groups = len(self.patterns.groups)
        if groups * self.patterns.size > MOST_KEPT:
            return None
        parts = [self.summed(some, self.patterns.sums) for some in self.chunks(1)]
        return np.concatenate(parts)

    def summed(self, some: slice, sums: Floats) -> Floats:
        """Return what sums over patterns give for the cells of some groups."""
        answer = np.zeros((some.stop - some.start, self.patterns.size))
        for piece in self.pieces(some, 1):
            group = self.patterns.group[piece] - some.start
            first = np.flatnonzero(np.r_[True, np.diff(group) > 0])
            rows = self.patterns.rows(piece) * sums[piece, None]
            answer[group[first]] += np.add.reduceat(rows, first, axis=0)
        return answer

    def moments(self, function: Function, width: int) -> Moments:
        within, plain = np.zeros((width, width)), np.zeros((width, width))
        tally, branches = self.survey.tally(width), BranchTally(self.patterns, width)
        for some in self.chunks(width):
            F = function(some)
            flat = F.reshape(-1, width)
            own = self.summed(some, self.patterns.squares).reshape(-1, 1)
            within += (flat * own).T @ flat
            for piece in self.pieces(some, width):
                group = self.patterns.group[piece] - some.start
                rows = self.patterns.rows(piece)
                u = rows @ F[0] if len(F) == 1 else np.matmul(rows[:, None, :], F[group])[:, 0]
                plain += (u * self.patterns.squares[piece, None]).T @ u
                tally.add(u, piece)
                branches.add(u, piece)
        known = branches.between()
        return Moments(tally.total(plain) - known, plain - within - known)

    def inside(self) -> Floats | None:
        """Return for each group the nearest cells without negative ones."""
        groups, size = len(self.patterns.groups), self.patterns.size
        if groups * size**2 > AT_ONCE * 10 or groups * 5 > self.n:
            return None
        answer = np.zeros((groups, size))
        for group in range(groups):
            some = slice(group, group + 1)
            covariance = np.zeros((size, size))
            for piece in self.pieces(some, 1):
                rows = self.patterns.rows(piece)
                covariance += (rows.T * self.patterns.squares[piece]) @ rows
            own = self.weights(some)[0]
            total = own.sum()
            if total > 0:
                answer[group] = nearest_inside(own, covariance - np.outer(own, own) / total)
        return answer


@value(eq=False)
class InsideSource:
    """A source whose weights were replaced by ones that are nowhere negative."""

    source: Source
    cells: Floats

    @property
    def n(self) -> float:
        return self.source.n

    @property
    def counts(self) -> Floats:
        return self.source.counts

    def chunks(self, width: int) -> Iterator[slice]:
        """Yield groups, so many that arrays of that width can be held."""
        return self.source.chunks(width)

    def weights(self, some: slice) -> Floats:
        return self.cells[some]

    def moments(self, function: Function, width: int) -> Moments:
        return self.source.moments(function, width)

    def inside(self) -> Floats | None:
        """Return nothing: these are it."""
        return None

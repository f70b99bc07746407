r"""Sampling designs: strata and clusters, in the variance of a sum over records.

With clusters c in strata h and :math:`U_{hc}` the sum of their records,

.. math:: \sum_h \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)(U_{hc} - \bar U_h)^\top ,

where without clusters every record is one. A stratum with one cluster counts about zero.
"""

import numpy as np

from pramble.data.table import totals
from pramble.estimation.patterns import Patterns
from pramble.values import Floats, Integers, value


@value(eq=False)
class Survey:
    """The stratum and the cluster of each pattern; None where there are none."""

    patterns: Patterns
    stratum: Integers | None = None
    cluster: Integers | None = None

    def tally(self, width: int) -> "Tally | ClusterTally | StratumTally":
        """Return what adds up records of some functions."""
        if self.cluster is not None:
            return ClusterTally(self, width)
        return Tally() if self.stratum is None else StratumTally(self, width)


class Tally:
    """Records drawn on their own: their squares are the variance."""

    def add(self, u: Floats, piece: slice) -> None:
        """Take patterns."""

    def total(self, plain: Floats) -> Floats:
        """Return the variance, from the sum of squares."""
        return plain


class ClusterTally:
    """Sums over clusters."""

    def __init__(self, survey: Survey, width: int) -> None:
        assert survey.cluster is not None, "clusters were asked for"
        stratum = np.zeros_like(survey.cluster) if survey.stratum is None else survey.stratum
        pairs = np.stack([stratum, survey.cluster], axis=1)
        known, place = np.unique(pairs, axis=0, return_inverse=True)
        self.place, self.stratum = place.reshape(-1), known[:, 0]
        self.weights = survey.patterns.sums
        self.sums = np.zeros((len(known), width))

    def add(self, u: Floats, piece: slice) -> None:
        """Take patterns."""
        np.add.at(self.sums, self.place[piece], u * self.weights[piece, None])

    def total(self, plain: Floats) -> Floats:
        """Return the variance between clusters."""
        answer = np.zeros_like(plain)
        for stratum in np.unique(self.stratum):
            own = self.sums[self.stratum == stratum]
            if len(own) > 1:
                own = (own - own.mean(axis=0)) * np.sqrt(len(own) / (len(own) - 1))
            answer += own.T @ own
        return answer


class StratumTally:
    """Sums and squares of records by strata."""

    def __init__(self, survey: Survey, width: int) -> None:
        assert survey.stratum is not None, "strata were asked for"
        self.stratum, self.patterns = survey.stratum, survey.patterns
        size = int(self.stratum.max()) + 1
        self.numbers = totals(self.stratum, self.patterns.numbers, size)
        self.sums, self.squares = np.zeros((size, width)), np.zeros((size, width, width))

    def add(self, u: Floats, piece: slice) -> None:
        """Take patterns."""
        own = self.stratum[piece]
        np.add.at(self.sums, own, u * self.patterns.sums[piece, None])
        for stratum in np.unique(own):
            some = own == stratum
            weighted = u[some] * self.patterns.squares[piece][some, None]
            self.squares[stratum] += weighted.T @ u[some]

    def total(self, plain: Floats) -> Floats:
        """Return the variance within strata."""
        answer = np.zeros_like(plain)
        for m, U, squares in zip(self.numbers, self.sums, self.squares, strict=True):
            if m > 1:
                answer += m / (m - 1) * (squares - np.outer(U, U) / m)
            else:
                answer += squares
        return answer


class BranchTally:
    """Sums over the branches of a plan, whose shares are known and so add no variance."""

    def __init__(self, patterns: Patterns, width: int) -> None:
        self.patterns = patterns
        size = int(patterns.branch.max()) + 1
        self.weights = totals(patterns.branch, patterns.sums, size)
        self.squares = totals(patterns.branch, patterns.squares, size)
        self.sums = np.zeros((size, width))

    def add(self, u: Floats, piece: slice) -> None:
        """Take patterns."""
        weighted = u * self.patterns.sums[piece, None]
        np.add.at(self.sums, self.patterns.branch[piece], weighted)

    def between(self) -> Floats:
        """Return what the means of branches differ by, as a sum over records."""
        used = self.weights > 0
        means = self.sums[used] / self.weights[used, None]
        off = means - self.sums.sum(axis=0) / self.weights.sum()
        return np.asarray((off.T * self.squares[used]) @ off)

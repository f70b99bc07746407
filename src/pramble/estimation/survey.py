r"""Sampling designs: strata and clusters, in the variance of a sum over records.

With clusters c in strata h and :math:`U_{hc}` the sum of their records,

.. math:: \sum_h \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)(U_{hc} - \bar U_h)^\top ,

where without clusters every record is one. A stratum with one cluster counts about zero.
"""

from typing import Any, Literal

import numpy as np

from pramble.data.table import totals
from pramble.errors import InvalidInput
from pramble.estimation.inverse.patterns import Patterns
from pramble.values import Floats, Integers, value

ReplicateMethod = Literal["acs", "brr", "jackknife"]
SCALES = {
    "acs": lambda many: 4 / many,
    "brr": lambda many: 1 / many,
    "jackknife": lambda many: (many - 1) / many,
}
"""What squared differences of replicates are multiplied by: successive differences as those of the
American Community Survey, balanced halves, and one cluster left out at a time."""


@value
class Sampled:
    """How the records were sampled, as columns of the data."""

    strata: str | None = None
    clusters: str | None = None
    replicates: tuple[str, ...] = ()  # Columns of replicate weights
    # How they were made: "acs", "brr", "jackknife", or the factor c itself, as 1/(R(1-k)^2) for
    # Fay's
    method: str | float = "acs"

    def __post_init__(self) -> None:
        if self.replicates and self.columns:
            raise InvalidInput("Give strata= and clusters=, or replicates=: they hold both.")
        if isinstance(self.method, str) and self.method not in SCALES:
            raise InvalidInput(
                f"replicate_method is one of {', '.join(SCALES)}, or a factor; found "
                f"{self.method!r}."
            )
        if self.replicates and len(self.replicates) < 2:
            raise InvalidInput("replicates= names two or more columns of weights.")

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.strata, self.clusters) if name is not None]

    @property
    def is_simple(self) -> bool:
        return not self.columns and not self.replicates

    @property
    def scale(self) -> float:
        if isinstance(self.method, str):
            return float(SCALES[self.method](len(self.replicates)))
        return float(self.method)

    def refuse(self, covers: str, weights: Any) -> None:
        """Refuse what does not go with a sampling design."""
        if self.is_simple:
            return
        if covers != "both":
            raise InvalidInput(
                "strata=, clusters= and replicates= are of sampling; covers must be 'both'."
            )
        if self.replicates and weights is None:
            raise InvalidInput("replicates= goes with weights=, the weight that they replace.")


@value(eq=False)
class Survey:
    """The stratum and the cluster of each pattern; None where there are none."""

    patterns: Patterns
    stratum: Integers | None = None
    cluster: Integers | None = None

    @classmethod
    def of(cls, patterns: Patterns, sampled: Sampled) -> "Survey":
        known = patterns.beside
        return cls(
            patterns,
            None if sampled.strata is None else known[sampled.strata],
            None if sampled.clusters is None else known[sampled.clusters],
        )

    def tally(self, width: int) -> "Tally | ClusterTally | StratumTally":
        if self.cluster is not None:
            return ClusterTally(self, width)
        return Tally() if self.stratum is None else StratumTally(self, width)


class Tally:
    """Records drawn on their own: their squares are the variance."""

    def add(self, u: Floats, piece: slice) -> None:
        """Take patterns."""

    def total(self, plain: Floats) -> Floats:
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
        np.add.at(self.sums, self.place[piece], u * self.weights[piece, None])

    def total(self, plain: Floats) -> Floats:
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
        own = self.stratum[piece]
        np.add.at(self.sums, own, u * self.patterns.sums[piece, None])
        for stratum in np.unique(own):
            some = own == stratum
            weighted = u[some] * self.patterns.squares[piece][some, None]
            self.squares[stratum] += weighted.T @ u[some]

    def total(self, plain: Floats) -> Floats:
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
        weighted = u * self.patterns.sums[piece, None]
        np.add.at(self.sums, self.patterns.branch[piece], weighted)

    def between(self) -> Floats:
        """Return what the means of branches differ by, as a sum over records."""
        used = self.weights > 0
        means = self.sums[used] / self.weights[used, None]
        off = means - self.sums.sum(axis=0) / self.weights.sum()
        return np.asarray((off.T * self.squares[used]) @ off)

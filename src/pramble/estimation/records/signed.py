r"""Signed weights: what the distinct patterns of a release say of the original records.

With G a right inverse of the whole randomisation, a record with untouched values w and output z
counts :math:`G_{zx}` for the cell x of the randomised columns, so that

.. math:: \omega(w, x) = \sum_{i:\, w_i = w} c_i\, G_{z_i x}

is unbiased for the number of records with w and x, and :math:`\sum_{w,x} \omega(w,x) F(w,x)` for
the sum of a function F over records. Rows of G are made for some patterns at a time.

One record adds :math:`u_i = \sum_x G_{z_i x} F(w_i, x)`, so the variance is :math:`\sum_i u_i
u_i^\top` about zero, and what randomisation alone adds is

.. math:: \sum_i \Bigl( u_i u_i^\top - \sum_x G_{z_i x} F(w_i, x) F(w_i, x)^\top \Bigr) .

The numbers of records in each branch of a plan are known, so that differences between the means of
branches are no part of either. The cells of a measured table are signed weights as they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, totals
from pramble.data.labels import Label
from pramble.data.records import Records
from pramble.errors import InvalidData, NotIdentifiable
from pramble.estimation.records.channel_tables import (
    gather,
    refuse_large_table,
    refuse_no_weight,
    stacked_places,
)
from pramble.estimation.records.tabulate import (
    ReleasedCells,
    count_released,
    refuse_randomised,
    untouched_groups,
)
from pramble.mechanisms.channel import MOST_BLOCK_CELLS
from pramble.mechanisms.operators.base import InvertibleOperator
from pramble.mechanisms.plan import Plan
from pramble.values import Floats, Integers, value

# Cells of the randomised columns of a regression.
MOST_PATTERN_CELLS = 100_000

# Standard error of a share, whatever the law, above which a column is not told.
MOST_ERROR = 0.5


# Numbers that are held together.
AT_ONCE = 4_000_000

# Signed weights that are kept from step to step.
MOST_WEIGHTS = 8_000_000

# From some groups to the values (groups, cells, functions) of several functions.
Function = Callable[[slice], Floats]


@value(eq=False)
class Moments:
    """The covariance of sums: of sampling and randomisation, and of randomisation alone."""

    both: Floats
    randomisation: Floats

    def covers(self, share: float) -> Floats:
        return np.asarray(share * self.both + (1 - share) * self.randomisation)


@value(eq=False)
class Axis:
    """One block, or all branches: the rows of a right inverse, and which cell each tells of."""

    G: Floats  # (T, S): the right inverse
    M: Floats  # (S, T): the matrix that it inverts
    place: Integers  # (P,): the output that each pattern shows


@value(eq=False)
class RecordSource:
    """The signed weights of records: distinct patterns, sorted by their untouched values."""

    untouched: tuple[str, ...]
    cells: Mapping[str, Integers]  # (K,): the code of its label in each cell
    # by column: categories of randomised columns, values that occur of the others
    labels: Mapping[str, Sequence[Label]]
    groups: Integers  # (W, u): the codes of untouched columns in each combination that occurs
    group: Integers  # (P,): which of them each pattern has
    beside: Mapping[str, Integers]  # (P,): codes of columns that are no part of the model
    axes: tuple[Axis, ...]
    # (P,): what of a plan's branches each pattern shows, as places of those that tell something
    branch: Integers
    # (P,): records of each pattern, their weights, and the squares of these; weights sum to n
    numbers: Floats
    sums: Floats
    squares: Floats
    dropped: Mapping[str, int]  # by column: records without a value in it, which were left out
    backend: str
    strata: str | None = None  # Columns among those beside
    clusters: str | None = None

    @property
    def n(self) -> float:
        return float(self.numbers.sum())

    @property
    def size(self) -> int:
        return int(np.prod([axis.G.shape[1] for axis in self.axes], dtype=np.int64))

    @cached_property
    def starts(self) -> Integers:
        return np.searchsorted(self.group, np.arange(len(self.groups) + 1))

    def rows(self, some: slice) -> Floats:
        answer = np.ones((some.stop - some.start, 1))
        for axis in self.axes:
            own = axis.G[axis.place[some]]
            answer = (answer[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        return answer

    @cached_property
    def counts(self) -> Floats:
        return totals(self.group, self.sums, len(self.groups))

    def chunks(self, width: int) -> Iterator[slice]:
        step = max(1, AT_ONCE // (self.size * width))
        for start in range(0, len(self.groups), step):
            yield slice(start, min(start + step, len(self.groups)))

    def pieces(self, some: slice, width: int) -> Iterator[slice]:
        starts = self.starts
        step = max(1, AT_ONCE // (self.size * width))
        for start in range(int(starts[some.start]), int(starts[some.stop]), step):
            yield slice(start, min(start + step, int(starts[some.stop])))

    def weights(self, some: slice) -> Floats:
        return (
            self.all_weights[some] if self.all_weights is not None else self.summed(some, self.sums)
        )

    @cached_property
    def all_weights(self) -> Floats | None:
        """All signed weights, where they are few."""
        groups = len(self.groups)
        if groups * self.size > MOST_WEIGHTS:
            return None
        parts = [self.summed(some, self.sums) for some in self.chunks(1)]
        return np.concatenate(parts)

    def summed(self, some: slice, sums: Floats) -> Floats:
        answer = np.zeros((some.stop - some.start, self.size))
        for piece in self.pieces(some, 1):
            group = self.group[piece] - some.start
            first = np.flatnonzero(np.r_[True, np.diff(group) > 0])
            rows = self.rows(piece) * sums[piece, None]
            answer[group[first]] += np.add.reduceat(rows, first, axis=0)
        return answer

    def tally(self, width: int) -> "ClusterTally | StratumTally | None":
        beside = self.beside
        stratum = None if self.strata is None else beside[self.strata]
        if self.clusters is not None:
            return ClusterTally(self, width, stratum, beside[self.clusters])
        return None if stratum is None else StratumTally(self, width, stratum)

    def moments(self, function: Function, width: int) -> Moments:
        within, plain = np.zeros((width, width)), np.zeros((width, width))
        tally, branches = self.tally(width), BranchTally(self, width)
        for some in self.chunks(width):
            F = function(some)
            flat = F.reshape(-1, width)
            own = self.summed(some, self.squares).reshape(-1, 1)
            within += (flat * own).T @ flat
            for piece in self.pieces(some, width):
                group = self.group[piece] - some.start
                rows = self.rows(piece)
                u = rows @ F[0] if len(F) == 1 else np.matmul(rows[:, None, :], F[group])[:, 0]
                plain += (u * self.squares[piece, None]).T @ u
                if tally is not None:
                    tally.add(u, piece)
                branches.add(u, piece)
        known = branches.between()
        sampled = plain if tally is None else tally.total()
        return Moments(sampled - known, plain - within - known)


def patterns_of(
    records: Records,
    plan: Plan,
    *,
    by: Sequence[str],
    strata: str | None = None,
    clusters: str | None = None,
    weights: Any = None,
    missing: bool = False,
) -> RecordSource:
    """Return the patterns of some columns; the plan is without products.

    With ``missing``, an empty value of an untouched column is a label, and nothing is refused for
    telling too little.
    """
    beside = [name for name in (strata, clusters) if name is not None]
    refuse_randomised([weights, *beside], plan.columns)
    extra = [name for name in dict.fromkeys(beside) if name not in by]
    channel = plan.channel(by)
    blocks = channel.axes or ()
    refuse_large_table([seen.mechanism.shape[0] for seen in blocks], by, most=MOST_PATTERN_CELLS)
    for seen in blocks:
        refuse_large_table([max(seen.mechanism.shape)], seen.columns, most=MOST_BLOCK_CELLS)
    counted = count_released(records, plan, by=by, beside=extra, weights=weights)
    found, cells, untouched = counted.found, counted.cells, tuple(counted.untouched)
    axes, branch = axes_shown(counted)
    some, dropped = (
        (np.arange(len(found.cells)), {}) if missing else complete_cells(found, untouched)
    )
    if not missing:
        refuse_imprecise(axes, cells, n=float(found.counts[some].sum()))
    codes, labels = found.cells[some], {n: own.values for n, own in channel.labels.items()}
    for axis, name in enumerate(untouched):
        used, codes[:, axis] = np.unique(codes[:, axis], return_inverse=True)
        labels[name] = tuple(found.levels[axis][code] for code in used.tolist())
    groups, group = untouched_groups(replace(found, cells=codes), len(untouched))
    numbers = found.counts[some].astype(np.float64)
    sums, squares = (found.sums[p][some] if found.sums else numbers for p in ((1, 0), (2, 0)))
    refuse_no_weight(sums)
    scale = numbers.sum() / sums.sum()
    return RecordSource(
        untouched=untouched,
        cells={name: np.asarray(cells[name]) for name in by if name in cells},
        labels=labels,
        groups=groups,
        group=group,
        beside={name: codes[:, found.columns.index(name)] for name in beside},
        axes=tuple(replace(axis, place=axis.place[some]) for axis in axes),
        branch=branch[some],
        numbers=numbers,
        sums=sums * scale,
        squares=squares * scale**2,
        dropped=dropped,
        backend=records.backend,
        strata=strata,
        clusters=clusters,
    )


def axes_shown(counted: ReleasedCells) -> tuple[list[Axis], Integers]:
    found, table = counted.found, counted.table
    none = np.zeros(len(found.cells), dtype=np.int64)
    if table is None:
        pairs = zip(counted.blocks, counted.places(), strict=True)
        return [axis_of(seen.mechanism.operator, place) for seen, place in pairs], none
    gathered = gather(table, found, counted.branch_of, group_of=none)
    if gathered is None or gathered[0].lost.shape[1]:
        raise table.refusal()
    operator, _ = gathered
    _, sizes, place = stacked_places(table, found, counted.branch_of)
    branch = np.searchsorted(np.cumsum(sizes), place, side="right")
    return [axis_of(operator.of_group(0), place)], branch


def axis_of(operator: InvertibleOperator, place: Integers) -> Axis:
    G = operator.right_inverse().adjoint(np.eye(operator.shape[0])).T
    return Axis(np.ascontiguousarray(G), operator.dense(), place)


def complete_cells(found: Crosstab, untouched: Sequence[str]) -> tuple[Integers, dict[str, int]]:
    fine = np.ones(len(found.cells), dtype=np.bool_)
    dropped = {}
    for axis, name in enumerate(untouched):
        missing = [code for code, label in enumerate(found.levels[axis]) if label is None]
        lost = np.isin(found.cells[:, axis], missing)
        if lost.any():
            dropped[name] = int(found.counts[lost].sum())
        fine &= ~lost
    if not fine.any():
        raise InvalidData(
            "A regression needs records with a value in every untouched column; none has. "
            f"Records without one: {', '.join(f'{m} ({name})' for name, m in dropped.items())}."
        )
    return np.flatnonzero(fine), dropped


def refuse_imprecise(axes: Sequence[Axis], cells: Mapping[str, Integers], *, n: float) -> None:
    r"""Refuse columns whose shares n records do not tell, by the variance that follows.

    Rank is not enough. An output that shows a category with the chance :math:`10^{-7}` completes
    the rank and is never seen, and what was seen then looks certain. The variance for the worst
    law, :math:`\max_x \sum_z M_{xz} G_{zs}^2 / n`, knows.
    """
    sizes = [axis.G.shape[1] for axis in axes]
    grid = np.unravel_index(np.arange(int(np.prod(sizes))), sizes) if sizes else ()
    for axis, place in zip(axes, grid, strict=True):
        G, M = axis.G, axis.M
        for name, codes in cells.items():
            own = np.full(G.shape[1], -1)
            own[place] = codes
            if not np.array_equal(own[place], codes):
                continue
            shares = np.stack([G[:, own == s].sum(axis=1) for s in np.unique(own)], axis=1)
            error = np.sqrt((M @ shares**2).max(axis=0) / n)
            worst = int(error.argmax())
            if not error[worst] < MOST_ERROR:
                raise NotIdentifiable(
                    f"{n:,.0f} records must tell the shares of {name!r}; what its randomisation "
                    f"leaves of them has a standard error of up to {error[worst]:.2g}, at the "
                    f"category in place {worst}. Leave the column out, or take more records."
                )


class ClusterTally:
    """Sums over clusters."""

    def __init__(
        self, patterns: RecordSource, width: int, stratum: Integers | None, cluster: Integers
    ) -> None:
        strata = np.zeros_like(cluster) if stratum is None else stratum
        pairs = np.stack([strata, cluster], axis=1)
        known, place = np.unique(pairs, axis=0, return_inverse=True)
        self.place, self.stratum, self.weights = place.reshape(-1), known[:, 0], patterns.sums
        self.sums = np.zeros((len(known), width))

    def add(self, u: Floats, piece: slice) -> None:
        np.add.at(self.sums, self.place[piece], u * self.weights[piece, None])

    def total(self) -> Floats:
        answer = np.zeros((self.sums.shape[1],) * 2)
        for stratum in np.unique(self.stratum):
            own = self.sums[self.stratum == stratum]
            if len(own) > 1:
                own = (own - own.mean(axis=0)) * np.sqrt(len(own) / (len(own) - 1))
            answer += own.T @ own
        return answer


class StratumTally:
    """Sums and squares of records by strata."""

    def __init__(self, patterns: RecordSource, width: int, stratum: Integers) -> None:
        self.stratum, self.patterns = stratum, patterns
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

    def total(self) -> Floats:
        answer = np.zeros(self.squares.shape[1:])
        for m, U, squares in zip(self.numbers, self.sums, self.squares, strict=True):
            if m > 1:
                answer += m / (m - 1) * (squares - np.outer(U, U) / m)
            else:
                answer += squares
        return answer


class BranchTally:
    """Sums over the branches of a plan, whose shares are known and so add no variance."""

    def __init__(self, patterns: RecordSource, width: int) -> None:
        self.patterns = patterns
        size = int(patterns.branch.max()) + 1
        self.weights = totals(patterns.branch, patterns.sums, size)
        self.squares = totals(patterns.branch, patterns.squares, size)
        self.sums = np.zeros((size, width))

    def add(self, u: Floats, piece: slice) -> None:
        weighted = u * self.patterns.sums[piece, None]
        np.add.at(self.sums, self.patterns.branch[piece], weighted)

    def between(self) -> Floats:
        used = self.weights > 0
        means = self.sums[used] / self.weights[used, None]
        off = means - self.sums.sum(axis=0) / self.weights.sum()
        return np.asarray((off.T * self.squares[used]) @ off)

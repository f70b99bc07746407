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
from pramble.values import Floats, Integers, frozen

# Cells of the randomised columns of a regression.
MOST_PATTERN_CELLS = 100_000

# Standard error of a share, whatever the distribution, above which a column is not told.
MOST_ERROR = 0.5


# Numbers that are held together.
AT_ONCE = 4_000_000

# Signed weights that are kept from step to step.
MOST_WEIGHTS = 8_000_000

# From some groups to the values (groups, cells, functions) of several functions.
Function = Callable[[slice], Floats]


@frozen(eq=False)
class Moments:
    """The covariance of sums: of sampling and randomisation, and of randomisation alone."""

    both: Floats
    randomisation: Floats

    def covers(self, share: float) -> Floats:
        return np.asarray(share * self.both + (1 - share) * self.randomisation)


@frozen(eq=False)
class Axis:
    """One block, or all branches: the rows of a right inverse, and which cell each tells of."""

    G: Floats  # (T, S): the right inverse
    M: Floats  # (S, T): the matrix that it inverts
    place: Integers  # (P,): the output that each pattern shows


@frozen(eq=False)
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

    @cached_property
    def units(self) -> tuple[Integers, Integers]:
        """Which stratum, or cluster within one, each pattern is in, and the stratum of each."""
        nothing = np.zeros_like(self.group)
        columns = (
            nothing if name is None else self.beside[name] for name in (self.strata, self.clusters)
        )
        known, place = np.unique(np.stack([*columns], axis=1), axis=0, return_inverse=True)
        return place.reshape(-1), known[:, 0]

    def moments(self, function: Function, width: int) -> Moments:
        place, stratum = self.units
        numbers = totals(place, self.numbers, len(stratum))
        # by strata alone every record counts m / (m - 1), less what the m records have together
        factors = np.where(numbers > 1, numbers / np.maximum(numbers - 1, 1.0), 1.0)
        within, plain, scaled = np.zeros((3, width, width))
        by_unit = np.zeros((len(stratum), width))
        by_branch = np.zeros((int(self.branch.max()) + 1, width))
        for some in self.chunks(width):
            F = function(some)
            flat = F.reshape(-1, width)
            own = self.summed(some, self.squares).reshape(-1, 1)
            within += (flat * own).T @ flat
            for piece in self.pieces(some, width):
                group, rows = self.group[piece] - some.start, self.rows(piece)
                u = rows @ F[0] if len(F) == 1 else np.matmul(rows[:, None, :], F[group])[:, 0]
                squares = u * self.squares[piece, None]
                plain += squares.T @ u
                scaled += (squares * factors[place[piece], None]).T @ u
                np.add.at(by_unit, place[piece], u * self.sums[piece, None])
                np.add.at(by_branch, self.branch[piece], u * self.sums[piece, None])
        known = self.between_branches(by_branch)
        sampled = plain
        if self.clusters is not None:
            sampled = between_clusters(by_unit, stratum)
        elif self.strata is not None:
            shares = np.where(numbers > 1, factors / np.maximum(numbers, 1.0), 0.0)
            sampled = scaled - (by_unit.T * shares) @ by_unit
        return Moments(sampled - known, plain - within - known)

    def between_branches(self, sums: Floats) -> Floats:
        """Return what the means of branches, whose shares are known, differ by."""
        weights, squares = (
            totals(self.branch, own, len(sums)) for own in (self.sums, self.squares)
        )
        used = weights > 0
        off = sums[used] / weights[used, None] - sums.sum(axis=0) / weights.sum()
        return np.asarray((off.T * squares[used]) @ off)


def between_clusters(sums: Floats, stratum: Integers) -> Floats:
    answer = np.zeros((sums.shape[1],) * 2)
    for one in np.unique(stratum):
        own = sums[stratum == one]
        if len(own) > 1:
            own = (own - own.mean(axis=0)) * np.sqrt(len(own) / (len(own) - 1))
        answer += own.T @ own
    return answer


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
    distribution, :math:`\max_x \sum_z M_{xz} G_{zs}^2 / n`, knows.
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

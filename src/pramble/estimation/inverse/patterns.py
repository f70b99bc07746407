r"""The distinct patterns of a release: what is untouched, and what was released beside it.

With G a right inverse of the whole randomisation, a record with untouched values w and output z
counts :math:`G_{zx}` for the cell x of the randomised columns, so that

.. math:: \omega(w, x) = \sum_{i:\, w_i = w} c_i\, G_{z_i x}

is unbiased for the number of records with w and x: a signed weight for every combination. Nothing
larger than the patterns that occur is held; rows of G are made for some patterns at a time.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import Label
from pramble.data.records import Records
from pramble.data.table import Crosstab
from pramble.errors import InvalidData, NotIdentifiable
from pramble.estimation.inverse.branches import gather, shown_by_branches, stacked_places
from pramble.estimation.inverse.layout import groups_of, refuse_many, refuse_no_weight
from pramble.estimation.inverse.tabulate import cells_of, refuse_randomised, shown_by_blocks
from pramble.mechanisms.channel import MOST_BLOCK_CELLS
from pramble.mechanisms.plan import Plan
from pramble.values import Floats, Integers, value

MOST_PATTERN_CELLS = 100_000
"""Cells of the randomised columns of a regression."""

MOST_ERROR = 0.5
"""Standard error of a share, whatever the law, above which a column is not told."""


@value(eq=False)
class Axis:
    """One block, or all branches: the rows of a right inverse, and which cell each tells of."""

    G: Floats  # (T, S): the right inverse
    M: Floats  # (S, T): the matrix that it inverts
    place: Integers  # (P,): the output that each pattern shows


@value(eq=False)
class Patterns:
    """Distinct patterns, sorted by their untouched values."""

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

    @property
    def n(self) -> float:
        return float(self.numbers.sum())

    @property
    def size(self) -> int:
        return int(np.prod([axis.G.shape[1] for axis in self.axes], dtype=np.int64))

    @cached_property
    def starts(self) -> Integers:
        """The first pattern of each group, and the number of patterns."""
        return np.searchsorted(self.group, np.arange(len(self.groups) + 1))

    def rows(self, some: slice) -> Floats:
        """Return the rows of G of some patterns over all cells."""
        answer = np.ones((some.stop - some.start, 1))
        for axis in self.axes:
            own = axis.G[axis.place[some]]
            answer = (answer[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        return answer


def patterns_of(
    records: Records,
    plan: Plan,
    *,
    by: Sequence[str],
    beside: Sequence[str] = (),
    weights: Any = None,
    missing: bool = False,
) -> Patterns:
    """Return the patterns of some columns; the plan is without products.

    With ``missing``, an empty value of an untouched column is a label, and nothing is refused for
    telling too little.
    """
    refuse_randomised([weights, *beside], plan.columns)
    extra = [name for name in dict.fromkeys(beside) if name not in by]
    channel = plan.channel(by)
    axes: list[tuple[Any, Any, Integers]]
    if channel.axes is not None:
        refuse_many([s.mechanism.shape[0] for s in channel.axes], by, most=MOST_PATTERN_CELLS)
        for seen in channel.axes:
            refuse_many([max(seen.mechanism.shape)], seen.columns, most=MOST_BLOCK_CELLS)
        found, places = shown_by_blocks(records, channel, by=by, beside=extra, weights=weights)
        operators = [seen.mechanism.operator for seen in channel.axes]
        axes = [(o.right_inverse(), o, z) for o, z in zip(operators, places, strict=True)]
        cells: Mapping[str, Integers] = cells_of(channel)
        branch = np.zeros(len(found.cells), dtype=np.int64)
    else:
        table, found, branch_of = shown_by_branches(
            records, plan, by=by, beside=extra, weights=weights
        )
        cells = table.cells
        together = np.zeros(len(found.cells), dtype=np.int64)
        gathered = gather(table, found, branch_of, group_of=together)
        if gathered is None or gathered[0].lost.shape[1]:
            raise table.refusal()
        whole = gathered[0].of_group(0)
        _, sizes, place = stacked_places(table, found, branch_of)
        branch = np.searchsorted(np.cumsum(sizes), place, side="right")
        axes = [(whole.right_inverse(), whole, place)]
    untouched = tuple(name for name in by if name not in plan.columns)
    kept, dropped = (np.arange(len(found.cells)), {}) if missing else complete(found, untouched)
    arrays = [(inverse.adjoint(np.eye(o.shape[0])).T, o.dense(), z) for inverse, o, z in axes]
    if not missing:
        refuse_untold(arrays, cells, n=float(found.counts[kept].sum()))
    return pruned(
        found,
        kept,
        untouched=untouched,
        beside=beside,
        cells={name: np.asarray(cells[name]) for name in by if name in cells},
        categories={name: own.values for name, own in channel.labels.items()},
        axes=tuple(Axis(np.ascontiguousarray(G), M, z[kept]) for G, M, z in arrays),
        branch=branch[kept],
        dropped=dropped,
        backend=records.backend,
    )


def complete(found: Crosstab, untouched: Sequence[str]) -> tuple[Integers, dict[str, int]]:
    """Return the cells without a missing value in untouched columns, and how many miss one."""
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


def pruned(
    found: Crosstab,
    kept: Integers,
    *,
    untouched: tuple[str, ...],
    beside: Sequence[str],
    cells: Mapping[str, Integers],
    categories: Mapping[str, Sequence[Label]],
    axes: tuple[Axis, ...],
    branch: Integers,
    dropped: Mapping[str, int],
    backend: str,
) -> Patterns:
    """Return the patterns of some cells of a cross-tabulation, with the labels that occur."""
    codes = found.cells[kept]
    labels = dict(categories)
    for axis, name in enumerate(untouched):
        used, codes[:, axis] = np.unique(codes[:, axis], return_inverse=True)
        labels[name] = tuple(found.levels[axis][code] for code in used.tolist())
    some = Crosstab(found.columns, found.levels, codes, found.counts[kept])
    groups, group = groups_of(some, len(untouched))
    numbers = found.counts[kept].astype(np.float64)
    sums, squares = (found.sums[p][kept] if found.sums else numbers for p in ((1, 0), (2, 0)))
    refuse_no_weight(sums)
    scale = numbers.sum() / sums.sum()
    return Patterns(
        untouched=untouched,
        cells=cells,
        labels=labels,
        groups=groups,
        group=group,
        beside={name: codes[:, found.columns.index(name)] for name in beside},
        axes=axes,
        branch=branch,
        numbers=numbers,
        sums=sums * scale,
        squares=squares * scale**2,
        dropped=dropped,
        backend=backend,
    )


def refuse_untold(
    axes: Sequence[tuple[Floats, Floats, Integers]], cells: Mapping[str, Integers], *, n: float
) -> None:
    r"""Refuse columns whose shares n records do not tell, by the variance that follows.

    Rank is not enough. An output that shows a category with the chance :math:`10^{-7}` completes
    the rank and is never seen, and what was seen then looks certain. The variance for the worst
    law, :math:`\max_x \sum_z M_{xz} G_{zs}^2 / n`, knows.
    """
    sizes = [G.shape[1] for G, _, _ in axes]
    grid = np.unravel_index(np.arange(int(np.prod(sizes))), sizes) if sizes else ()
    for (G, M, _), place in zip(axes, grid, strict=True):
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

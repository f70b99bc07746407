r"""What a release says of each record: the chance of what it shows, for every original.

With the blocks B of its branch, a record that shows z has :math:`\prod_B M_B[x_B, z_B]` for the
original x. Equal records are one pattern; those with equal untouched values are one group.

What a plan says cannot occur: cells that the mechanism of a block does not have.

Columns that are drawn together: all of them where they have few combinations, else some.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label, places_of
from pramble.data.records import Records
from pramble.data.table import Crosstab, refuse_empty, reordered
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.inverse.branches import branches_of
from pramble.estimation.inverse.layout import groups_of
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Mask, Possible
from pramble.limits import MOST_CELLS, MOST_IMPUTED_CELLS
from pramble.mechanisms.channel import Channel
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Integers, value


def possible_cells(plan: Any, labels: Mapping[str, Sequence[Label]]) -> Possible:
    """Return what is possible by all blocks of a plan whose columns have labels.

    >>> import pramble
    >>> m = pramble.randomized_response([(0, "no"), (1, "no"), (1, "yes")], 1.0)
    >>> found = possible_cells({("age", "job"): m}, {"age": [0, 1], "job": ["no", "yes"]})
    >>> found.mask(["job", "age"])
    array([[ True,  True],
           [False,  True]])
    """
    sizes = {name: len(own) for name, own in labels.items()}
    channel = as_plan(plan).channel(list(labels))
    tables: list[tuple[Table, Mask]] = []
    for block, mask in channel.structural_zeros(most=MOST_CELLS).items():
        if set(block) <= set(labels):
            known = [channel.coding.categories[name].values for name in block]
            own = [places_of(ours, labels[n]) for ours, n in zip(known, block, strict=True)]
            tables.append((block, mask[np.ix_(*own)]))
    return Possible(sizes, tuple(tables))


def wider_zeros(possible: Possible, fitted: Mapping[Table, Any]) -> dict[Table, Mask]:
    return {
        names: mask
        for names, mask in possible.tables
        if not any(set(names) <= set(table) for table in fitted)
    }


@value(eq=False)
class Factors:
    """The matrices of all blocks, one after the other, and what each pattern shows of them.

    Attributes
    ----------
    entries : array
        Every matrix transposed, output by output.
    starts, sizes : (F,) arrays
        Where the matrix of a factor starts, and its number of categories.
    onto : (F, K) array
        The category of a factor in each combination of the columns; −1 where it has none.
    columns : tuple of tuples
        The columns of each factor, by their place.
    shown, outputs : (P, J) arrays
        The factors that each pattern shows, −1 beyond them, and their outputs.
    """

    entries: Any
    starts: Integers
    sizes: Integers
    onto: NDArray[np.int32]
    columns: tuple[tuple[int, ...], ...]
    shown: Integers
    outputs: Integers


@value(eq=False)
class Released:
    """The records of a release as patterns, ready to draw originals for.

    Attributes
    ----------
    labels : mapping from randomised column to its categories
        K combinations of them, the last column running fastest.
    given : mapping from untouched column to its labels
    groups : (G, number of untouched columns) array
        The combinations of their codes that occur.
    group_of, counts : (P,) arrays
        The group of each pattern, and its records.
    order : (n,) array
        The records by pattern.
    possible : Possible
    factors : Factors
    """

    labels: Mapping[str, Sequence[Label]]
    given: Mapping[str, Sequence[Label]]
    groups: Integers
    group_of: Integers
    counts: Integers
    order: Integers
    possible: Possible
    factors: Factors

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each randomised column."""
        return tuple(map(len, self.labels.values()))

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.order)

    @property
    def cells(self) -> int:
        """Number of cells of the law: groups times combinations."""
        return len(self.groups) * math.prod(self.shape)


def count_patterns(records: Records, plan: Plan, given: Sequence[str]) -> Crosstab:
    """Return the patterns of a release: untouched columns first, and the pattern of each record."""
    labels = plan.channel().coding.outputs
    found = crosstab(records, [*given, *plan.columns], labels=labels, keep_rows=True)
    refuse_empty(found, records.name)
    return found


def fitting_columns(
    found: Crosstab, plan: Plan, given: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the untouched columns that a law can hold, and those it cannot, most labels first."""
    cells = plan.channel().size
    if cells > MOST_IMPUTED_CELLS:
        raise InvalidInput(
            f"The randomised columns must have at most {MOST_IMPUTED_CELLS:,} combinations to be "
            f"filled; they have {cells:,}. `synthesize` draws records of more columns."
        )
    kept, left = list(given), []
    labels = dict(zip(found.columns, map(len, found.levels), strict=True))
    while kept and cells * len(reordered(found, kept).cells) > MOST_IMPUTED_CELLS:
        left.append(max(kept, key=labels.__getitem__))
        kept.remove(left[-1])
    return kept, left


def released(found: Crosstab, plan: Plan, given: Sequence[str]) -> Released:
    """Return the patterns of a release with the chances of what they show."""
    found = reordered(found, [*given, *plan.columns])
    assert found.cell_of is not None
    groups, group_of = groups_of(found, len(given))
    channel = plan.channel()
    labels = {name: own.values for name, own in channel.labels.items()}
    return Released(
        labels,
        dict(zip(given, found.levels, strict=False)),
        groups,
        group_of,
        found.counts,
        np.argsort(found.cell_of, kind="stable"),
        possible_cells(plan, labels),
        factors_of(found, channel),
    )


def factors_of(found: Crosstab, channel: Channel) -> Factors:
    """Return the matrices of a plan, and what each pattern shows of them."""
    branch_of = branches_of(found, channel, needed=channel.columns)
    seen = {name: found.cells[:, found.columns.index(name)] for name in channel.columns}
    blocks = channel.blocks_seen
    width = max(len(view.seen) for view in channel.views)
    shown = np.full((len(found.cells), width), -1, dtype=np.int64)
    outputs = np.zeros_like(shown)
    for view in channel.views:
        rows = np.flatnonzero(branch_of == view.number)
        own = {name: column[rows] for name, column in seen.items()}
        for place, block in enumerate(view.seen):
            shown[rows, place] = blocks.index(block)
            outputs[rows, place] = block.output_place(own)
    factors = replace(matrices_of(channel), shown=shown, outputs=outputs)
    refuse_never_released(factors)
    return factors


def refuse_never_released(factors: Factors) -> None:
    """Raise when a record shows an output that no category leads to."""
    for place in range(factors.shown.shape[1]):
        rows = np.flatnonzero(factors.shown[:, place] >= 0)
        factor, output = factors.shown[rows, place], factors.outputs[rows, place]
        for f, z in np.unique(np.stack([factor, output], axis=1), axis=0).tolist():
            start = factors.starts[f] + z * factors.sizes[f]
            if not factors.entries[start : start + factors.sizes[f]].any():
                raise InvalidData("The data holds released values that the plan never releases.")


def matrices_of(channel: Channel) -> Factors:
    """Return all matrices, and the category of each in every combination of the columns."""
    blocks = channel.blocks_seen
    areas = [math.prod(block.mechanism.shape) for block in blocks]
    if sum(areas) > MOST_CELLS:
        raise InvalidInput(
            f"The matrices of a plan must have at most {MOST_CELLS:,} entries together for "
            f"imputation; these have {sum(areas):,}."
        )
    onto = [block.place(channel.cells).astype(np.int32) for block in blocks]
    return Factors(
        np.concatenate([block.mechanism.operator.dense().T.ravel() for block in blocks]),
        np.cumsum([0, *areas[:-1]]).astype(np.int64),
        np.array([block.mechanism.shape[0] for block in blocks], dtype=np.int64),
        np.stack(onto),
        tuple(tuple(map(channel.columns.index, block.columns)) for block in blocks),
        np.zeros((0, 0), dtype=np.int64),
        np.zeros((0, 0), dtype=np.int64),
    )


MOST_TOGETHER = 2_000_000
"""Patterns times combinations up to which all columns are drawn together."""

MOST_UNIT = 32
"""Combinations of the columns of a unit otherwise."""


@value(eq=False)
class Units:
    """Sets of columns, by place, that are drawn together; see the kernel for the arrays."""

    moves: Integers
    ends: Integers
    strides: Integers
    widths: Integers
    columns: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def touched(self, factors: Factors) -> NDArray[np.bool_]:
        found = np.zeros((len(self), len(factors.columns)), dtype=np.bool_)
        for u, own in enumerate(self.columns):
            found[u] = [bool(set(own) & set(columns)) for columns in factors.columns]
        return found


def units_of(release: Released) -> Units:
    shape = release.shape
    if len(release.counts) * math.prod(shape) <= MOST_TOGETHER:
        return laid_out([list(range(len(shape)))], shape)
    names = list(release.labels)
    tied = [[names.index(name) for name in table] for table, _ in release.possible.tables]
    return laid_out(gathered_columns(shape, tied), shape)


def gathered_columns(shape: Sequence[int], tied: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return sets of columns with few combinations each; tied ones stay together where they can.

    A column that only moves together with another, since other cells cannot occur, would be stuck.

    >>> gathered_columns((4, 4, 5, 2), [(0, 2)])
    [[0, 2], [1, 3]]
    """
    found: list[list[int]] = []
    for columns in [*tied, *([axis] for axis in range(len(shape)))]:
        fresh = [axis for axis in columns if not any(axis in own for own in found)]
        room = [
            own for own in found if math.prod(shape[axis] for axis in [*own, *fresh]) <= MOST_UNIT
        ]
        if fresh and room and len(columns) == 1:
            room[0].extend(fresh)
        elif fresh:
            found.append(fresh)
    return found


def laid_out(units: Sequence[Sequence[int]], shape: Sequence[int]) -> Units:
    """Return the moves of some units among all combinations, the last column running fastest."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    moves = [
        sum(
            np.indices([shape[axis] for axis in own])[i].ravel() * strides[axis]
            for i, axis in enumerate(own)
        )
        for own in units
    ]
    wide = max(map(len, units))
    steps, widths = (np.zeros((len(units), wide), dtype=np.int64) for _ in range(2))
    for u, own in enumerate(units):
        steps[u, : len(own)] = [strides[axis] for axis in own]
        widths[u, : len(own)] = [shape[axis] for axis in own]
    ends = np.cumsum([0, *(len(own) for own in moves)]).astype(np.int64)
    return Units(
        np.concatenate(moves).astype(np.int64), ends, steps, widths, tuple(map(tuple, units))
    )

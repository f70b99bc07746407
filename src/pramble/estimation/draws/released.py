r"""What a release says of each record: the chance of what it shows, for every original.

With the blocks B of its branch, a record that shows z has :math:`\prod_B M_B[x_B, z_B]` for the
original x. Equal records are one pattern; those with equal untouched values are one group.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label
from pramble.data.records import Records
from pramble.data.table import Crosstab, refuse_empty, reordered
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.draws.zeros import possible_cells
from pramble.estimation.layout import groups_of
from pramble.estimation.records import branches_of
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_CELLS, MOST_IMPUTED_CELLS
from pramble.mechanisms.channel import Channel
from pramble.mechanisms.plan import Plan
from pramble.values import Integers, value


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

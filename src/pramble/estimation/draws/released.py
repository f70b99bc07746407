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
from pramble.estimation.cell_codes import Codes, places_among
from pramble.estimation.draws.zeros import possible_cells
from pramble.estimation.layout import groups_of
from pramble.estimation.records import branches_of
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_CELLS, MOST_IMPUTED_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Block, Plan
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
    codes = Codes.of(*(branch.blocks for branch in plan.branches))
    columns = list(plan.columns)
    found = crosstab(records, [*given, *columns], labels=codes.outputs, keep_rows=True)
    refuse_empty(found, records.name)
    return found


def fitting_columns(
    found: Crosstab, plan: Plan, given: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the untouched columns that a law can hold, and those it cannot, most labels first."""
    sizes = [len(own.labels) for own in plan.column_labels().values()]
    cells = math.prod(sizes)
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
    codes = Codes.of(*(branch.blocks for branch in plan.branches))
    labels = {name: codes.categories[name].values for name in plan.columns}
    possible = possible_cells(plan, labels)
    return Released(
        labels,
        dict(zip(given, found.levels, strict=False)),
        groups,
        group_of,
        found.counts,
        np.argsort(found.cell_of, kind="stable"),
        possible,
        factors_of(found, plan, codes),
    )


def factors_of(found: Crosstab, plan: Plan, codes: Codes) -> Factors:
    """Return the matrices of a plan, and what each pattern shows of them."""
    branch_of = branches_of(found, plan, needed=plan.columns)
    seen = {name: found.cells[:, found.columns.index(name)] for name in plan.columns}
    known: dict[tuple[Block, int], int] = {}
    blocks: list[tuple[Block, Mechanism]] = []
    width = max(len(branch.blocks) for branch in plan.branches)
    shown = np.full((len(found.cells), width), -1, dtype=np.int64)
    outputs = np.zeros_like(shown)
    for number, branch in enumerate(plan.branches):
        rows = np.flatnonzero(branch_of == number)
        own = {name: column[rows] for name, column in seen.items()}
        for place, (block, mechanism) in enumerate(branch.blocks.items()):
            factor = known.setdefault((block, id(mechanism)), len(blocks))
            if factor == len(blocks):
                blocks.append((block, mechanism))
            shown[rows, place] = factor
            outputs[rows, place] = output_places(block, mechanism, own, codes)
    factors = replace(matrices_of(blocks, codes), shown=shown, outputs=outputs)
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


def output_places(
    block: Block, mechanism: Mechanism, shown: Mapping[str, Integers], codes: Codes
) -> Integers:
    """Return which output of a block each pattern shows."""
    known = codes.keys(codes.cells(block, mechanism.output_labels, side=1), block, side=1)
    return places_among(known, codes.keys(shown, block, side=1))


def matrices_of(blocks: Sequence[tuple[Block, Mechanism]], codes: Codes) -> Factors:
    """Return all matrices, and the category of each in every combination of the columns."""
    entries = sum(math.prod(mechanism.shape) for _, mechanism in blocks)
    if entries > MOST_CELLS:
        raise InvalidInput(
            f"The matrices of a plan must have at most {MOST_CELLS:,} entries together for "
            f"imputation; these have {entries:,}."
        )
    sizes = np.array([mechanism.shape[0] for _, mechanism in blocks], dtype=np.int64)
    order = list(codes.categories)
    areas = [math.prod(mechanism.shape) for _, mechanism in blocks]
    return Factors(
        np.concatenate([mechanism.operator.dense().T.ravel() for _, mechanism in blocks]),
        np.cumsum([0, *areas[:-1]]).astype(np.int64),
        sizes,
        np.stack([onto_block(block, mechanism, codes) for block, mechanism in blocks]),
        tuple(tuple(map(order.index, block)) for block, _ in blocks),
        np.zeros((0, 0), dtype=np.int64),
        np.zeros((0, 0), dtype=np.int64),
    )


def onto_block(block: Block, mechanism: Mechanism, codes: Codes) -> NDArray[np.int32]:
    """Return the category of a block in each combination of all columns, −1 where it has none."""
    shape = tuple(map(len, codes.categories.values()))
    known = codes.keys(codes.cells(block, mechanism.labels, side=0), block, side=0)
    sizes = [len(codes.categories[name]) for name in block]
    place = np.full(math.prod(sizes), -1, dtype=np.int32)
    place[known] = np.arange(len(known))
    axes = [list(codes.categories).index(name) for name in block]
    grid = place.reshape(sizes).transpose(np.argsort(axes))
    others = [i for i in range(len(shape)) if i not in axes]
    return np.ascontiguousarray(np.broadcast_to(np.expand_dims(grid, others), shape).reshape(-1))

r"""Tables from plans of several branches and blocks: sums over what the records of each show.

What one block tells of a table is the block seen through the columns that the table shares. Where
margins are randomised by a matrix of their own (:mod:`pramble.mechanisms.channel`), its inverse is
all that counts. Else :math:`u = D_m^{-1} M^\top F^- C Q Q^\top` is the efficient unbiased estimate
of those sums of margins that are told, with an orthonormal basis Q, whatever the distribution of
the columns beside them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial, reduce
from itertools import combinations
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, Powers, totals
from pramble.errors import InvalidData, InvalidInput, NotShown
from pramble.estimation.records.stacked import (
    BranchInformation,
    PooledBranches,
    StackedOperator,
    stack,
)
from pramble.information.fisher import covariance_of_cells, inner, sums_onto
from pramble.limits import MOST_CELLS
from pramble.mechanisms.channel import MOST_BLOCK_CELLS, BlockMargin, Channel, SeenBlock
from pramble.mechanisms.column_labels import places_among
from pramble.mechanisms.operators.dense import LARGEST_INVERSE
from pramble.mechanisms.plan import Block, Plan
from pramble.values import Floats, Integers, frozen

# Rounds in which the distribution of a block is fitted to its counts, from an even one: a weight
# needs no more, and any weight is unbiased.
STEPS = 3

# Cells of a table and the columns beside it up to which the likelihood is that of all of them.
MOST_FITTED = 500


def refuse_large_table(shape: Sequence[int], by: Sequence[str], *, most: int = MOST_CELLS) -> None:
    if math.prod(shape) > most:
        raise InvalidInput(
            f"A table must have at most {most:,} cells; {', '.join(by)} make "
            f"{math.prod(shape):,}. Take fewer columns at a time."
        )


def refuse_no_weight(sums: Floats) -> None:
    if not sums.any():
        raise InvalidData("Weights must not be negative, nor all zero.")


# From counts of outputs to a matrix and its right inverse.
Inverse = Callable[[Floats], tuple[Floats, Floats]]


@frozen(eq=False)
class Part:
    """What one block says of a table."""

    needed: Block  # The columns whose released values count
    outputs: Integers  # (T,): the key of each output, over those columns
    cells: Mapping[str, Integers]  # (K,): its code in each margin that is estimable
    # From counts of outputs to the matrix from margins to outputs and its right inverse u, which is
    # efficient at the distribution that the counts suggest
    at: Inverse
    # (K, r): an orthonormal basis of the sums of margins that are estimable; None if all are
    basis: Floats | None = None
    # Whether the outputs given a margin have one distribution, whatever else the record holds
    is_exact: bool = True

    @property
    def margins(self) -> int:
        return len(next(iter(self.cells.values())))


def inverse_of_cells(
    counts: Floats, *, matrix: Floats, onto: Integers, basis: Floats | None
) -> tuple[Floats, Floats]:
    """Return the matrix of margins of a block that is held as an array, and its right inverse."""
    p = np.full(len(matrix), 1 / len(matrix))
    for _ in range(STEPS):
        released = p @ matrix
        covariance = covariance_of_cells(matrix, p).matrix
        scores = np.divide(matrix, released, out=np.zeros_like(matrix), where=released > 0)
        G = scores.T @ covariance
        fitted = p
        p = inner(np.maximum(counts @ G, 0.0)) if counts.any() else p
    u = sums_onto(G.T, onto).T
    if basis is not None:
        u = u @ basis @ basis.T
    joint = sums_onto(fitted[:, None] * matrix, onto)
    return joint / np.bincount(onto, weights=fitted)[:, None], u


def part_of(seen: SeenBlock) -> Part | None:
    """Return what a block says of the columns asked for: of all it has, or else of fewer.

    By a matrix that randomises margins, if there is one, else by that of the whole block; None if
    it says nothing, or is too large.
    """
    sizes = range(len(seen.asked), 0, -1)
    for columns in (some for size in sizes for some in combinations(seen.asked, size)):
        margin = seen.margin(columns)
        if margin.matrix is not None:
            with suppress(np.linalg.LinAlgError):
                pair = margin.matrix, np.asarray(np.linalg.inv(margin.matrix))
                if np.abs(pair[1]).sum(axis=1).max() < LARGEST_INVERSE:
                    at: Inverse = lambda _: pair  # noqa: B023, E731 (it is returned at once)
                    return Part(columns, margin.outputs, margin.cells, at)
        part = part_of_block(seen, margin)
        if part is not None:
            return part
    return None


def part_of_block(seen: SeenBlock, margin: BlockMargin) -> Part | None:
    cells, outputs = seen.mechanism.shape
    if cells > MOST_BLOCK_CELLS or cells * outputs > MOST_CELLS:
        return None
    matrix, onto = seen.mechanism.operator.dense(), margin.onto
    found = covariance_of_cells(matrix, np.full(cells, 1 / cells)).estimable_sums(onto)
    basis = None if found.shape[1] == len(found) else found
    if basis is not None and basis.shape[1] <= 1:  # that cells sum to one says nothing
        return None
    _, first = np.unique(onto, return_index=True)
    is_exact = bool(np.abs(matrix - matrix[first][onto]).max() < 1e-12)
    at = partial(inverse_of_cells, matrix=matrix, onto=onto, basis=basis)
    keys = seen.coding.keys(seen.outputs, seen.columns, released=True)
    return Part(seen.columns, keys, margin.cells, at, basis, is_exact)


class BranchTable:
    """A table of columns as the branches of a plan show it.

    Blocks count that hold one of the ``bearing`` columns; of those of the table unless given.
    """

    def __init__(
        self, plan: Plan, columns: Sequence[str], *, bearing: Sequence[str] | None = None
    ) -> None:
        self.plan, self.channel = plan, plan.channel(columns)
        self.columns = self.channel.columns
        refuse_large_table(self.channel.shape, self.columns, most=MOST_BLOCK_CELLS)
        self.bearing = set(self.columns if bearing is None else bearing)
        self.coding, self.size = self.channel.coding, self.channel.size
        self.cells = self.channel.cells

    @cached_property
    def parts(self) -> list[list[Part]]:
        """What each branch says, block by block; nothing from a branch that is silent."""
        known = {
            seen: part_of(seen)
            for seen in self.channel.blocks_seen
            if set(seen.columns) & self.bearing
        }
        answer = []
        for view in self.channel.views:
            parts = [part for seen in view.seen if (part := known.get(seen)) is not None]
            # all parts of a branch together are one matrix, so the largest go if it is too large
            while (
                len(parts) > 1
                and math.prod(len(part.outputs) * part.margins for part in parts) > MOST_CELLS
            ):
                parts = sorted(parts, key=lambda part: len(part.outputs))[:-1]
            answer.append(parts)
        return answer

    @property
    def needed(self) -> list[str]:
        found = (name for parts in self.parts for part in parts for name in part.needed)
        return list(dict.fromkeys(found))

    def finer(self) -> "BranchTable | None":
        """Return the table of these columns and those that blocks hold beside them, if small."""
        beside = [name for name in self.needed if name not in self.columns]
        sizes = [len(self.coding.categories[name]) for name in beside]
        if not beside or self.size * int(np.prod(sizes, dtype=object)) > MOST_FITTED:
            return None
        finer = BranchTable(self.plan, [*self.columns, *beside], bearing=self.columns)
        return finer if set(finer.needed) <= set(self.needed) else None

    def onto(self, parts: Sequence[Part]) -> Integers:
        place, possible = np.zeros(self.size, dtype=np.int64), np.ones(self.size, dtype=np.bool_)
        for part in parts:
            shared = list(part.cells)
            known = self.coding.keys(part.cells, shared)
            wanted = self.coding.keys(self.cells, shared)
            possible &= np.isin(wanted, known)
            own = np.zeros(self.size, dtype=np.int64)
            own[possible] = places_among(known, wanted[possible])
            place = place * len(known) + own
        return np.where(possible, place, -1)

    def aspects(
        self, branches: Sequence[int], counts: Sequence[Floats]
    ) -> tuple[BranchInformation, ...]:
        ontos = [self.onto(self.parts[b]) for b in branches]
        impossible = np.any([onto < 0 for onto in ontos], axis=0)
        answer = []
        for b, onto, own in zip(branches, ontos, counts, strict=True):
            parts = self.parts[b]
            cube, pairs = own.reshape([len(part.outputs) for part in parts]), []
            for axis, part in enumerate(parts):
                others = tuple(i for i in range(len(parts)) if i != axis)
                pairs.append(part.at(cube.sum(axis=others)))
            matrix, u = (reduce(np.kron, side) for side in zip(*pairs, strict=True))
            basis = None  # all sums are estimable, unless some part leaves some out
            if any(part.basis is not None for part in parts):
                each: list[Any] = [np.eye(p.margins) if p.basis is None else p.basis for p in parts]
                basis = np.asarray(reduce(np.kron, each))
            exact = all(part.is_exact for part in parts)
            answer.append(
                BranchInformation(np.where(impossible, -1, onto), matrix, u, basis, exact)
            )
        return tuple(answer)

    @cached_property
    def is_estimable(self) -> bool:
        useful = [b for b, parts in enumerate(self.parts) if parts]
        if not useful:
            return False
        aspects = self.aspects(useful, [np.zeros(outputs_of(self.parts[b])) for b in useful])
        shares = np.array([float(self.plan.shares[b]) for b in useful])
        return not PooledBranches(aspects, shares).lost.shape[1]

    def refusal(self) -> NotShown:
        blocks = dict.fromkeys(
            " with ".join(seen.columns) for seen in self.plan.channel().blocks_seen
        )
        shown = "; ".join(list(blocks)[:12]) + ("; …" if len(blocks) > 12 else "")
        names = ", ".join(self.columns)
        if answerable(self.plan, self.columns):
            return NotShown(
                f"The plan can give the table of {names}, but this release has too few records: "
                "none are in a branch that the table needs."
            )
        parts = (some for size in (1, 2) for some in combinations(self.columns, size))
        missing = next((some for some in parts if not answerable(self.plan, some)), self.columns)
        what = "pairs of them are shown, but not all of them together"
        if len(missing) == 2:
            together = " and ".join(missing)
            what = f"no records show {together} together so that all cells can be told"
        elif len(missing) == 1:
            what = f"the categories of {missing[0]} cannot be told apart from what is released"
        return NotShown(f"The plan cannot give the table of {names}: {what}. It shows {shown}.")


def answerable(plan: Plan, columns: Sequence[str]) -> bool:
    """Whether a plan can give the table of some columns; those it leaves untouched never hinder.

    >>> import pramble
    >>> from fractions import Fraction
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> halves = [pramble.Branch(Fraction(1, 2), {name: m}) for name in ("smokes", "drinks")]
    >>> plan = pramble.Plan(branches=halves)
    >>> answerable(plan, ["smokes"]), answerable(plan, ["smokes", "drinks"])
    (True, False)
    """
    channel = plan.channel(columns)
    if channel.axes is not None:
        return all(seen.is_identifiable for seen in channel.axes)
    return channel.size <= MOST_BLOCK_CELLS and branch_table(plan, channel.columns).is_estimable


def outputs_of(parts: Sequence[Part]) -> int:
    return math.prod(len(part.outputs) for part in parts)


def sums_of_cells(table: Crosstab, place: Integers, shape: tuple[int, ...]) -> dict[Powers, Floats]:
    given: Mapping[Powers, Any] = table.sums or {(1, 0): table.counts}
    size = math.prod(shape)
    sums = {powers: totals(place, own, size).reshape(shape) for powers, own in given.items()}
    refuse_no_weight(sums[1, 0])
    return sums


def gather(
    table: BranchTable, found: Crosstab, branch_of: Integers, *, group_of: Integers
) -> tuple[StackedOperator, dict[Powers, Floats]] | None:
    """Return all branches as one operator, and the sums over its outputs; None if none helps."""
    useful, sizes, place = stacked_places(table, found, branch_of)
    if not useful:
        return None
    outer = (int(group_of.max()) + 1, sum(sizes) + 1)
    flat = np.ravel_multi_index((group_of, place), outer)
    sums = sums_of_cells(found, flat, outer)
    numbers = totals(flat, found.counts, outer[0] * outer[1])
    pooled = sums[1, 0].sum(axis=0)
    aspects = table.aspects(useful, np.split(pooled[:-1], np.cumsum(sizes)[:-1]))
    return stack(aspects, sums[1, 0], numbers.reshape(outer)), sums


def stacked_places(
    table: BranchTable, found: Crosstab, branch_of: Integers
) -> tuple[list[int], list[int], Integers]:
    """Return the branches that help, how many outputs they have, and where each cell stands."""
    useful = [b for b, parts in enumerate(table.parts) if parts and (branch_of == b).any()]
    sizes = [outputs_of(table.parts[b]) for b in useful]
    place = np.full(len(found.cells), sum(sizes), dtype=np.int64)
    for start, b in zip(np.cumsum([0, *sizes[:-1]]).tolist(), useful, strict=False):
        rows = np.flatnonzero(branch_of == b)
        codes = {n: found.cells[rows, i] for i, n in enumerate(found.columns)}
        own = np.zeros(len(rows), dtype=np.int64)
        for part in table.parts[b]:
            keys = table.coding.keys(codes, part.needed, released=True)
            own = own * len(part.outputs) + places_among(part.outputs, keys)
        place[rows] = start + own
    return useful, sizes, place


def branches_of(found: Crosstab, channel: Channel, *, needed: Sequence[str]) -> Integers:
    """Return the branch of each released cell; of columns not needed only presence was counted."""
    blank, labels = channel.coding.blank, channel.coding.labels
    filled = np.zeros((len(found.cells), len(blank)), dtype=np.bool_)
    for i, name in enumerate(blank):
        codes = found.cells[:, found.columns.index(name)]
        filled[:, i] = codes < len(labels[name].outputs) if name in needed else codes == 1
    return channel.branch_of(filled)


def branch_table(plan: Plan, columns: Sequence[str]) -> BranchTable:
    """Return the table of the randomised ones of some columns; it is made once."""
    names = plan.channel(columns).columns
    return plan.once(("table", names), lambda: BranchTable(plan, names))

r"""Tables from plans of several branches and blocks: sums over what the records of each show.

What one block tells of a table is the block seen through the columns that the table shares. Where
margins are randomised by a matrix of their own (:mod:`pramble.mechanisms.channel`), its inverse is
all that counts. Else :math:`u = D_m^{-1} M^\top F^- C Q Q^\top` is the efficient unbiased estimate
of those sums of margins that are told, with an orthonormal basis Q, whatever the law of the columns
beside them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, Powers, totals
from pramble.data.records import Records
from pramble.errors import NotShown
from pramble.estimation.inverse.layout import (
    Layout,
    Tabulated,
    count_released,
    groups_of,
    refuse_many,
    sums_over,
)
from pramble.estimation.inverse.stacked import Aspect, Pooled, StackedOperator, stack
from pramble.information.fisher import covariance_of_cells, inner
from pramble.limits import MOST_CELLS
from pramble.mechanisms.channel import MOST_BLOCK_CELLS, BlockMargin, Channel, SeenBlock
from pramble.mechanisms.column_labels import places_among
from pramble.mechanisms.operators.base import MechanismOperator
from pramble.mechanisms.operators.dense import LARGEST_INVERSE
from pramble.mechanisms.plan import Block, Plan
from pramble.values import Floats, Integers, value

# Rounds in which the law of a block is fitted to its counts, from an even one.
STEPS = 3

# Cells of a table and the columns beside it up to which the likelihood is that of all of them.
MOST_FITTED = 500


@value(eq=False)
class ByMargin:
    """Margins that are randomised by a matrix of their own."""

    matrix: Floats
    u: Floats
    told: None = None
    is_exact: bool = True

    def at(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the matrix and its inverse, whatever was counted."""
        del counts
        return self.matrix, self.u


@value(eq=False)
class ByCells:
    """A matrix on the cells of a block, and which margin each is in."""

    matrix: Floats
    onto: Integers
    # (K, r): an orthonormal basis of the sums of margins that are told; None if all are
    told: Floats | None = None

    @cached_property
    def is_exact(self) -> bool:
        """Whether the law of outputs given a margin is known, whatever else the record holds."""
        _, first = np.unique(self.onto, return_index=True)
        return bool(np.abs(self.matrix - self.matrix[first][self.onto]).max() < 1e-12)

    def at(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return what is efficient at the law that the counts suggest."""
        law = np.full(len(self.matrix), 1 / len(self.matrix))
        for _ in range(STEPS):
            released = law @ self.matrix
            covariance = covariance_of_cells(self.matrix, law).matrix
            scores = np.divide(
                self.matrix, released, out=np.zeros_like(self.matrix), where=released > 0
            )
            G = scores.T @ covariance
            fitted = law
            law = inner(np.maximum(counts @ G, 0.0)) if counts.any() else law
        u = summed(G.T, self.onto).T
        if self.told is not None:
            u = u @ self.told @ self.told.T
        joint = summed(fitted[:, None] * self.matrix, self.onto)
        return joint / np.bincount(self.onto, weights=fitted)[:, None], u


@value(eq=False)
class ByOperator:
    """A block that is too large for an array, through its operator."""

    operator: MechanismOperator
    onto: Integers
    told: None = None

    @property
    def is_exact(self) -> bool:
        return len(self.onto) == int(self.onto.max()) + 1

    def at(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the matrix of the margins and the sums of the block's own right inverse."""
        inverse = self.operator.right_inverse()
        margins = (self.onto == np.arange(self.onto.max() + 1)[:, None]).astype(np.float64)
        S = len(self.onto)
        law = inner(np.maximum(inverse.apply(counts / max(counts.sum(), 1.0)), 0.0) + 1e-3 / S)
        matrix = self.operator.apply(margins * law) / (margins @ law)[:, None]
        return matrix, np.ascontiguousarray(inverse.adjoint(margins).T)


@value(eq=False)
class Part:
    """What one block tells of a table."""

    needed: Block  # The columns whose released values count
    outputs: Integers  # (T,): the key of each output, over those columns
    cells: Mapping[str, Integers]  # (K,): its code in each margin that is told
    telling: ByMargin | ByCells | ByOperator

    @property
    def margins(self) -> int:
        return len(next(iter(self.cells.values())))


def summed(rows: Floats, onto: Integers) -> Floats:
    answer = np.zeros((int(onto.max()) + 1, rows.shape[1]))
    np.add.at(answer, onto, rows)
    return answer


def part_of(seen: SeenBlock) -> Part | None:
    """Return what a block tells of the columns asked for: of all it has, or else of fewer."""
    sizes = range(len(seen.asked), 0, -1)
    for columns in (some for size in sizes for some in combinations(seen.asked, size)):
        margin = seen.margin(columns)
        alone = by_margin(margin)
        if alone is not None:
            return Part(columns, margin.outputs, margin.cells, alone)
        telling = by_block(seen, margin.onto)
        if telling is not None:
            outputs = seen.coding.keys(seen.outputs, seen.columns, released=True)
            return Part(seen.columns, outputs, margin.cells, telling)
    return None


def by_margin(margin: BlockMargin) -> ByMargin | None:
    """Return how margins are randomised by themselves; None if they are not, or are not told."""
    if margin.matrix is None:
        return None
    try:
        u = np.linalg.inv(margin.matrix)
    except np.linalg.LinAlgError:
        return None
    fine = bool(np.abs(u).sum(axis=1).max() < LARGEST_INVERSE)
    return ByMargin(margin.matrix, np.asarray(u)) if fine else None


def by_block(seen: SeenBlock, onto: Integers) -> ByCells | ByOperator | None:
    """Return how a whole block tells of margins; None if it does not, or is too large."""
    operator, (cells, outputs) = seen.mechanism.operator, seen.mechanism.shape
    if cells <= MOST_BLOCK_CELLS and cells * outputs <= MOST_CELLS:
        matrix = operator.dense()
        even = np.full(cells, 1 / cells)
        told = covariance_of_cells(matrix, even).estimable_sums(onto)
        if told.shape[1] == len(told):
            return ByCells(matrix, onto)
        return ByCells(matrix, onto, told) if told.shape[1] > 1 else None
    if max(cells, outputs) * (int(onto.max()) + 1) > MOST_CELLS:
        return None
    return ByOperator(operator, onto) if seen.is_identifiable else None


class BranchTable:
    """A table of columns as the branches of a plan without products show it.

    Blocks count that hold one of the ``bearing`` columns; of those of the table unless given.
    """

    def __init__(
        self, plan: Plan, columns: Sequence[str], *, bearing: Sequence[str] | None = None
    ) -> None:
        self.plan, self.channel = plan, plan.channel(columns)
        self.columns, self.shape = self.channel.columns, self.channel.shape
        refuse_many(self.shape, self.columns, most=MOST_BLOCK_CELLS)
        self.bearing = set(self.columns if bearing is None else bearing)
        self.coding, self.size = self.channel.coding, self.channel.size
        self.cells = self.channel.cells

    @cached_property
    def parts(self) -> list[list[Part]]:
        """What each branch tells, block by block; nothing from a branch that is silent."""
        bearing = [seen for seen in self.channel.blocks_seen if set(seen.columns) & self.bearing]
        found = {seen: part_of(seen) for seen in bearing}
        own = ([found.get(seen) for seen in view.seen] for view in self.channel.views)
        return [fitting([part for part in parts if part is not None]) for parts in own]

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
        """Return which cell of what a branch tells each cell of the table is in, or −1."""
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

    def aspects(self, branches: Sequence[int], counts: Sequence[Floats]) -> tuple[Aspect, ...]:
        ontos = [self.onto(self.parts[b]) for b in branches]
        impossible = np.any([onto < 0 for onto in ontos], axis=0)
        answer = []
        for b, onto, own in zip(branches, ontos, counts, strict=True):
            sizes = [len(part.outputs) for part in self.parts[b]]
            cube = own.reshape(sizes)
            pairs = []
            for axis, part in enumerate(self.parts[b]):
                others = tuple(i for i in range(len(sizes)) if i != axis)
                pairs.append(part.telling.at(cube.sum(axis=others)))
            matrix, u = (reduce(np.kron, side) for side in zip(*pairs, strict=True))
            told = told_of(self.parts[b])
            exact = all(part.telling.is_exact for part in self.parts[b])
            answer.append(Aspect(np.where(impossible, -1, onto), matrix, u, told, exact))
        return tuple(answer)

    @cached_property
    def is_estimable(self) -> bool:
        told = [b for b, parts in enumerate(self.parts) if parts]
        if not told:
            return False
        aspects = self.aspects(told, [np.zeros(outputs_of(self.parts[b])) for b in told])
        shares = np.array([float(self.plan.shares[b]) for b in told])
        return not Pooled(aspects, shares).lost.shape[1]

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
        what = what_is_missing(self.columns, lambda some: answerable(self.plan, some))
        return NotShown(f"The plan cannot give the table of {names}: {what}. It shows {shown}.")


def what_is_missing(columns: Sequence[str], is_told: Callable[[Sequence[str]], bool]) -> str:
    parts = (some for size in (1, 2) for some in combinations(columns, size))
    missing = next((some for some in parts if not is_told(some)), tuple(columns))
    if len(missing) > 2:
        return "pairs of them are shown, but not all of them together"
    if len(missing) == 2:
        together = " and ".join(missing)
        return f"no records show {together} together so that all cells can be told"
    return f"the categories of {missing[0]} cannot be told apart from what is released"


def told_of(parts: Sequence[Part]) -> Floats | None:
    """Return a basis of the sums that several blocks tell together; None if they tell all."""
    if all(part.telling.told is None for part in parts):
        return None
    own = (part.telling.told for part in parts)
    bases: list[Any] = [
        np.eye(part.margins) if told is None else told
        for part, told in zip(parts, own, strict=True)
    ]
    return np.asarray(reduce(np.kron, bases))


def fitting(parts: list[Part]) -> list[Part]:
    while len(parts) > 1:
        if math.prod(len(part.outputs) * part.margins for part in parts) <= MOST_CELLS:
            break
        parts = sorted(parts, key=lambda part: len(part.outputs))[:-1]
    return parts


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
    return channel.size <= MOST_BLOCK_CELLS and table_of(plan, channel.columns).is_estimable


def outputs_of(parts: Sequence[Part]) -> int:
    return math.prod(len(part.outputs) for part in parts)


def from_branches(
    records: Records,
    plan: Plan,
    *,
    by: Sequence[str],
    weights: Any = None,
    measure: str | None = None,
    partial: bool = False,
) -> Tabulated:
    table, found, branch_of = shown_by_branches(
        records, plan, by=by, weights=weights, measure=measure
    )
    untouched = [name for name in by if name not in plan.columns]
    groups, group_of = groups_of(found, len(untouched))
    gathered = gather(table, found, branch_of, group_of=group_of)
    if gathered is None:
        raise table.refusal()
    operator, sums = gathered
    if operator.lost.shape[1]:
        if not partial:
            raise table.refusal()
        operator = replace(operator, refusal=table.refusal())
    levels = dict(zip(untouched, found.levels, strict=False))
    categories = {name: table.coding.categories[name].values for name in table.columns}
    layout = Layout(tuple(by), table.cells, categories, levels, groups)
    finer = table.finer()
    fine = None if finer is None else gather(finer, found, branch_of, group_of=group_of)
    return Tabulated(
        layout,
        (operator,),
        sums,
        float(found.n),
        {},
        weights is not None,
        records.backend,
        None if fine is None else (fine[0], fine[1][1, 0]),
    )


def shown_by_branches(
    records: Records,
    plan: Plan,
    *,
    by: Sequence[str],
    beside: Sequence[str] = (),
    weights: Any = None,
    measure: str | None = None,
) -> tuple[BranchTable, Crosstab, Integers]:
    """Return a table, the released cells that bear on it, and the branch of each of them.

    The cells are by the untouched columns, those ``beside`` the table, and what is released.
    """
    table = table_of(plan, by)
    needed, coding = table.needed, table.coding
    found = count_released(
        records,
        [*(name for name in by if name not in plan.columns), *beside],
        {name: coding.outputs[name] for name in needed},
        weights=weights,
        measure=measure,
        presence=[name for name in coding.blank if name not in needed],
    )
    return table, found, branches_of(found, table.channel, needed=needed)


def gather(
    table: BranchTable, found: Crosstab, branch_of: Integers, *, group_of: Integers
) -> tuple[StackedOperator, dict[Powers, Floats]] | None:
    """Return all branches as one operator, and the sums over its outputs; None if none tells."""
    told, sizes, place = stacked_places(table, found, branch_of)
    if not told:
        return None
    outer = (int(group_of.max()) + 1, sum(sizes) + 1)
    flat = np.ravel_multi_index((group_of, place), outer)
    sums = sums_over(found, flat, outer)
    numbers = totals(flat, found.counts, outer[0] * outer[1])
    pooled = sums[1, 0].sum(axis=0)
    aspects = table.aspects(told, np.split(pooled[:-1], np.cumsum(sizes)[:-1]))
    return stack(aspects, sums[1, 0], numbers.reshape(outer)), sums


def stacked_places(
    table: BranchTable, found: Crosstab, branch_of: Integers
) -> tuple[list[int], list[int], Integers]:
    """Return the branches that tell, how many outputs they have, and where each cell stands."""
    told = [b for b, parts in enumerate(table.parts) if parts and (branch_of == b).any()]
    sizes = [outputs_of(table.parts[b]) for b in told]
    place = np.full(len(found.cells), sum(sizes), dtype=np.int64)
    for start, b in zip(np.cumsum([0, *sizes[:-1]]).tolist(), told, strict=False):
        rows = np.flatnonzero(branch_of == b)
        codes = {n: found.cells[rows, i] for i, n in enumerate(found.columns)}
        own = np.zeros(len(rows), dtype=np.int64)
        for part in table.parts[b]:
            keys = table.coding.keys(codes, part.needed, released=True)
            own = own * len(part.outputs) + places_among(part.outputs, keys)
        place[rows] = start + own
    return told, sizes, place


def branches_of(found: Crosstab, channel: Channel, *, needed: Sequence[str]) -> Integers:
    """Return the branch of each released cell; of columns not needed only presence was counted."""
    blank, labels = channel.coding.blank, channel.coding.labels
    filled = np.zeros((len(found.cells), len(blank)), dtype=np.bool_)
    for i, name in enumerate(blank):
        codes = found.cells[:, found.columns.index(name)]
        filled[:, i] = codes < len(labels[name].outputs) if name in needed else codes == 1
    return channel.branch_of(filled)


def table_of(plan: Plan, columns: Sequence[str]) -> BranchTable:
    """Return the table of the randomised ones of some columns; it is made once."""
    names = plan.channel(columns).columns
    return plan.once(("table", names), lambda: BranchTable(plan, names))

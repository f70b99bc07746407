r"""The channel: what some columns of a record look like in the release.

A public coin picks branch b of a plan with share :math:`w_b`, and its blocks B randomise their
columns, so a record with the cell x shows the branch and outputs z with the probability

.. math:: w_b \prod_B M_B[x_B, z_B] .

That is all that any analysis needs to know of a plan. Of the columns that are asked for only the
blocks bear that hold one of them. Where the released margin over these depends on the true margin
alone, :math:`M C' = C M'`, the margins are randomised by M' (as by every randomised response);
and where M is square, :math:`M^{-1} C = C' M'^{-1}`, so nothing else of the output counts, and
nothing of the size of M is built.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramble.errors import InvalidData, InvalidPlan, NotIdentifiable
from pramble.mechanisms.column_labels import Coding, places_among, places_if_among
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from pramble.data.labels import Labels
    from pramble.mechanisms.base import Mechanism
    from pramble.mechanisms.plan import Block, Branch

# Cells of a block up to which its matrix is held as an array.
MOST_BLOCK_CELLS = 3000


@frozen(eq=False)
class BlockMargin:
    """Some columns of a block: its cells and its outputs, summed over the other columns.

    - ``cells``: For each column its code in each of the K margins.
    - ``onto``, ``into``: The margin that each cell of the block is in; the released margin that
      each output is in.
    - ``outputs``: The key of each of the T' released margins.
    - ``matrix``: (K, T'), from margins to released ones, where those depend on nothing else and
      hold all that is released of them; None where not.
    """

    columns: Block
    cells: Mapping[str, Integers]
    onto: Integers
    outputs: Integers
    into: Integers
    matrix: Floats | None

    @property
    def size(self) -> int:
        return len(next(iter(self.cells.values())))


@frozen(eq=False)
class SeenBlock:
    """A block that bears on the columns asked for, ``asked`` among its ``columns``."""

    columns: Block
    asked: Block
    mechanism: Mechanism
    coding: Coding

    @cached_property
    def cells(self) -> dict[str, Integers]:
        return self.coding.of_labels(self.columns, self.mechanism.labels)

    @cached_property
    def outputs(self) -> dict[str, Integers]:
        return self.coding.of_labels(self.columns, self.mechanism.output_labels, released=True)

    @property
    def is_complete(self) -> bool:
        sizes = [len(self.coding.categories[name]) for name in self.columns]
        return self.mechanism.shape[0] == math.prod(sizes)

    @cached_property
    def is_identifiable(self) -> bool:
        try:
            self.mechanism.operator.right_inverse()
        except NotIdentifiable:
            return False
        return True

    def place(self, cells: Mapping[str, Integers]) -> Integers:
        """Return which category each cell is, by the codes of the block's columns; −1 for none."""
        known, wanted = (self.coding.keys(own, self.columns) for own in (self.cells, cells))
        return places_if_among(known, wanted)

    def output_place(self, released: Mapping[str, Integers]) -> Integers:
        name = self.columns[0]
        if len(self.columns) == 1 and self.mechanism.output_labels is self.coding.outputs[name]:
            return released[name]
        known = self.coding.keys(self.outputs, self.columns, released=True)
        return places_among(known, self.coding.keys(released, self.columns, released=True))

    def margin(self, columns: Block) -> BlockMargin:
        keys, first, onto = np.unique(
            self.coding.keys(self.cells, columns), return_index=True, return_inverse=True
        )
        released, into = np.unique(
            self.coding.keys(self.outputs, columns, released=True), return_inverse=True
        )
        onto, into = onto.reshape(-1), into.reshape(-1)
        cells = {name: self.cells[name][first] for name in columns}
        matrix = self._margin_matrix(onto, into) if len(released) == len(keys) else None
        return BlockMargin(columns, cells, onto, released, into, matrix)

    def _margin_matrix(self, onto: Integers, into: Integers) -> Floats | None:
        operator, (S, T) = self.mechanism.operator, self.mechanism.shape
        _, first = np.unique(onto, return_index=True)
        if S != T or len(first) > MOST_BLOCK_CELLS:
            return None
        # Uniform rows alike within a margin make uniform rows again, without all of M.
        if isinstance(operator, UniformOperator) and np.array_equal(onto, into):
            off, d = operator.off[first], operator.d[first]
            alike = np.array_equal(off[onto], operator.off) and np.array_equal(d[onto], operator.d)
            return np.outer(off, np.bincount(onto)) + np.diag(d) if alike else None
        if S > MOST_BLOCK_CELLS or not self.is_identifiable:
            return None
        rows = np.zeros((len(first), S))
        np.add.at(rows, into, operator.dense().T)
        margins = rows.T
        off_by = np.abs(margins - margins[first][onto]).max()
        return margins[first] if off_by < 1e-15 * len(first) else None  # rounding of the sums


@frozen(eq=False)
class BranchView:
    """What the records of one branch show of the columns asked for.

    - ``number``: The place of the branch in the plan.
    - ``share``: The probability of the branch, exactly.
    - ``columns``: All columns that it shows, asked for or not.
    - ``seen``: The blocks that hold a column asked for.
    """

    number: int
    share: Fraction
    columns: Block
    seen: tuple[SeenBlock, ...]

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return tuple(seen.mechanism for seen in self.seen)


class Channel:
    """What some columns of a record look like in the release; :meth:`Plan.channel` makes it.

    ``columns`` are the randomised ones among those
    asked for, ``views`` one for each branch in the order of the plan, and ``coding`` holds the
    codes of the labels of all columns of the plan.

    Examples
    --------
    >>> import pramble
    >>> from fractions import Fraction
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> halves = [pramble.Branch(Fraction(1, 2), {name: m}) for name in ("smokes", "drinks")]
    >>> channel = pramble.Plan(branches=halves).channel(["drinks"])
    >>> channel.shape, [(view.share, len(view.seen)) for view in channel.views]
    ((2,), [(Fraction(1, 2), 0), (Fraction(1, 2), 1)])
    """

    def __init__(self, branches: Iterable[Branch], columns: Sequence[str], coding: Coding) -> None:
        self.columns = tuple(columns)
        self.coding = coding
        known: dict[tuple[Block, int], SeenBlock] = {}
        views = []
        for number, branch in enumerate(branches):
            for block, mechanism in branch.blocks.items():
                asked = tuple(name for name in block if name in self.columns)
                if asked and (block, id(mechanism)) not in known:
                    known[block, id(mechanism)] = SeenBlock(block, asked, mechanism, coding)
            seen = [known[b, id(m)] for b, m in branch.blocks.items() if (b, id(m)) in known]
            views.append(BranchView(number, branch.share, branch.columns, tuple(seen)))
        self.views = tuple(views)

    @property
    def labels(self) -> dict[str, Labels]:
        return {name: self.coding.categories[name] for name in self.columns}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.coding.categories[name]) for name in self.columns)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def cells(self) -> dict[str, Integers]:
        grid = np.unravel_index(np.arange(self.size), self.shape) if self.columns else ()
        return dict(zip(self.columns, grid, strict=True))

    @property
    def blocks_seen(self) -> tuple[SeenBlock, ...]:
        return tuple(dict.fromkeys(seen for view in self.views for seen in view.seen))

    @property
    def axes(self) -> tuple[SeenBlock, ...] | None:
        """The blocks that make the table by themselves, one axis each; None if they do not.

        They do in a plan of one branch, if each lies inside the table or outside, with a cell for
        every combination of its columns' labels. Untouched columns alone need none.
        """
        if not self.columns:
            return ()
        seen = self.views[0].seen
        whole = all(one.asked == one.columns and one.is_complete for one in seen)
        return seen if len(self.views) == 1 and whole else None

    def structural_zeros(self, *, most: int) -> dict[Block, NDArray[np.bool_]]:
        """Return which cells of the columns of blocks are possible, where some are not.

        Tables of more than ``most`` cells are left out.
        """
        found: dict[Block, NDArray[np.bool_]] = {}
        for seen in self.blocks_seen:
            shape = [len(self.coding.categories[name]) for name in seen.columns]
            if seen.is_complete or math.prod(shape) > most:
                continue
            mask = np.zeros(shape, dtype=np.bool_)
            mask[tuple(seen.cells[name] for name in seen.columns)] = True
            found[seen.columns] = found.get(seen.columns, True) & mask
        return found

    def branch_of(self, filled: NDArray[np.bool_]) -> Integers:
        """Return the branch of each record, from which of the columns that may be blank are not.

        ``filled`` has a row for each record and a column for each of ``coding.blank``.
        """
        blank = self.coding.blank
        known: dict[frozenset[str], int] = {}
        for view in self.views:
            columns = frozenset(view.columns) & set(blank)
            if columns in known:
                raise InvalidPlan(
                    "Branches must show different columns to be told apart; two of them show "
                    f"{', '.join(sorted(view.columns))}."
                )
            known[columns] = view.number
        if not blank:
            return np.zeros(len(filled), dtype=np.int64)
        patterns, inverse = np.unique(filled, axis=0, return_inverse=True)
        answer = []
        for pattern in patterns:
            shown = frozenset(n for n, there in zip(blank, pattern, strict=True) if there)
            if shown not in known:
                raise InvalidData(
                    "The data must be a release by this plan; some records show "
                    f"{', '.join(sorted(shown)) or 'no column'} alone, which no branch does."
                )
            answer.append(known[shown])
        return np.asarray(np.array(answer)[inverse.reshape(-1)])

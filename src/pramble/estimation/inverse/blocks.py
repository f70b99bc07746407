r"""What one block tells of a table: the block seen through the columns that the table shares.

Where margins are randomised by a matrix of their own (:mod:`pramble.mechanisms.channel`), its
inverse is all that counts. Else :math:`u = D_m^{-1} M^\top F^- C Q Q^\top` is the efficient
unbiased estimate of those sums of margins that are told, with an orthonormal basis Q, whatever the
law of the columns beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from pramble.information.fisher import covariance_of_cells, inner
from pramble.limits import MOST_CELLS
from pramble.mechanisms.channel import MOST_BLOCK_CELLS, Margin, SeenBlock
from pramble.mechanisms.operators.base import MechanismOperator
from pramble.mechanisms.operators.dense import LARGEST_INVERSE
from pramble.mechanisms.plan import Block
from pramble.values import Floats, Integers, value

STEPS = 3


class Telling(Protocol):
    """How outputs tell of margins.

    Attributes
    ----------
    told : (K, r) array or None
        An orthonormal basis of the sums of margins that are told; None if all are.
    """

    @property
    def told(self) -> Floats | None:
        """The sums of margins that are told."""

    @property
    def is_exact(self) -> bool:
        """Whether the law of outputs given a margin is known, whatever else the record holds."""

    def at(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the matrix from margins to outputs and its right inverse, for such counts."""


@value(eq=False)
class Part:
    """What one block tells of a table."""

    needed: Block  # The columns whose released values count
    outputs: Integers  # (T,): the key of each output, over those columns
    cells: Mapping[str, Integers]  # (K,): its code in each margin that is told
    telling: Telling


@value(eq=False)
class ByMargin:
    """Margins that are randomised by a matrix of their own."""

    matrix: Floats
    u: Floats
    told: Floats | None = None
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
    told: Floats | None = None

    @cached_property
    def is_exact(self) -> bool:
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
        return margins_of(fitted[:, None] * self.matrix, self.onto, fitted), u


@value(eq=False)
class ByOperator:
    """A block that is too large for an array, through its operator."""

    operator: MechanismOperator
    onto: Integers
    told: Floats | None = None

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


def summed(rows: Floats, onto: Integers) -> Floats:
    answer = np.zeros((int(onto.max()) + 1, rows.shape[1]))
    np.add.at(answer, onto, rows)
    return answer


def margins_of(joint: Floats, onto: Integers, law: Floats) -> Floats:
    return np.asarray(summed(joint, onto) / np.bincount(onto, weights=law)[:, None])


def part_of(seen: SeenBlock) -> Part | None:
    """Return what a block tells of the columns asked for: of all it has, or else of fewer."""
    for columns in subsets(seen.asked):
        margin = seen.margin(columns)
        alone = by_margin(margin)
        if alone is not None:
            return Part(columns, margin.outputs, margin.cells, alone)
        telling = by_block(seen, margin.onto)
        if telling is not None:
            outputs = seen.coding.keys(seen.outputs, seen.columns, released=True)
            return Part(seen.columns, outputs, margin.cells, telling)
    return None


def subsets(names: Sequence[str]) -> Iterator[Block]:
    for size in range(len(names), 0, -1):
        yield from combinations(names, size)


def by_margin(margin: Margin) -> ByMargin | None:
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
        told = covariance_of_cells(matrix, even).told_sums(onto)
        if told.shape[1] == len(told):
            return ByCells(matrix, onto)
        return ByCells(matrix, onto, told) if told.shape[1] > 1 else None
    if max(cells, outputs) * (int(onto.max()) + 1) > MOST_CELLS:
        return None
    return ByOperator(operator, onto) if seen.is_identifiable else None

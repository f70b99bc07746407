"""A plan seen from the file: how each key column's levels move among each other."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidPlan
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.risk.cells import CrossClassification
from pramble.risk.columns import find_level
from pramble.values import Floats

Places = NDArray[np.int64]
Plan = Mapping[str, Mechanism]
LARGEST_ASSIGNMENT = 1_000_000


class ColumnLaw(ABC):
    """The part of a mechanism between the levels that occur in the file."""

    @property
    @abstractmethod
    def diagonal(self) -> Floats:
        """The probability of staying, for each level."""

    @property
    @abstractmethod
    def largest_move(self) -> float:
        """The largest probability of moving from one level to another."""

    @abstractmethod
    def power(self, exponent: int) -> "ColumnLaw":
        """Return the law with every entry raised to a power; rows no longer sum to 1."""

    @abstractmethod
    def dense(self) -> Floats:
        """Return the matrix from level to level."""

    @abstractmethod
    def carry(self, values: Floats, axis: int) -> Floats:
        r"""Return :math:`\sum_k v_{\dots k\dots} M_{kj}` along one axis."""

    @abstractmethod
    def misses(self, counts: Floats) -> Floats:
        r"""Return :math:`\sum_{k\ne j} f_k \log(1-M_{kj})` along the last axis."""


@dataclass(frozen=True)
class DenseLaw(ColumnLaw):
    """A law given by its matrix."""

    matrix: Floats

    @property
    def diagonal(self) -> Floats:
        """The probability of staying, for each level."""
        return np.asarray(np.diagonal(self.matrix), dtype=np.float64)

    @property
    def largest_move(self) -> float:
        """The largest probability of moving from one level to another."""
        away = self.matrix.copy()
        np.fill_diagonal(away, 0.0)
        return float(away.max())

    def power(self, exponent: int) -> "DenseLaw":
        """Return the law with every entry raised to a power."""
        return DenseLaw(self.matrix**exponent)

    def dense(self) -> Floats:
        """Return the matrix from level to level."""
        return self.matrix

    def carry(self, values: Floats, axis: int) -> Floats:
        """Return the mode product with the matrix."""
        return np.moveaxis(np.tensordot(values, self.matrix, axes=(axis, 0)), -1, axis)

    def misses(self, counts: Floats) -> Floats:
        """Return the log-probability that no other level's records land on each level."""
        away = self.matrix.copy()
        np.fill_diagonal(away, 0.0)
        certain = away >= 1
        missed = np.asarray(counts @ np.log1p(-np.where(certain, 0.0, away)), dtype=np.float64)
        return np.where(counts @ certain.astype(np.float64) > 0, -np.inf, missed)


@dataclass(frozen=True)
class UniformLaw(ColumnLaw):
    """Uniform off-diagonal rows: everything in time linear in the number of levels."""

    keep: Floats
    off: Floats

    @property
    def diagonal(self) -> Floats:
        """The probability of staying, for each level."""
        return self.keep

    @property
    def largest_move(self) -> float:
        """The largest probability of moving from one level to another."""
        return float(self.off.max()) if len(self.off) > 1 else 0.0

    def power(self, exponent: int) -> "UniformLaw":
        """Return the law with every entry raised to a power."""
        return UniformLaw(self.keep**exponent, self.off**exponent)

    def dense(self) -> Floats:
        """Return the matrix from level to level."""
        matrix = np.repeat(self.off[:, None], len(self.off), axis=1)
        np.fill_diagonal(matrix, self.keep)
        return matrix

    def carry(self, values: Floats, axis: int) -> Floats:
        """Return the mode product, as one sum and one scaling."""
        last = np.moveaxis(values, axis, -1)
        carried = (last @ self.off)[..., None] + last * (self.keep - self.off)
        return np.moveaxis(carried, -1, axis)

    def misses(self, counts: Floats) -> Floats:
        """Return the log-probability that no other level's records land on each level."""
        if (self.off >= 1).any():
            return DenseLaw(self.dense()).misses(counts)
        each = counts * np.log1p(-self.off)
        return np.asarray(each.sum(axis=-1, keepdims=True) - each, dtype=np.float64)


def laws_of(plan: Plan, table: CrossClassification) -> dict[int, ColumnLaw]:
    r"""Return the law of every key that the plan randomises, by its axis.

    An intruder who knows the plan reads each released label as the value it is best read as:
    outputs σ(x) are matched to values x so that :math:`\sum_x p_x M_{x\sigma(x)}` is largest, which
    is the label itself unless the labels were permuted or renamed. Columns of the plan that are no
    keys do not help an intruder link, and are left out.
    """
    laws = {}
    for axis, name in enumerate(table.keys):
        if name in plan:
            mechanism = plan[name]
            if not isinstance(mechanism, Mechanism):
                raise InvalidPlan(
                    f"A plan maps columns to mechanisms; {name!r} has {type(mechanism).__name__}."
                )
            rows = _rows_of(mechanism, table.levels[axis], name=name)
            own = _places(mechanism.outputs, table.levels[axis])
            columns = best_reading(mechanism, rows, own, shares=table.margin([axis]) / table.n)
            laws[axis] = law_between(mechanism, rows, columns)
    return laws


def _rows_of(mechanism: Mechanism, levels: Sequence[Any], *, name: str) -> Places:
    rows = _places(mechanism.categories, levels)
    lost = [level for level, row in zip(levels, rows, strict=True) if row < 0]
    if lost:
        raise InvalidPlan(
            f"The mechanism for column {name!r} must know every value that occurs; it does not "
            f"know {lost[0]!r}. Design it over all of the column's categories."
        )
    return rows


def _places(labels: Sequence[Any], levels: Sequence[Any]) -> Places:
    found = [find_level(labels, level) for level in levels]
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


@singledispatch
def best_reading(mechanism: Mechanism, rows: Places, own: Places, *, shares: Floats) -> Places:
    """Return the output that each value is best read from; −1 where none is left."""
    from scipy.optimize import linear_sum_assignment

    if len(rows) * mechanism.shape[1] > LARGEST_ASSIGNMENT:
        return own
    worth = shares[:, None] * mechanism.matrix[rows]
    values, outputs = linear_sum_assignment(worth, maximize=True)
    plain = worth[own >= 0, own[own >= 0]].sum()
    if worth[values, outputs].sum() <= plain * (1 + 1e-9):
        return own
    best = np.full(len(rows), -1, dtype=np.int64)
    best[values] = outputs
    return best


@best_reading.register
def _(mechanism: UniformRows, rows: Places, own: Places, *, shares: Floats) -> Places:
    """Uniform rows permute their labels only with two categories."""
    if mechanism.shape[0] == 2 and shares @ (mechanism.keep - mechanism.off)[rows] < 0:
        return 1 - own
    return own


@singledispatch
def law_between(mechanism: Mechanism, rows: Places, columns: Places) -> ColumnLaw:
    """Return the law from some rows to some outputs; an output of −1 is never released."""
    matrix = mechanism.matrix[rows[:, None], columns]
    return DenseLaw(np.where(columns >= 0, matrix, 0.0))


@law_between.register
def _(mechanism: UniformRows, rows: Places, columns: Places) -> ColumnLaw:
    if not np.array_equal(rows, columns):
        return law_between.dispatch(Mechanism)(mechanism, rows, columns)
    return UniformLaw(mechanism.keep[rows] / TOTAL, mechanism.off[rows] / TOTAL)

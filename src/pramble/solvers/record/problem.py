"""What :func:`~pramble.design_record` was asked, checked once."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput, InvalidPrior
from pramble.information.distributions import (
    ArrayDistribution,
    RecordDistribution,
    Table,
    TableDistribution,
    as_distribution,
    as_tables,
    margin_of,
)
from pramble.information.structural_zeros import Possible, as_possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.distance import Distance
from pramble.values import Floats, Integers, value

OBJECTIVES = ("estimation", "information")


@value(eq=False)
class Block:
    """Columns that may travel together, and their possible cells.

    Attributes
    ----------
    columns : tuple of str
    cells : (S, k) array
        Codes of the possible cells, in lexicographic order.
    law : (S,) array
        Their probabilities.
    labels : Labels
        Their labels: those of the column, or tuples.
    """

    columns: Table
    cells: Integers
    law: Floats
    labels: Labels

    @property
    def size(self) -> int:
        """Number of possible cells."""
        return len(self.cells)

    @cached_property
    def margins(self) -> dict[Table, tuple[Integers, Integers]]:
        """The margins that were asked for so far."""
        return {}

    def onto(self, columns: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the possible cells of some of its columns, and which of them each cell is in."""
        names = tuple(columns)
        if names not in self.margins:
            self.margins[names] = self.summed_onto(names)
        return self.margins[names]

    def summed_onto(self, columns: Table) -> tuple[Integers, Integers]:
        """Return the possible cells of some of its columns, and which of them each cell is in."""
        places = [self.columns.index(name) for name in columns]
        codes = self.cells[:, places]
        shape = tuple((codes.max(axis=0) + 1).tolist())
        flat = np.ravel_multi_index(tuple(codes.T), shape)
        found, inverse = np.unique(flat, return_inverse=True)
        return np.stack(np.unravel_index(found, shape), axis=1), np.asarray(inverse).reshape(-1)


@value(eq=False)
class RecordProblem:
    """Columns, a law of records, what is possible, and the tables that are wanted."""

    labels: Mapping[str, Labels]
    alpha: float
    law: RecordDistribution
    possible: Possible
    tables: tuple[Table, ...]
    objective: str
    whole: bool
    given: Table = ()
    distance: Mapping[str, Distance] | None = None

    @cached_property
    def columns(self) -> Table:
        """Every column, in order."""
        return tuple(self.labels)

    @cached_property
    def size(self) -> int:
        """Number of cells of a record, impossible ones included."""
        return math.prod(len(labels) for labels in self.labels.values())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Numbers of categories."""
        return {name: len(labels) for name, labels in self.labels.items()}

    @cached_property
    def blocks(self) -> dict[Table, Block]:
        """The blocks that were asked for so far."""
        return {}

    def block(self, columns: Sequence[str]) -> Block:
        """Return the possible cells of some columns with their law."""
        names = tuple(columns)
        if names not in self.blocks:
            possible = self.mask(names)
            cells = np.argwhere(possible)
            law = self.law.margin(names)[possible]
            lists = [self.labels[name].values for name in names]
            parts = [
                [own[code] for code in codes.tolist()]
                for own, codes in zip(lists, cells.T, strict=True)
            ]
            labels = Labels(tuple(parts[0] if len(names) == 1 else zip(*parts, strict=True)))
            self.blocks[names] = Block(names, cells, law / law.sum(), labels)
        return self.blocks[names]

    def counts(self, columns: Sequence[str]) -> int:
        """Return the number of possible cells of some columns."""
        if not self.possible.tables:
            return self.size_of(columns)
        names = tuple(columns)
        if names not in self.counted:
            self.counted[names] = int(self.mask(names).sum())
        return self.counted[names]

    def mask(self, columns: Table) -> NDArray[np.bool_]:
        """Return which cells of some columns are possible."""
        if self.stated is None:
            return self.possible.mask(columns)
        return np.asarray(self.stated.margin(columns) > 0)

    @cached_property
    def stated(self) -> ArrayDistribution | None:
        """What is possible as an array over all cells, if it was stated so."""
        if len(self.possible.tables) != 1 or self.possible.tables[0][0] != self.columns:
            return None
        return ArrayDistribution(self.sizes, self.possible.tables[0][1].astype(np.float64))

    @cached_property
    def counted(self) -> dict[Table, int]:
        """The numbers of possible cells that were asked for so far."""
        return {}

    def size_of(self, columns: Sequence[str]) -> int:
        """Return the number of cells of some columns, impossible ones included."""
        return math.prod(self.sizes[name] for name in columns)


def as_problem(columns: Mapping[str, Any], *, tables: Any = "all") -> RecordProblem:
    """Return the problem of some columns in which every record is possible and as likely."""
    labels = as_columns(columns)
    sizes = {name: len(own.values) for name, own in labels.items()}
    return RecordProblem(
        labels=labels,
        alpha=1.0,
        law=as_distribution(None, sizes),
        possible=as_possible(None, {name: own.values for name, own in labels.items()}),
        tables=as_tables(tables, tuple(labels)),
        objective="estimation",
        whole=False,
    )


def as_columns(columns: Mapping[str, Any]) -> dict[str, Labels]:
    """Return the labels of each column, from lists or numbers of categories."""
    if not isinstance(columns, Mapping) or not columns:
        raise InvalidInput("Columns are a mapping from names to labels or numbers of categories.")
    found = {}
    for name, labels in columns.items():
        if str(name) in found:
            raise InvalidInput(f"Two columns are named {str(name)!r}: give each its own name.")
        found[str(name)] = as_labels(labels)
        if len(found[str(name)].values) < 2:
            raise InvalidInput(f"Column {name!r} must have at least two categories.")
    return found


def refuse_wide_tables(problem: RecordProblem) -> None:
    """Refuse wanted tables of more cells than can be valued."""
    for table in problem.tables:
        cells = problem.counts(table)
        if cells > MOST_WANTED_CELLS:
            raise InvalidInput(
                f"A wanted table has at most {MOST_WANTED_CELLS:,} possible cells; "
                f"{' × '.join(table)} has {cells:,}. Want other tables, or merge categories."
            )


def refuse_impossible(law: RecordDistribution, possible: Possible) -> None:
    """Refuse a stated law that gives probability to cells that cannot occur."""
    stated = law.tables if isinstance(law, TableDistribution) else {}
    if isinstance(law, ArrayDistribution):
        stated = {tuple(law.sizes): law.cells}
    for names, table in stated.items():
        columns = tuple(name for name in names if name in possible.sizes)
        if columns and margin_of(table, names, columns)[~possible.mask(columns)].any():
            raise InvalidPrior(
                f"The prior gives probability to impossible cells of {', '.join(columns)}."
            )

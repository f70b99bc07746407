"""What :func:`~pramble.design_record` was asked, checked once."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.frames import Tidy
from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput, InvalidPrior
from pramble.information.distributions import (
    ArrayDistribution,
    RecordDistribution,
    Table,
    TableDistribution,
    margin_of,
)
from pramble.information.fisher import HALF_WIDTH, typical_error
from pramble.information.structural_zeros import Possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.plan import Plan
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.certificate import Certificate, certify
from pramble.shown import Display, Grid, number, shortened
from pramble.solvers.problem import ObjectiveName
from pramble.values import Floats, Integers, frozen
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure


OBJECTIVES = ("estimation", "information")


@frozen(eq=False)
class RecordBlock:
    """Columns that may travel together, and their possible cells."""

    columns: Table
    cells: Integers  # codes, (S, k), in lexicographic order
    distribution: Floats  # their probabilities
    labels: Labels  # those of the column, or tuples

    @property
    def size(self) -> int:
        """Number of possible cells."""
        return len(self.cells)

    @cached_property
    def margins(self) -> dict[Table, tuple[Integers, Integers]]:
        return {}

    def onto(self, columns: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the possible cells of some of its columns, and which of them each cell is in."""
        names = tuple(columns)
        if names not in self.margins:
            places = [self.columns.index(name) for name in names]
            codes = self.cells[:, places]
            shape = tuple((codes.max(axis=0) + 1).tolist())
            flat = np.ravel_multi_index(tuple(codes.T), shape)
            found, inverse = np.unique(flat, return_inverse=True)
            cells = np.stack(np.unravel_index(found, shape), axis=1)
            self.margins[names] = cells, np.asarray(inverse).reshape(-1)
        return self.margins[names]


@frozen(eq=False)
class RecordProblem:
    """Columns, a distribution of records, what is possible, and the tables that are wanted."""

    labels: Mapping[str, Labels]
    distribution: RecordDistribution
    possible: Possible
    tables: tuple[Table, ...]
    alpha: float = 1.0
    objective: ObjectiveName = "estimation"
    whole: bool = False
    distance: Mapping[str, Distance] | None = None

    @cached_property
    def columns(self) -> Table:
        return tuple(self.labels)

    @cached_property
    def size(self) -> int:
        """Number of cells of a record, impossible ones included."""
        return math.prod(len(labels) for labels in self.labels.values())

    @cached_property
    def sizes(self) -> dict[str, int]:
        return {name: len(labels) for name, labels in self.labels.items()}

    @cached_property
    def blocks(self) -> dict[Table, RecordBlock]:
        return {}

    def block(self, columns: Sequence[str]) -> RecordBlock:
        """Return the possible cells of some columns with their distribution."""
        names = tuple(columns)
        if names not in self.blocks:
            possible = self.mask(names)
            cells = np.argwhere(possible)
            distribution = self.distribution.margin(names)[possible]
            lists = [self.labels[name].values for name in names]
            parts = [
                [own[code] for code in codes.tolist()]
                for own, codes in zip(lists, cells.T, strict=True)
            ]
            labels = Labels(tuple(parts[0] if len(names) == 1 else zip(*parts, strict=True)))
            self.blocks[names] = RecordBlock(
                names, cells, distribution / distribution.sum(), labels
            )
        return self.blocks[names]

    def counts(self, columns: Sequence[str]) -> int:
        if not self.possible.tables:
            return self.size_of(columns)
        names = tuple(columns)
        if names not in self.counted:
            self.counted[names] = int(self.mask(names).sum())
        return self.counted[names]

    def mask(self, columns: Table) -> NDArray[np.bool_]:
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
        return {}

    def size_of(self, columns: Sequence[str]) -> int:
        """Return the number of cells of some columns, impossible ones included."""
        return math.prod(self.sizes[name] for name in columns)


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


def refuse_impossible_prior(distribution: RecordDistribution, possible: Possible) -> None:
    """Refuse a stated distribution that gives probability to cells that cannot occur."""
    stated = distribution.tables if isinstance(distribution, TableDistribution) else {}
    if isinstance(distribution, ArrayDistribution):
        stated = {tuple(distribution.sizes): distribution.cells}
    for names, table in stated.items():
        columns = tuple(name for name in names if name in possible.sizes)
        if columns and margin_of(table, names, columns)[~possible.mask(columns)].any():
            raise InvalidPrior(
                f"The prior gives probability to impossible cells of {', '.join(columns)}."
            )


@frozen(eq=False, repr=False)
class RecordDesign(Display, Tidy):
    r"""The answer of :func:`~pramble.design_record`.

    Attributes
    ----------
    plan : Plan
        What is done to a record.
    alpha : float
        What was asked for, of the whole record; for a central promise, the α that the plan has
        besides.
    objective : str
    value : float
        Estimation: the sum over the wanted tables of n times the summed asymptotic variance of
        their cells, sampling included. Information: nats about the whole record.
    bound : float
        A proven bound on the value of any plan, or any other mechanism on the record.
    costs : mapping from table to float
        The part of the value of each wanted table.
    notes : tuple of str
    information : float
        Nats about the whole record; of blocks side by side at least so many.
    central : CentralGuarantee or None
        What is proven of the shuffled file, where a central promise was asked for.
    distance : mapping from column to Distance, or None
        Where α is per unit of distance, summed over the columns.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_record({"a": 2, "b": 2}, 1.0, tables=1)
    >>> sorted(d.costs), d.gap < 0.5, d.certificate.satisfies(1.0)
    ([('a',), ('b',)], True, True)
    """

    plan: Plan
    alpha: float
    objective: str
    value: float
    bound: float
    costs: Mapping[Table, float]
    notes: tuple[str, ...] = ()
    information: float = 0.0
    central: CentralGuarantee | None = None
    distance: Mapping[str, Distance] | None = None

    @property
    def gap(self) -> float:
        """How far value and bound are apart, as a share of the value."""
        return abs(self.bound - self.value) / abs(self.value) if self.value else 0.0

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the plan, of the whole record; by distance, per unit."""
        return certify(self.plan, distance=self.distance)

    def columns(self) -> dict[str, list[Any]]:
        """Return the wanted tables as plain lists: their cells, cost, and what it means.

        ``standard_error`` is that of a typical cell of a table estimated from one record; divide
        it by the root of the number of records.
        """
        sizes = {name: len(own.labels) for name, own in self.plan.column_labels().items()}
        cells = [math.prod(sizes[name] for name in table) for table in self.costs]
        costs = list(self.costs.values())
        return {
            "table": [" × ".join(table) for table in self.costs],
            "cells": cells,
            "cost": costs,
            "standard_error": [
                typical_error(cost, cells=size) for cost, size in zip(costs, cells, strict=True)
            ],
        }

    def shown(self) -> Grid:
        """Return a line for each wanted table, and what the plan is worth as a whole."""
        rows = [
            [table, f"{cells:,}", number(cost), f"± {number(100 * HALF_WIDTH * error / 100, 3)}"]
            for table, cells, cost, error in zip(*self.columns().values(), strict=True)
        ]
        promise = "" if self.central is None else f", central ε = {self.central.epsilon:.4g}"
        promise += "" if self.distance is None else " per unit of distance"
        branches = several(len(self.plan.shares), "branch")
        kind = "nats" if self.objective == "information" else "n × summed variance"
        return Grid(
            f"RecordDesign: {branches}, α = {number(self.alpha)}{promise}",
            ["table", "cells", "n × variance", "points at 10,000 records"],
            shortened(rows),
            notes=self.notes,
            below=f"In all {number(self.value, 6)} ({kind}), proven bound "
            f"{number(self.bound, 6)}. ± points: 95 % of a typical cell.",
        )

    def plot(self) -> "Figure":
        """Return a figure of the plan: which columns each part shows."""
        return self.plan.plot()

"""Priors, and distributions of records: the probabilities of every table of some columns.

A distribution of records gives the margin of any set of columns. It is an array over all cells, or
tables of some columns, which are joined where a larger one is asked for: of all distributions with
the given margins the one of largest entropy, by iterative proportional fitting.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.errors import InvalidInput, InvalidPrior
from pramble.information.proportional import Margin, fit_array
from pramble.limits import MOST_CELLS
from pramble.values import Floats, Integers, frozen

# Shares written with ten digits pass, and are divided by their sum.
SUM_TOLERANCE = 1e-9


def as_prior(p: ArrayLike, *, size: int | None = None) -> NDArray[np.float64]:
    """Return a read-only probability vector; refuse what is none, naming the place.

    The sum must be 1 within 1e-9; the vector is divided by it unless it is 1 within float error.
    """
    try:
        prior = np.array(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior("A prior must be a vector of numbers.") from None
    if prior.ndim != 1 or not prior.size:
        raise InvalidPrior(f"A prior must be a vector of numbers; found shape {prior.shape}.")
    bad = np.flatnonzero(~(np.isfinite(prior) & (prior >= 0)))
    if bad.size:
        raise InvalidPrior(
            f"A prior must hold probabilities; position {bad[0]} holds {prior[bad[0]]}."
        )
    total = prior.sum()
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidPrior(
            f"A prior must sum to 1 within {SUM_TOLERANCE}; it sums to {total:.12g}. "
            "Divide counts by their total first."
        )
    if size is not None and len(prior) != size:
        raise InvalidPrior(f"The mechanism has {size} categories; the prior has {len(prior)}.")
    # Nearer to one a division would change digits for nothing.
    if abs(total - 1) > 1e-15:
        prior /= total
    prior.flags.writeable = False
    return prior


# Of the joining of tables: noisy ones may have no common distribution, and end by sweeps.
SWEEPS, CLOSE = 200, 1e-10
# An array with a smaller part of its cells filled is summed over those alone.
SPARSE = 4

# The columns of a table.
Table = tuple[str, ...]


class RecordDistribution(ABC):
    """A distribution of records over columns with known numbers of categories."""

    sizes: Mapping[str, int]

    @abstractmethod
    def margin(self, columns: Sequence[str]) -> Floats:
        """Return the probabilities of the cells of some columns, an axis for each."""

    def shape(self, columns: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in columns)


@frozen(eq=False)
class UniformDistribution(RecordDistribution):
    """Every record is as likely as any other.

    >>> UniformDistribution({"sex": 2, "age": 4}).margin(["age"])
    array([0.25, 0.25, 0.25, 0.25])
    """

    sizes: Mapping[str, int]

    def margin(self, columns: Sequence[str]) -> Floats:
        shape = self.shape(columns)
        return np.full(shape, 1 / math.prod(shape))


@frozen(eq=False)
class ArrayDistribution(RecordDistribution):
    """Probabilities of all cells."""

    sizes: Mapping[str, int]
    cells: Floats

    def margin(self, columns: Sequence[str]) -> Floats:
        # Large arrays are mostly empty: only what is occupied is added up.
        codes, masses = self.occupied
        if len(masses) * SPARSE > self.cells.size:
            return margin_of(self.cells, tuple(self.sizes), columns)
        shape, names = self.shape(columns), list(self.sizes)
        flat = np.ravel_multi_index(tuple(codes[names.index(name)] for name in columns), shape)
        found = np.bincount(flat, weights=masses, minlength=math.prod(shape))
        return np.asarray(found, dtype=np.float64).reshape(shape)

    @cached_property
    def occupied(self) -> tuple[tuple[Integers, ...], Floats]:
        codes = np.nonzero(self.cells)
        return tuple(codes), np.asarray(self.cells[codes])


@frozen(eq=False)
class TableDistribution(RecordDistribution):
    """Probabilities of some tables."""

    sizes: Mapping[str, int]
    tables: Mapping[Table, Floats]

    def margin(self, columns: Sequence[str]) -> Floats:
        """Return a margin of a given table, or of the largest entropy with all of them."""
        wanted = set(columns)
        for names, table in self.tables.items():
            if wanted <= set(names):
                return margin_of(table, names, columns)
        shape = self.shape(columns)
        if math.prod(shape) > MOST_CELLS:
            raise InvalidPrior(f"The columns {', '.join(columns)} have too many cells to join.")
        parts = [
            (shared, margin_of(table, names, shared))
            for names, table in self.tables.items()
            if (shared := tuple(name for name in columns if name in names))
        ]
        return join_tables(shape, columns, parts)


def join_tables(
    shape: tuple[int, ...],
    columns: Sequence[str],
    parts: Sequence[tuple[Table, Floats]],
    *,
    start: Floats | None = None,
) -> Floats:
    """Return the distribution of largest entropy with some margins; empty where ``start`` is.

    Where no cell is left, since these margins want cells that are empty, it is that of ``start``.

    >>> half = np.array([0.5, 0.5])
    >>> join_tables((2, 2), ["a", "b"], [(("a",), half), (("b",), half)])
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    even = np.full(shape, 1 / math.prod(shape)) if start is None else start / start.sum()
    margins, cells = [Margin(tuple(map(columns.index, names)), own) for names, own in parts], +even
    fit_array(cells, margins, close=CLOSE, sweeps=SWEEPS)
    return np.asarray(cells / cells.sum()) if cells.any() else even


def margin_of(cells: Floats, names: Sequence[str], columns: Sequence[str]) -> Floats:
    others = tuple(i for i, name in enumerate(names) if name not in columns)
    left = [name for name in names if name in columns]
    summed = cells.sum(axis=others)
    return np.asarray(np.transpose(summed, [left.index(name) for name in columns]))


def as_distribution(prior: Any, sizes: Mapping[str, int]) -> RecordDistribution:
    if prior is None:
        return UniformDistribution(sizes)
    if isinstance(prior, Mapping):
        tables = {}
        for key, table in prior.items():
            names = (key,) if isinstance(key, str) else tuple(key)
            unknown = [name for name in names if name not in sizes]
            if unknown:
                raise InvalidPrior(f"The prior has a table of {unknown[0]!r}, which is no column.")
            shape = tuple(sizes[name] for name in names)
            tables[names] = as_probabilities(table, shape, what=f"The table {', '.join(names)}")
        missing = [name for name in sizes if not any(name in names for names in tables)]
        tables |= {(name,): np.full(sizes[name], 1 / sizes[name]) for name in missing}
        return TableDistribution(sizes, tables)
    return ArrayDistribution(
        sizes, as_probabilities(prior, tuple(sizes.values()), what="The prior")
    )


def as_probabilities(values: Any, shape: tuple[int, ...], *, what: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape:
        raise InvalidPrior(f"{what} must have the shape {shape}; found {found.shape}.")
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InvalidPrior(f"{what} must hold finite, non-negative numbers.")
    if not math.isclose(float(found.sum()), 1, abs_tol=1e-9):
        raise InvalidPrior(
            f"{what} must sum to 1; it sums to {float(found.sum()):.9g}. Divide counts by their "
            "total."
        )
    return found


def as_tables(tables: Any, columns: Sequence[str]) -> tuple[Table, ...]:
    """Return the wanted tables: all of so many columns, every set of columns, or as listed.

    >>> as_tables(2, ["a", "b", "c"])
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    if tables == "all":
        sizes: Iterable[int] = range(1, len(columns) + 1)
        return tuple(table for size in sizes for table in combinations(columns, size))
    if isinstance(tables, int) and not isinstance(tables, bool):
        if not 1 <= tables <= len(columns):
            raise InvalidInput(
                f"Tables of {tables} columns need as many; there are {len(columns)} columns."
            )
        return tuple(combinations(columns, tables))
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        raise InvalidInput(
            'tables is 1, 2, 3, "all", or a list of tuples of columns; "auto" goes with protected '
            f"tables alone. Found {tables!r}."
        )
    found = []
    for table in tables:
        names = (table,) if isinstance(table, str) else tuple(table)
        unknown = [name for name in names if name not in columns]
        if unknown or not names or len(set(names)) != len(names):
            what = f"{unknown[0]!r} is no column" if unknown else "it must name columns once"
            raise InvalidInput(f"A wanted table names different columns: {what}.")
        found.append(tuple(name for name in columns if name in names))
    if not found or len(set(found)) != len(found):
        raise InvalidInput("tables must name one or more different tables.")
    return tuple(found)

r"""The law of records that a plan is designed for: noisy tables, public ones, or none.

A private prior spends a stated part ε of α on m tables, :math:`\varepsilon/m` each, with discrete
Laplace noise; they are then made consistent, which costs nothing. Which tables is decided without a
look at the data: the wanted ones if their noise is small beside the number of rows, else one-way
tables, else none.
"""

import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pramble.data.crosstab import crosstab
from pramble.data.open import open_records
from pramble.errors import InvalidPrior
from pramble.information.consistent import consistent
from pramble.information.distributions import Table
from pramble.information.structural_zeros import Possible
from pramble.releasing.priors import (
    RandBelow,
    check_law,
    check_origin,
    declared_places,
    noisy_histogram,
    public_prior,
    refuse_confidential,
)
from pramble.releasing.spec.column import ColumnSpec
from pramble.values import Floats, Integers, value

NOISE = 0.25
"""Tables whose summed noise is expected to exceed this part of the rows are not worth their ε."""

UNIFORM = 0.5
"""So many records a cell are added to tables, evenly, so that no cell is taken for impossible."""


@value(eq=False)
class RecordPrior:
    """Tables that a law of records is made from, their source, and what they spent.

    Attributes
    ----------
    tables : mapping from table to array
        Probabilities of their cells; none of them is a uniform law.
    source : str
        "uniform", "public", "private" or "confidential".
    spent : Fraction
        Part of α spent on them, exactly; zero unless private.
    detail : str
        One sentence for the manifest and the report.
    """

    tables: Mapping[Table, Floats]
    source: str
    spent: Fraction
    detail: str

    def __post_init__(self) -> None:
        check_origin(self.source, self.spent)
        for table in self.tables.values():
            check_law(table.reshape(-1).tolist())


EVEN = RecordPrior({}, "uniform", Fraction(0), "Every record counted as equally likely.")


def tables_worth(
    wanted: Sequence[Table], sizes: Mapping[str, int], epsilon: Fraction, *, rows: int
) -> tuple[Table, ...]:
    """Return the tables whose noisy counts say something: the wanted ones, one-way ones, or none.

    >>> sizes = {"a": 4, "b": 5}
    >>> tables_worth([("a", "b")], sizes, Fraction(1, 25), rows=100_000)
    (('a', 'b'),)
    >>> tables_worth([("a", "b")], sizes, Fraction(1, 25), rows=2_500)
    (('a',), ('b',))
    >>> tables_worth([("a", "b")], sizes, Fraction(1, 25), rows=100)
    ()
    """
    singles = tuple((name,) for name in sizes)
    for tables in (tuple(wanted), singles):
        cells = sum(int(np.prod([sizes[name] for name in table])) for table in tables)
        noise = float(2 * len(tables) / epsilon) * cells / len(tables)
        if noise <= NOISE * rows:
            return tables
    return ()


def private_tables(
    counts: Mapping[Table, Integers],
    epsilon: Fraction,
    *,
    rows: int,
    possible: Possible,
    randbelow: RandBelow = secrets.randbelow,
) -> RecordPrior:
    """Return consistent tables from counts with exact discrete Laplace noise, ε in all."""
    part = epsilon / len(counts)
    noisy = {
        table: np.array(
            noisy_histogram(found.reshape(-1).tolist(), part, randbelow=randbelow), dtype=np.float64
        ).reshape(found.shape)
        / rows
        for table, found in counts.items()
    }
    return RecordPrior(
        evened(consistent(noisy), possible, rows=rows),
        "private",
        epsilon,
        f"{len(counts)} tables with discrete Laplace noise of scale {float(2 / part):.6g} "
        f"(sensitivity 2), which spent {float(epsilon):.6g} of α together.",
    )


def confidential_tables(
    counts: Mapping[Table, Integers], *, rows: int, possible: Possible, allowed: bool
) -> RecordPrior:
    refuse_confidential(allowed=allowed)
    return RecordPrior(
        evened({table: found / rows for table, found in counts.items()}, possible, rows=rows),
        "confidential",
        Fraction(0),
        "Counted on the confidential file: the privacy guarantee is conditional on these "
        "probabilities, which the plan may reveal.",
    )


def public_tables(
    columns: Sequence[ColumnSpec],
    labels: Mapping[str, Sequence[Any]],
    wanted: Sequence[Table],
    *,
    possible: Possible,
) -> RecordPrior:
    """Return tables of a public source: the wanted ones, or those of single columns."""
    paths = {column.prior_file for column in columns}
    path = next(iter(paths)) if len(paths) == 1 else None
    if path is not None and set(labels) <= set(open_records(Path(path)).names):
        found = {table: public_table(Path(path), table, labels) for table in wanted}
        return RecordPrior(
            evened(found, possible), "public", Fraction(0), f"Tables of {Path(path).name}, public."
        )
    singles: dict[Table, Floats] = {}
    lacks = []
    for column in columns:
        if column.prior_file is not None:
            source = public_prior(column.prior_file, column.name, categories=labels[column.name])
            prior = source.probabilities
            lacks += [source.detail] if "lacks" in source.detail else []
        else:
            prior = column.prior
        if len(prior) != len(labels[column.name]):
            raise InvalidPrior(
                f"Column {column.name!r} has {len(labels[column.name])} categories and "
                f"{len(prior)} probabilities."
            )
        singles[column.name,] = np.array(prior)
    detail = " ".join(["Frequencies of single columns, public.", *lacks])
    return RecordPrior(singles, "public", Fraction(0), detail)


def public_table(path: Path, table: Table, labels: Mapping[str, Sequence[Any]]) -> Floats:
    counted = crosstab(open_records(path), list(table))
    places = [
        np.array(declared_places(levels, labels[name], column=name, source=path), dtype=np.int64)
        for name, levels in zip(table, counted.levels, strict=True)
    ]
    cells = np.zeros(tuple(len(labels[name]) for name in table))
    np.add.at(cells, np.ix_(*places), counted.array())
    return np.asarray(cells / cells.sum())


def evened(
    tables: Mapping[Table, Floats], possible: Possible, *, rows: int = 1000
) -> dict[Table, Floats]:
    """Return tables in which every possible cell has some probability, and no other."""
    if not tables:
        return {}
    most = max(table.size for table in tables.values())
    part = min(0.1, UNIFORM * most / rows)
    return restricted(
        {names: (1 - part) * table + part / table.size for names, table in tables.items()},
        possible,
    )


def restricted(tables: Mapping[Table, Floats], possible: Possible) -> dict[Table, Floats]:
    left = {names: np.where(possible.mask(names), own, 0.0) for names, own in tables.items()}
    return {names: own / own.sum() for names, own in left.items()}

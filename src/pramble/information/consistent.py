r"""Noisy tables made to agree with each other, and to be laws.

Two noisy tables of one file disagree about the columns that they share. The nearest tables that
agree, and those without negative cells, are two convex sets; projecting onto one and the other in
turn leads to their intersection. Of a margin that several tables have, the weighted mean is taken,
weights by the number of noisy cells that each sums, as in the consistency step of Qardaji, Yang and
Li (2014).
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from pramble.information.records import Table, margin_of
from pramble.information.simplex import nearest_on_simplex
from pramble.values import Floats

ROUNDS, CLOSE = 60, 1e-7


def consistent(tables: Mapping[Table, Floats]) -> dict[Table, Floats]:
    """Return laws near to noisy shares, which have the same margins where they overlap.

    >>> found = consistent({("a", "b"): np.array([[0.7, -0.1], [0.2, 0.2]]),
    ...                     ("a",): np.array([0.5, 0.5])})
    >>> bool(np.allclose(found["a", "b"].sum(axis=1), found["a",], atol=1e-6))
    True
    >>> bool(min(table.min() for table in found.values()) >= 0)
    True
    """
    found = {names: as_simplex(table) for names, table in tables.items()}
    shared = overlaps(list(tables))
    for _ in range(ROUNDS):
        before = found
        agreed = dict(found)
        for columns in shared:
            agree(agreed, columns)
        found = {names: as_simplex(table) for names, table in agreed.items()}
        if max(float(np.abs(found[n] - before[n]).max()) for n in found) < CLOSE:
            break
    return found


def as_simplex(table: Floats) -> Floats:
    """Return the nearest law of a table's cells."""
    return nearest_on_simplex(table.reshape(-1)).reshape(table.shape)


def overlaps(tables: list[Table]) -> list[Table]:
    """Return the sets of columns that two tables share, the smaller ones first."""
    found = {
        tuple(sorted(set(one) & set(two)))
        for one, two in combinations(tables, 2)
        if set(one) & set(two)
    }
    return sorted(found, key=lambda columns: (len(columns), columns))


def agree(tables: dict[Table, Floats], columns: Table) -> None:
    """Give all tables that hold some columns the weighted mean of their margins, in place."""
    members = [names for names in tables if set(columns) <= set(names)]
    margins = [margin_of(tables[names], names, columns) for names in members]
    summed = [tables[n].size / m.size for n, m in zip(members, margins, strict=True)]
    mean = np.average(margins, axis=0, weights=[1 / part for part in summed])
    for names, margin, part in zip(members, margins, summed, strict=True):
        own = [name for name in names if name in columns]
        change = margin_of(mean - margin, columns, own) / part
        others = [i for i, name in enumerate(names) if name not in columns]
        tables[names] = tables[names] + np.expand_dims(change, others)

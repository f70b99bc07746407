r"""Noisy tables made to agree with each other, and to be distributions.

Two noisy tables of one file disagree about the columns that they share. The nearest tables that
agree, and those without negative cells, are two convex sets; projecting onto one and the other in
turn leads to their intersection. Of a margin that several tables have, the weighted mean is taken,
weights by the number of noisy cells that each sums, as in the consistency step of Qardaji, Yang and
Li (2014), and by the variance of that noise.

**Components.** An array over the cells of d columns is the sum of :math:`2^d` components, one for
each set s of columns,

.. math:: f = \sum_s P_s f, \qquad
    P_s = \bigotimes_{j \in s} (I - J_j/S_j) \otimes \bigotimes_{j \notin s} J_j/S_j ,

with J the matrix of ones: orthogonal to each other, and the component of s a function of the cells
of s alone. The component s of a table of probabilities follows from the margin of s, and is the
same for every table that holds s, up to the number of cells that it is spread over.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from pramble.information.distributions import Table, margin_of
from pramble.information.structural_zeros import Mask
from pramble.values import Floats

# Rounds of projections at most, and the change of a cell at which they end.
ROUNDS, CLOSE = 60, 1e-7
# The variance of a table without noise, as a part of the largest.
EXACT = 1e-9


def consistent(
    tables: Mapping[Table, Floats],
    *,
    variances: Mapping[Table, float] | None = None,
    possible: Mapping[Table, Mask] | None = None,
) -> dict[Table, Floats]:
    """Return laws near to noisy shares, which have the same margins where they overlap.

    Parameters
    ----------
    tables : mapping from table to array
    variances : mapping from table to number, optional
        The variance of the noise of a cell of each table; the same for all unless given.
    possible : mapping from table to boolean array, optional
        Cells that are False stay empty; all are possible unless given.

    Examples
    --------
    >>> found = consistent({("a", "b"): np.array([[0.7, -0.1], [0.2, 0.2]]),
    ...                     ("a",): np.array([0.5, 0.5])})
    >>> bool(np.allclose(found["a", "b"].sum(axis=1), found["a",], atol=1e-6))
    True
    >>> bool(min(table.min() for table in found.values()) >= 0)
    True
    """
    given = dict.fromkeys(tables, 1.0) if variances is None else variances
    largest = max(given.values(), default=0.0) or 1.0
    # Above zero, and in proportion: a table without noise outweighs all others.
    noise = {names: max(own / largest, EXACT) for names, own in given.items()}
    masks = {names: np.ones(table.shape, dtype=np.bool_) for names, table in tables.items()}
    masks |= possible or {}
    found = {names: as_simplex(table, masks[names]) for names, table in tables.items()}
    both = {tuple(sorted(set(one) & set(two))) for one, two in combinations(tables, 2)} - {()}
    shared = sorted(both, key=lambda columns: (len(columns), columns))
    for _ in range(ROUNDS):
        before = found
        agreed = dict(found)
        for columns in shared:
            agree(agreed, columns, noise=noise, masks=masks)
        found = {names: as_simplex(table, masks[names]) for names, table in agreed.items()}
        if max(float(np.abs(found[n] - before[n]).max()) for n in found) < CLOSE:
            break
    return found


def as_simplex(table: Floats, mask: Mask) -> Floats:
    answer = np.zeros(table.shape)
    answer[mask] = nearest_on_simplex(table[mask])
    return answer


def agree(
    tables: dict[Table, Floats],
    columns: Table,
    *,
    noise: Mapping[Table, float],
    masks: Mapping[Table, Mask],
) -> None:
    """Give all tables that hold some columns the weighted mean of their margins, in place."""
    members = [names for names in tables if set(columns) <= set(names)]
    margins = [margin_of(tables[names], names, columns) for names in members]
    summed = [margin_of(masks[n].astype(np.float64), n, columns) for n in members]
    weights = [
        np.divide(1 / noise[n], part, out=np.zeros_like(part), where=part > 0)
        for n, part in zip(members, summed, strict=True)
    ]
    # Cells without noise of their own, all of them structural zeros, have no weight.
    total = np.sum(weights, axis=0)
    mean = np.sum([w * m for w, m in zip(weights, margins, strict=True)], axis=0)
    mean = np.divide(mean, total, out=np.zeros_like(mean), where=total > 0)
    for names, margin, part in zip(members, margins, summed, strict=True):
        own = [name for name in names if name in columns]
        change = np.divide(mean - margin, part, out=np.zeros_like(margin), where=part > 0)
        others = [i for i, name in enumerate(names) if name not in columns]
        spread = np.expand_dims(margin_of(change, columns, own), others)
        tables[names] = tables[names] + np.where(masks[names], spread, 0.0)


def nearest_on_simplex(values: Floats, *, total: float = 1.0) -> Floats:
    r"""Return :math:`\arg\min_x \|x - v\|_2` subject to :math:`x \ge 0` and :math:`\sum x = n`.

    The answer is :math:`\max(v - t, 0)` for the one :math:`t` that gives the right sum, found by
    sorting.

    >>> nearest_on_simplex(np.array([5.0, 3.0, -2.0]), total=6.0)
    array([4., 2., 0.])
    """
    descending = np.sort(values)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(descending - shifts >= 0)[-1])
    return np.asarray(np.maximum(values - shifts[last], 0.0))


def contrasts(cells: Floats, *, axes: Sequence[int] | None = None) -> Floats:
    """Return an array less its mean along each of some axes, or of all: their joint component.

    >>> import numpy as np
    >>> contrasts(np.array([[0.5, 0.1], [0.2, 0.2]])).round(3).tolist()
    [[0.1, -0.1], [-0.1, 0.1]]
    """
    for axis in range(cells.ndim) if axes is None else axes:
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells

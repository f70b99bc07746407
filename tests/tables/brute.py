"""Tables by explicit matrices over all records, in whole numbers and rationals; no closed forms."""

from fractions import Fraction
from functools import reduce
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np


def records(sizes):
    """All records of columns with some numbers of categories."""
    return list(product(*map(range, sizes.values())))


def kron(matrices):
    return reduce(np.kron, matrices, np.ones((1, 1), dtype=np.int64))


def counting(sizes, part):
    """The matrix that sums a vector over records onto the cells of some columns."""
    ones = [np.eye(n, dtype=np.int64) if name in part else np.ones((1, n), dtype=np.int64)
            for name, n in sizes.items()]  # fmt: skip
    return kron(ones)


def centring(sizes, part):
    """The projection that subtracts the mean along every axis, times the number of cells."""
    return kron(
        [sizes[name] * np.eye(sizes[name], dtype=np.int64) - 1 for name in sizes if name in part]
    )


def cells(sizes, part):
    return int(np.prod([sizes[name] for name in part], dtype=np.int64))


def gram(sizes, part):
    """Inner products of what all records give to a part, as whole numbers over cells²."""
    moved = centring(sizes, part) @ counting(sizes, part)
    return moved.T @ moved, cells(sizes, part) ** 2


def kernel(sizes, precision):
    """Inner products of all records in units of the noise, exactly, as rows of rationals."""
    total = np.zeros((len(records(sizes)),) * 2, dtype=object) + Fraction(0)
    for part, own in precision.items():
        inner, scale = gram(sizes, part)
        total = total + inner.astype(object) * (Fraction(own) / scale)
    return total


def moves(sizes, parts):
    """Of all pairs of records, each once: the squared shift of every part, times its cells²."""
    columns, scales = [], []
    for part in parts:
        inner, scale = gram(sizes, part)
        own = np.diag(inner)
        columns.append((own[:, None] + own[None, :] - 2 * inner).ravel())
        scales.append(scale)
    return np.unique(np.stack(columns, axis=1), axis=0), scales


def largest_shift(sizes, precision):
    """The largest squared shift of one record for another, over all pairs of them."""
    rows, scales = moves(sizes, precision)
    units = [Fraction(own) / scale for own, scale in zip(precision.values(), scales, strict=True)]
    return max(
        sum((int(n) * unit for n, unit in zip(row, units, strict=True)), Fraction(0))
        for row in rows
    )


def largest_of_rows(sizes, precision, rows):
    """The largest squared shift of up to so many rows for up to so many others."""
    inner, size = kernel(sizes, precision), len(records(sizes))
    people = chain.from_iterable(
        combinations_with_replacement(range(size), k) for k in range(rows + 1)
    )
    counts = np.array([np.bincount(own, minlength=size) for own in map(np.intp, map(list, people))])
    moves = np.unique((counts[:, None] - counts[None]).reshape(-1, size), axis=0).astype(object)
    return max(np.einsum("ij,jk,ik->i", moves, inner, moves, optimize=True))


def shifts_by_part(sizes, parts):
    """The same as floats, without the pairs that are one record twice."""
    rows, scales = moves(sizes, parts)
    return rows[rows.any(axis=1)] / np.array(scales, dtype=float)


def cell_noise(sizes, table, part):
    """The variance that unit noise in a part gives to a cell of a rebuilt table."""
    inside = {name: sizes[name] for name in sizes if name in table}
    spread = counting(inside, part).T / (cells(sizes, table) / cells(sizes, part))
    noise = centring(sizes, part) / cells(sizes, part)
    covariance = spread @ noise @ noise.T @ spread.T
    assert np.ptp(np.diag(covariance)) < 1e-12
    return float(covariance[0, 0])


def within(tables, sizes):
    """Every set of columns within some table, the empty one left out, small ones first."""
    found = {
        part
        for table in tables
        for k in range(1, len(table) + 1)
        for part in combinations(table, k)
    }
    place = {name: i for i, name in enumerate(sizes)}
    return sorted(found, key=lambda part: (len(part), [place[name] for name in part]))

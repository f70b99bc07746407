r"""Records left alone on their own cell by the randomisation of a file.

Given the counts f of the classes, the expected number of records of class j that stay on j while no
other record lands there is

.. math:: f_j M_{jj} (1-M_{jj})^{f_j-1} \prod_{k \ne j} (1-M_{kj})^{f_k}.

M is a Kronecker product over the keys, the identity on those that are not randomised, so only
classes that agree on the latter, a block, can reach each other.
"""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pramble.errors import InvalidInput
from pramble.risk.cells import CrossClassification, group
from pramble.risk.laws import ColumnLaw
from pramble.values import Floats

Blocks = NDArray[np.int64]
Laws = Mapping[int, ColumnLaw]
LARGEST_GRID = 30_000_000
MOST_PAIRS = 20_000_000_000
PRECISION = 1e-10


def expected_alone(table: CrossClassification, laws: Laws, *, stay: Floats) -> Floats:
    """Return, per class, the expected number of its records left alone on it."""
    counts = table.counts
    own = counts * stay * np.where(counts == 1, 1.0, (1 - stay) ** np.maximum(counts - 1, 1))
    if not laws:
        return np.asarray(own, dtype=np.float64)
    still = [axis for axis in range(len(table.keys)) if axis not in laws]
    block = np.zeros(len(counts), dtype=np.int64)
    if still:
        block, _ = group(list(table.classes[:, still].T), [table.shape[axis] for axis in still])
    if len(laws) == 1:
        return np.asarray(own * missed_by_column(table, laws, block), dtype=np.float64)
    pairs = float((np.bincount(block).astype(np.float64) ** 2).sum()) * len(laws)
    grid = (int(block.max()) + 1) * math.prod(table.shape[axis] for axis in laws)
    if grid <= LARGEST_GRID and 10 * grid * series_length(table.n, laws) < pairs:
        return np.asarray(own * missed_by_series(table, laws, block), dtype=np.float64)
    if pairs > MOST_PAIRS:
        raise InvalidInput(
            f"The risk left needs {pairs:,.0f} comparisons of classes, more than {MOST_PAIRS:,}; "
            "randomise fewer keys at a time, or assess a sample of the file."
        )
    return np.asarray(own * missed_by_pairs(table, laws, block), dtype=np.float64)


def missed_by_column(table: CrossClassification, laws: Laws, block: Blocks) -> Floats:
    """One randomised key: a matrix product over the blocks, some of them at a time."""
    ((axis, law),) = laws.items()
    codes, width = table.classes[:, axis], table.shape[axis]
    missed = np.empty(len(codes))
    step = max(1, 2**24 // width)
    order = np.argsort(block, kind="stable")
    bounds = np.searchsorted(block[order], np.arange(0, block.max() + 1 + step, step))
    for first, last in pairwise(bounds):
        rows = order[first:last]
        if rows.size:
            counts = np.zeros((int(block[rows[-1]] - block[rows[0]]) + 1, width))
            place = (block[rows] - block[rows[0]], codes[rows])
            counts[place] = table.counts[rows]
            missed[rows] = np.exp(law.misses(counts)[place])
    return missed


def missed_by_pairs(table: CrossClassification, laws: Laws, block: Blocks) -> Floats:
    """Compare the classes of each block two by two, with no grid."""
    from pramble.risk.linking_kernels import chance_missed

    moving = sorted(laws)
    width = max(table.shape[axis] for axis in moving)
    matrices = np.zeros((len(moving), width, width))
    for place, axis in enumerate(moving):
        size = table.shape[axis]
        matrices[place, :size, :size] = laws[axis].dense()
    order = np.argsort(block, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block))])
    codes = np.ascontiguousarray(table.classes[order][:, moving])
    missed = np.empty(len(order))
    chance_missed(codes, table.counts[order], bounds, matrices, missed)
    answer = np.empty_like(missed)
    answer[order] = missed
    return answer


def missed_by_series(table: CrossClassification, laws: Laws, block: Blocks) -> Floats:
    r"""Sum a series of mode products over the grid of each block.

    .. math:: \sum_{k\ne j} f_k \log(1-M_{kj}) = -\sum_{r \ge 1} \frac1r
        \Bigl( \sum_k f_k M_{kj}^r - f_j M_{jj}^r \Bigr),

    and the entrywise powers of a Kronecker product are Kronecker products.
    """
    moving = sorted(laws)
    place = (block, *table.classes[:, moving].T)
    grid = np.zeros((int(block.max()) + 1, *(table.shape[axis] for axis in moving)))
    grid[place] = table.counts
    total = np.zeros(len(block))
    for r in range(1, series_length(table.n, laws) + 1):
        carried, own = grid, table.counts.astype(np.float64)
        for position, axis in enumerate(moving, start=1):
            law = laws[axis].power(r)
            carried = law.carry(carried, position)
            own *= law.diagonal[table.classes[:, axis]]
        total -= (carried[place] - own) / r
    return np.exp(np.minimum(total, 0.0))


def series_length(n: int, laws: Laws) -> int:
    """Return how many terms bring the rest of the series below the precision."""
    largest = {axis: max(law.largest_move, float(law.diagonal.max())) for axis, law in laws.items()}
    q = max(
        law.largest_move * math.prod(most for other, most in largest.items() if other != axis)
        for axis, law in laws.items()
    )
    if q == 0:
        return 1
    if q >= 1:
        return 10**9
    return max(1, math.ceil(math.log(PRECISION * (1 - q) / n) / math.log(q)))

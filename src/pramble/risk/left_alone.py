r"""Records left alone on their own cell by the randomisation of a file.

Given the counts f of the classes, the expected number of records of class j that stay on j while no
other record lands there is

.. math:: f_j M_{jj} (1-M_{jj})^{f_j-1} \prod_{k \ne j} (1-M_{kj})^{f_k}.

M is a Kronecker product over the keys, the identity on those that are not randomised, so only
classes that agree on the latter, a block, can reach each other.
"""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from pramble.data.table import Crosstab, group
from pramble.errors import InvalidInput
from pramble.limits import MOST_PAIRS
from pramble.mechanisms.operators.base import Operator, apply_axes
from pramble.mechanisms.operators.uniform import UniformAlgebra
from pramble.risk.models.base import Operators
from pramble.values import Floats, Integers

LARGEST_GRID = 30_000_000
PRECISION = 1e-10


def expected_alone(table: Crosstab, operators: Operators, *, stay: Floats) -> Floats:
    """Return, per class, the expected number of its records left alone on it."""
    counts = table.counts
    own = counts * stay * np.where(counts == 1, 1.0, (1 - stay) ** np.maximum(counts - 1, 1))
    return np.asarray(own * chance_of_no_other(table, operators), dtype=np.float64)


def chance_of_no_other(table: Crosstab, operators: Operators) -> Floats:
    """Return, per class, the chance that no record of another class lands on it."""
    if not operators:
        return np.ones(len(table.counts))
    still = [axis for axis in range(len(table.columns)) if axis not in operators]
    sizes = [table.shape[axis] for axis in still]
    block, _ = group(list(table.cells[:, still].T), sizes, rows=len(table.cells))
    if len(operators) == 1:
        return by_column(table, operators, block)
    pairs = float((np.bincount(block).astype(np.float64) ** 2).sum()) * len(operators)
    grid = (int(block.max()) + 1) * math.prod(table.shape[axis] for axis in operators)
    if grid <= LARGEST_GRID and 10 * grid * series_length(table.n, operators) < pairs:
        return by_series(table, operators, block)
    if pairs > MOST_PAIRS:
        raise InvalidInput(
            f"The risk left needs {pairs:,.0f} comparisons of classes, more than {MOST_PAIRS:,}; "
            "randomise fewer keys at a time, or assess a sample of the file."
        )
    return by_pairs(table, operators, block)


def by_column(table: Crosstab, operators: Operators, block: Integers) -> Floats:
    """One randomised key: one application over the blocks, some of them at a time."""
    ((axis, operator),) = operators.items()
    codes, width = table.cells[:, axis], table.shape[axis]
    chance = np.empty(len(codes))
    step = max(1, 2**24 // width)
    order = np.argsort(block, kind="stable")
    bounds = np.searchsorted(block[order], np.arange(0, block.max() + 1 + step, step))
    for first, last in pairwise(bounds):
        rows = order[first:last]
        if rows.size:
            counts = np.zeros((int(block[rows[-1]] - block[rows[0]]) + 1, width))
            place = (block[rows] - block[rows[0]], codes[rows])
            counts[place] = table.counts[rows]
            chance[rows] = np.exp(log_misses(operator, counts)[place])
    return chance


def log_misses(operator: Operator, counts: Floats) -> Floats:
    r"""Return :math:`\sum_{k\ne j} f_k \log(1-M_{kj})` along the last axis."""
    logs = operator.entrywise(lambda m: np.log1p(-np.where(m >= 1, 0.0, m)), diagonal=0.0)
    missed = logs.apply(counts)
    if operator.largest_moves().max() < 1:
        return missed
    sure = operator.entrywise(lambda m: (m >= 1).astype(np.float64), diagonal=0.0)
    return np.where(sure.apply(counts) > 0, -np.inf, missed)


def by_pairs(table: Crosstab, operators: Operators, block: Integers) -> Floats:
    """Compare the classes of each block two by two, with no grid."""
    from pramble.risk.models.kernels import chance_missed

    uniform = sorted(a for a, one in operators.items() if isinstance(one, UniformAlgebra))
    others = sorted(operators.keys() - set(uniform))
    order = np.argsort(block, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block))])
    codes = np.ascontiguousarray(table.cells[order][:, [*uniform, *others]])
    stays = pad([operators[axis].diagonal for axis in uniform])
    moves = pad([operators[axis].largest_moves() for axis in uniform])
    matrices = pad([operators[axis].dense() for axis in others], dimension=2)
    chance = np.empty(len(order))
    found = np.empty(len(order))
    chance_missed(codes, table.counts[order], bounds, (stays, moves, matrices), found)
    chance[order] = found
    return chance


def pad(arrays: list[Floats], *, dimension: int = 1) -> Floats:
    """Return arrays of one dimension as one, with zeros beyond the smaller ones."""
    width = max((len(array) for array in arrays), default=0)
    stack = np.zeros((len(arrays), *[width] * dimension))
    for place, array in enumerate(arrays):
        stack[place][tuple(slice(size) for size in array.shape)] = array
    return stack


def by_series(table: Crosstab, operators: Operators, block: Integers) -> Floats:
    r"""Sum a series of products over the grid of each block.

    .. math:: \sum_{k\ne j} f_k \log(1-M_{kj}) = -\sum_{r \ge 1} \frac1r
        \Bigl( \sum_k f_k M_{kj}^r - f_j M_{jj}^r \Bigr),

    and the entrywise powers of a Kronecker product are Kronecker products.
    """
    moving = sorted(operators)
    place = (block, *table.cells[:, moving].T)
    grid = np.zeros((int(block.max()) + 1, *(table.shape[axis] for axis in moving)))
    grid[place] = table.counts
    total = np.zeros(len(block))
    for r in range(1, series_length(table.n, operators) + 1):
        powers = [operators[axis].entrywise(partial(to_power, r)) for axis in moving]
        own = table.counts.astype(np.float64)
        for axis, power in zip(moving, powers, strict=True):
            own *= power.diagonal[table.cells[:, axis]]
        total -= (apply_axes(powers, grid)[place] - own) / r
    return np.exp(np.minimum(total, 0.0))


def to_power(r: int, entries: Floats) -> Floats:
    return np.asarray(entries**r, dtype=np.float64)


def series_length(n: int, operators: Operators) -> int:
    """Return how many terms bring the rest of the series below the precision."""
    move = {axis: float(one.largest_moves().max()) for axis, one in operators.items()}
    largest = {axis: max(move[axis], float(operators[axis].diagonal.max())) for axis in operators}
    q = max(
        move[axis] * math.prod(most for other, most in largest.items() if other != axis)
        for axis in operators
    )
    if q == 0:
        return 1
    if q >= 1:
        return 10**9
    return max(1, math.ceil(math.log(PRECISION * (1 - q) / n) / math.log(q)))

"""The error of a table, as every figure of this software means it."""

import math

HALF_WIDTH = 1.96
"""Standard errors on either side of an estimate that make a 95 % interval."""


def typical_error(cost: float, *, cells: int, rows: float = 1) -> float:
    r"""Return the root mean square of the standard errors of the estimated shares of a table.

    .. math:: \sqrt{\frac1K \sum_k \operatorname{Var}(\hat p_k)} = \sqrt{\frac{C}{K n}}

    with K cells, n records, and the cost C: n times the summed variance of the estimates.

    >>> typical_error(4.0, cells=4, rows=100)
    0.1
    """
    return math.sqrt(cost / (cells * max(rows, 1)))

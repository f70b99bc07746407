"""Newton's equations of the interior point, compiled; imported on first use.

For a few hundred columns one thread is fastest: threads of a busy machine wait for one another.
"""

import numpy as np

from pramble.compiled import compiled
from pramble.values import Floats


@compiled
def newton(
    left: Floats, side: Floats, scores: Floats, diagonal: Floats, right: Floats
) -> tuple[bool, Floats]:
    r"""Solve :math:`(2\,(LS^\top)\circ(US^\top) + \operatorname{diag})\,X = R`; N rows each.

    Returns whether the matrix is positive definite, by Cholesky, and the solution.
    """
    N, width = scores.shape
    turned = scores.T.copy()
    upper = np.zeros((N, N))
    for i in range(N):
        one, other = np.zeros(N - i), np.zeros(N - i)
        for k in range(width):
            u, v, row = left[i, k], side[i, k], turned[k, i:]
            for j in range(N - i):
                one[j] += u * row[j]
                other[j] += v * row[j]
        for j in range(N - i):
            upper[i, i + j] = 2 * one[j] * other[j]
        upper[i, i] += diagonal[i]
    solved = right.copy()
    for j in range(N):
        line = upper[j, j:]
        for k in range(j):
            c, row = upper[k, j], upper[k, j:]
            for i in range(N - j):
                line[i] -= c * row[i]
            solved[j] -= c * solved[k]
        if not line[0] > 0:
            return False, solved
        root = np.sqrt(line[0])
        for i in range(N - j):
            line[i] /= root
        solved[j] /= root
    for j in range(N - 1, -1, -1):
        for k in range(j + 1, N):
            solved[j] -= upper[j, k] * solved[k]
        solved[j] /= upper[j, j]
    return True, solved

"""The nearest point of a simplex."""

import numpy as np

from pramble.values import Floats


def nearest_on_simplex(values: Floats, *, total: float = 1.0) -> Floats:
    r"""Return :math:`\arg\min_x \|x - v\|_2` subject to :math:`x \ge 0` and :math:`\sum x = n`.

    The answer is :math:`\max(v - t, 0)` for the one :math:`t` that gives the right sum, found by
    sorting.

    >>> nearest_on_simplex(np.array([5.0, 3.0, -2.0]), total=6.0)
    array([4., 2., 0.])
    """
    descending = np.sort(values)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(descending - shifts >= 0)[-1])
    return np.asarray(np.maximum(values - shifts[kept], 0.0))

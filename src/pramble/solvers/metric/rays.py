r"""Columns that keep a distance: :math:`v_x \le e^{\alpha l(x,y)} v_y` along every edge.

They form a cone; a mechanism is a mixture :math:`\sum_j \theta_j v_j = 1` of its extreme rays. On a
path the logarithm of an extreme ray goes up or down by :math:`\alpha l` at every step. Rays are
rows of an array, scaled so that their least entry is 1.
"""

from collections.abc import Callable

import numpy as np

from pramble.mechanisms.distance import Distance
from pramble.values import Floats, Integers

Slopes = Callable[[Floats], Floats]
"""The gradient of a gain at some rays, one row for each."""


def scaled_rays(logs: Floats) -> Floats:
    """Return rays from their logarithms, the least entry of each 1."""
    return np.asarray(np.exp(logs - logs.min(axis=1, keepdims=True)))


def path_rays(steps: Floats) -> Floats:
    r"""Return all :math:`2^{S-1}` extreme rays of a path with steps :math:`\alpha l_i`.

    >>> path_rays(np.log([2.0])).round(9)
    array([[2., 1.],
           [1., 2.]])
    """
    numbers = np.arange(1 << len(steps))
    return turned_rays(np.where((numbers[:, None] >> np.arange(len(steps))) & 1, 1, -1), steps)


def turned_rays(signs: Integers, steps: Floats) -> Floats:
    """Return the rays of a path that go up (+1) or down (−1) at every step."""
    logs = np.cumsum(signs * steps, axis=1)
    return scaled_rays(np.column_stack([np.zeros(len(signs)), logs]))


def peaks(distance: Distance, alpha: float) -> Floats:
    r"""Return the rays :math:`e^{-\alpha d(x,z)}` with a peak at each z, and those upside down."""
    spread = alpha * distance.matrix
    return distinct_rays(scaled_rays(np.vstack([-spread, spread])))


def pushed(rays: Floats, distance: Distance, alpha: float, slopes: Slopes) -> Floats:
    r"""Return rays moved uphill, each entry in turn to an end of its range.

    Given the others, entry x may lie between :math:`\max_y v_y e^{-\alpha d}` and
    :math:`\min_y v_y e^{\alpha d}`. A convex gain is largest at an end; the slope says which.
    """
    spread, logs = alpha * distance.matrix, np.log(rays)
    uphill = slopes(rays) > 0
    for x in range(distance.size):
        others = np.delete(logs, x, axis=1)
        apart = np.delete(spread[x], x)
        logs[:, x] = np.where(
            uphill[:, x], (others + apart).min(axis=1), (others - apart).max(axis=1)
        )
    return scaled_rays(logs)


def with_complements(rays: Floats, distance: Distance, alpha: float) -> Floats:
    r"""Return rays and for each v the column :math:`c - v`, with the least c that keeps distance.

    A ray and its complement mix to a constant, so every ray can have a part in some mixture.
    """
    first, second = distance.pairs.T
    grow = np.exp(alpha * distance.lengths)
    both = ((first, second), (second, first))
    least = [((grow * rays[:, y] - rays[:, x]) / (grow - 1)).max(axis=1) for x, y in both]
    rest = np.maximum(*least)[:, None] - rays
    kept = rest.min(axis=1) > 0
    return np.vstack([rays, rest[kept] / rest[kept].min(axis=1, keepdims=True)])


def distinct_rays(rays: Floats) -> Floats:
    """Return rays without repetition, up to rounding."""
    _, first = np.unique(np.round(np.log(rays), 10), axis=0, return_index=True)
    return np.asarray(rays[np.sort(first)])

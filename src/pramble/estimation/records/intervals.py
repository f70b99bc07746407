r"""Intervals for a probability that never leave [0, 1] and are never empty.

The estimate :math:`y` of a cell by the inverse is unbiased and close to normal, but may fall
outside [0, 1]. The **unified interval** (Feldman and Cousins 1998) inverts the likelihood ratio
test of a normal mean with known bounds: for a candidate :math:`\mu`,

.. math:: q(y) = \frac{(y-\mu)^2 - (y-\bar y)^2}{\sigma^2(\mu)}, \qquad \bar y = \min(\max(y,0),1),

and :math:`\mu` belongs to the interval when the probability, under :math:`N(\mu, \sigma^2(\mu))`,
of a smaller :math:`q` is at most the level. That region of y is an interval: at :math:`k =
\sqrt{q}` standard deviations, with :math:`a = \mu/\sigma` and :math:`b = (1-\mu)/\sigma`, it
reaches down by k (or by :math:`(a^2+k^2)/(2a)` where :math:`k > a`, past the bound) and up by k (or
:math:`(b^2+k^2)/(2b)`). Far from the bounds this is Wilson's score interval, since
:math:`\sigma` is taken at the candidate; at a bound it becomes one-sided by itself. Its coverage
does not depend on how near the bound the truth is, which is why it is used here: near the bound
profile likelihood covers too much, and the parametric bootstrap too much for some cells and too
little for others (``python -m bench coverage``).

The interval of a query :math:`w \cdot p` holds every :math:`\mu` that a test does not reject, so
each :math:`\mu` needs a distribution with :math:`w \cdot p = \mu`, or the variance belongs to
another mean. The fitted one, :math:`\hat p`, is mixed with what it is among the cells of the
largest weight, or of the smallest, so far that it has this mean. For weights 0 and 1 this is the
restricted maximum likelihood as if :math:`\hat p` had been counted: it moves mass between inside
and outside and keeps the proportions in each.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.values import Floats

# Steps of the search for an end, and the change at which it is found.
MOST_STEPS, PRECISION = 100, 1e-13

# The share nearest to one whose normal quantile is finite, and the deviation nearest to zero whose
# square is not zero.
ALMOST_ONE, SMALLEST_DEVIATION = 1 - 2**-52, 1e-150


def check_level(level: float) -> float:
    """Return the confidence level; refuse what is not strictly between 0 and 1."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise InvalidInput(f"level must lie strictly between 0 and 1; found {level!r}.")
    return float(level)


def normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def unified_interval(
    y: Floats, variance: Callable[[Floats], Floats], *, level: float
) -> tuple[Floats, Floats]:
    """Return lower and upper ends for means in [0, 1] that were estimated by ``y``.

    ``variance`` gives the variance of ``y`` for candidate means, element by element. Where its root
    exceeds the whole range, nothing is known and the interval is all of it.
    """
    from scipy.special import ndtr, ndtri

    target, nearest = normal_quantile(level), np.clip(y, 0.0, 1.0)

    def excess(mu: Floats) -> Floats:
        """Return the deviations by which a smaller ratio than that of y is too likely under mu."""
        deviation = np.sqrt(np.maximum(variance(mu), SMALLEST_DEVIATION**2))
        k = np.sqrt(np.maximum((y - mu) ** 2 - (y - nearest) ** 2, 0.0) / deviation**2)
        share = ndtr(reach(k, (1 - mu) / deviation)) - ndtr(-reach(k, mu / deviation))
        return np.asarray(ndtri((1 + np.minimum(share, ALMOST_ONE)) / 2) - target)

    known = variance(np.full_like(y, 0.5)) < 1
    lower = crossing(excess, nearest, end=np.zeros_like(y))
    upper = crossing(excess, nearest, end=np.ones_like(y))
    return np.where(known, lower, 0.0), np.where(known, upper, 1.0)


def intervals_of_weights(
    w: Floats,
    centre: Floats,
    variance_by: Callable[[Floats, Floats], Callable[[Floats], Floats]],
    *,
    level: float,
) -> tuple[Floats, Floats]:
    """Return unified intervals, within the smallest and the largest weight of each query.

    ``variance_by`` takes weights scaled to [0, 1] and how wide they were, and gives the variance of
    the scaled answers for candidate ones.
    """
    low, high = w.min(axis=1), w.max(axis=1)
    width = np.where(high > low, high - low, 1.0)
    variance = variance_by((w - low[:, None]) / width[:, None], width)
    lower, upper = unified_interval((centre - low) / width, variance, level=level)
    fixed = high == low
    return (np.where(fixed, low, low + width * lower), np.where(fixed, high, low + width * upper))


def errors_within(values: Floats, errors: Floats, noise: Floats) -> Floats:
    r"""Return the standard errors of shares that are cut off at zero.

    Randomisation adds noise of deviation σ to a share of the file; an estimate within the simplex
    is near the larger of zero and the sum. At the share estimated, the noise that is left is

    .. math:: \sigma^2 \{(a^2 + 1)\Phi(a) + a\varphi(a) - (a\Phi(a) + \varphi(a))^2\},
              \qquad a = \hat p / \sigma ,

    which is :math:`\sigma^2` far from zero and a third of it at zero. What the other cells leave is
    not used: where most cells of a table are zero, the estimates vary less than this.

    Parameters
    ----------
    values, errors, noise : arrays
        The estimates, the standard errors of the unbiased ones, and the part of these that
        randomisation alone would have.

    >>> errors, noise = np.array([0.01, 0.01, 0.01]), np.array([0.01, 0.01, 0.0])
    >>> errors_within(np.array([0.5, 0.0, 0.0]), errors, noise).round(4)
    array([0.01  , 0.0058, 0.01  ])
    """
    from scipy.special import ndtr

    a = np.divide(values, noise, out=np.full(np.shape(values), 40.0), where=noise > 0)
    a = np.clip(a, 0.0, 40.0)
    below, density = ndtr(a), np.exp(-a * a / 2) / np.sqrt(2 * np.pi)
    left = (a * a + 1) * below + a * density - (a * below + density) ** 2
    cut = np.minimum(noise, errors) ** 2 * np.clip(1 - left, 0.0, 1.0)
    return np.asarray(np.sqrt(np.maximum(errors**2 - cut, 0.0)))


def nothing_known(lower: Floats, upper: Floats, what: str) -> tuple[str, ...]:
    """Return a note on the shares whose interval is all of [0, 1], if there are any.

    >>> nothing_known(np.array([0.0, 0.2]), np.array([1.0, 0.3]), "cells")
    ('Nothing is known of 1 of 2 cells: their intervals go from 0 to 1.',)
    """
    unknown = int(((lower <= 0) & (upper >= 1)).sum())
    if not unknown:
        return ()
    return (
        f"Nothing is known of {unknown} of {lower.size} {what}: their intervals go from 0 to 1.",
    )


def reach(k: Floats, room: Floats) -> Floats:
    """Return how many deviations the region of ratio k reaches towards a bound that far away."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beyond = (room**2 + k**2) / (2 * room)
    return np.where(k <= room, k, beyond)


def crossing(excess: Callable[[Floats], Floats], inside: Floats, *, end: Floats) -> Floats:
    """Return where the excess turns positive between ``inside`` and ``end``, or the end.

    By the Illinois method, element by element: the excess is a number of standard deviations, and
    so is close to linear.
    """
    near, far = inside.copy(), end.copy()
    below, above = excess(near), excess(far)
    reached = above <= 0
    was_out = np.zeros(reached.shape, dtype=np.int8)
    for _ in range(MOST_STEPS):
        if (reached | (np.abs(far - near) <= PRECISION)).all():
            break
        weight = np.clip(above / np.where(above > below, above - below, 1.0), 0.0, 1.0)
        middle = far + (near - far) * weight
        value = excess(middle)
        out = value > 0
        side = np.where(out, 1, -1)
        again = side == was_out
        below = np.where(out, np.where(again, below / 2, below), value)
        above = np.where(out, value, np.where(again, above / 2, above))
        near, far, was_out = np.where(out, near, middle), np.where(out, middle, far), side
        done = np.abs(value) <= PRECISION
        near, far = np.where(done, middle, near), np.where(done, middle, far)
    return np.where(reached, end, near)


def inner_point(p: Floats, *, n: float) -> Floats:
    """Return p moved into the simplex and, by the weight of one record of n, off its boundary."""
    inside = np.maximum(p, 0.0)
    return np.asarray((n * inside / inside.sum() + 1 / p.size) / (n + 1))


# How near one a scaled weight counts as the largest, and what stands for zero in divisions.
NEARLY_ONE, SMALLEST = 1 - 1e-9, 1e-300


def candidate_moment(weights: Floats, p: Floats, moments: Floats) -> Callable[[Floats], Floats]:
    """Return the second moments of queries, by candidate answers, at the distributions above.

    Weights (Q, K) lie in [0, 1] and reach both ends; ``moments`` (Q, K) are those of the cells.
    Queries may have a distribution p each, which need not sum to one.
    """
    p = np.broadcast_to(p, weights.shape)

    def mean(of: Floats, within: Any) -> Floats:
        own = p * within
        return np.asarray((own * of).sum(axis=1) / np.maximum(own.sum(axis=1), SMALLEST))

    centre = np.clip(mean(weights, 1.0), SMALLEST, 1 - 2**-53)
    fitted, low, high = (
        mean(moments, within) for within in (1.0, weights == 0, weights >= NEARLY_ONE)
    )

    def moment(mu: Floats) -> Floats:
        below, above = mu / centre, (1 - mu) / (1 - centre)
        return np.where(mu < centre, low + below * (fitted - low), high + above * (fitted - high))

    return moment

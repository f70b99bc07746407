r"""Iterative proportional fitting: of all laws with some margins, the one of largest entropy.

.. math:: \min_p \sum_k p_k \log\frac{p_k}{q_k} \quad\text{s.t.}\quad
          m_c(p) = \sum_{k \in c} p_k = t_c \text{ for every cell } c \text{ of every margin.}

Scaling to one margin after the other, from q on, converges to it. Cells of a margin may have slack
:math:`s_c`: instead of the constraint, :math:`(m_c(p) - t_c)^2/(2 s_c)` is then added to what is
minimised, and each step scales to :math:`t_c - s_c\theta_c`, with :math:`\theta_c` the logarithm of
all factors of the cell so far, this one included: coordinate ascent of the dual. Margins that no
law has are then met as nearly as they can be.

A large array is not scaled margin by margin: margins are gathered in bundles of columns with few
cells together. The array is summed to a bundle, the sums are fitted to all margins in it, and the
array is scaled by the change: a projection onto all margins of the bundle at once.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.values import Floats, Integers, Reporter, frozen

# Cells that margins gathered in one bundle may have together.
BUNDLE = 2**16

# Sweeps over the margins of a bundle before the next one.
INNER = 4

# The columns of a margin, by their place.
Axes = tuple[int, ...]


@frozen
class Swept:
    """How many sweeps a fit took, and by how much a margin was still off in the last."""

    sweeps: int
    deviation: float


@frozen(eq=False)
class Margin:
    """What the sums over all but some axes shall be, and the slack of each; none unless given."""

    axes: Axes
    wanted: Floats
    slack: Floats | None = None


def fit_listed(
    means: Floats,
    places: Any,
    margins: Sequence[Floats],
    *,
    close: float,
    sweeps: int,
    reporter: Reporter | None = None,
) -> Swept:
    """Scale the means of listed cells, in place, until every margin is met within ``close``.

    ``places`` is the (margins, cells) array of where each cell lies in each margin.

    >>> means = np.ones(4)
    >>> places = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    >>> done = fit_listed(means, places, [np.array([3.0, 1]), np.array([2.0, 2])], close=1e-9,
    ...                   sweeps=10)
    >>> means, done.sweeps
    (array([1.5, 1.5, 0.5, 0.5]), 2)
    """
    scaling = Scaling(places, [Margin((), np.asarray(wanted)) for wanted in margins])
    return repeated(lambda: scaling.sweep(means), close=close, sweeps=sweeps, reporter=reporter)


def fit_array(
    cells: Floats,
    margins: Sequence[Margin],
    *,
    close: float,
    sweeps: int,
    reporter: Reporter | None = None,
) -> Swept:
    """Scale an array, in place, until its sums over all but some axes are the wanted margins.

    >>> cells = np.ones((2, 2))
    >>> margins = [Margin((0,), np.array([3.0, 1])), Margin((1,), np.array([2.0, 2]))]
    >>> found = fit_array(cells, margins, close=1e-9, sweeps=10)
    >>> cells
    array([[1.5, 1.5],
           [0.5, 0.5]])
    """
    bundles = [Bundle(axes, own, cells.shape) for axes, own in by_axes(margins, cells.shape)]

    def sweep() -> float:
        return max((bundle.fit(cells) for bundle in bundles), default=0.0)

    return repeated(sweep, close=close, sweeps=sweeps, reporter=reporter)


def repeated(
    sweep: Callable[[], float], *, close: float, sweeps: int, reporter: Reporter | None
) -> Swept:
    first, least, deviation, done = None, np.inf, np.inf, 0
    while done < sweeps and deviation > close:
        deviation = sweep()
        done += 1
        first, least = first or deviation, min(least, deviation)
        if reporter is not None:
            # Deviations shrink geometrically, so progress is on the scale of logarithms.
            goal = np.log(max(first / close, 1.000001))
            made = np.log(first / least) / goal if deviation > close else 1.0
            reporter.report("fitting", max(float(np.clip(made, 0.0, 1.0)), done / sweeps))
    return Swept(done, deviation)


class Scaling:
    """Cells at their places in some margins, with the factors that they have had so far."""

    def __init__(self, places: Any, margins: Sequence[Margin]) -> None:
        self.places = places
        self.targets = flat([margin.wanted for margin in margins])
        self.starts = np.cumsum([0, *(margin.wanted.size for margin in margins)])
        self.slack = flat(
            [np.zeros(m.wanted.shape) if m.slack is None else m.slack for m in margins]
        )
        self.logs = np.zeros_like(self.targets)

    def sweep(self, means: Floats) -> float:
        from pramble.information.kernels import sweep

        return float(sweep(means, self.places, self.targets, self.starts, self.slack, self.logs))


def flat(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


class Bundle:
    """Some axes of an array, and the margins that lie within them.

    The place of cell k in the sums is ``high[k // len(low)] + low[k % len(low)]``, so no list of
    all cells is needed.
    """

    def __init__(self, axes: Axes, margins: Sequence[Margin], shape: tuple[int, ...]) -> None:
        sizes = tuple(shape[axis] for axis in axes)
        self.size = math.prod(sizes)
        cells = np.indices(sizes).reshape(len(sizes), -1).T
        inside = [tuple(map(axes.index, margin.axes)) for margin in margins]
        self.scaling = Scaling(margin_places(cells, inside, sizes), margins)
        self.high, self.low = split_places(axes, shape)

    def fit(self, cells: Floats) -> float:
        from pramble.information.kernels import scale_margin

        square = cells.reshape(len(self.high), len(self.low))
        sums = square_margin(square, self.high, self.low, self.size)
        fitted = sums.copy()
        before = now = self.scaling.sweep(fitted)
        for _ in range(INNER - 1):
            # Sums that are nearly met need no more sweeps in this turn.
            if now > before / 10:
                now = self.scaling.sweep(fitted)
        factors = np.divide(fitted, sums, out=np.zeros_like(sums), where=sums > 0)
        scale_margin(square, self.high, self.low, factors)
        return before


def by_axes(margins: Sequence[Margin], shape: Sequence[int]) -> list[tuple[Axes, list[Margin]]]:
    """Return sets of axes with few cells each, and every margin with one that holds it.

    >>> found = by_axes([Margin((0, 1), np.ones((2, 2))), Margin((2, 1), np.ones((2, 2)))],
    ...                  (2, 2, 2))
    >>> [(axes, len(own)) for axes, own in found]
    [((0, 1, 2), 2)]
    """
    waiting = sorted(margins, key=lambda margin: (-len(margin.axes), sorted(margin.axes)))
    found = []
    while waiting:
        bundle = set(waiting[0].axes)
        while grown := widened(bundle, [set(margin.axes) for margin in waiting], shape):
            bundle = grown
        inside = [margin for margin in waiting if set(margin.axes) <= bundle]
        waiting = [margin for margin in waiting if not set(margin.axes) <= bundle]
        found.append((tuple(sorted(bundle)), inside))
    return found


def widened(bundle: set[int], waiting: Sequence[set[int]], shape: Sequence[int]) -> set[int]:
    """Return the bundle with one more axis, by which most margins come in; empty if none fits."""
    cells = math.prod(shape[axis] for axis in bundle)
    fits = [axis for axis in set[int]().union(*waiting) - bundle if cells * shape[axis] <= BUNDLE]
    if not fits:
        return set()

    def gain(axis: int) -> tuple[float, int]:
        more = sum(axis in axes and axes <= bundle | {axis} for axes in waiting)
        return more / math.log(max(shape[axis], 2)), -axis

    return bundle | {max(fits, key=gain)}


def split_places(axes: Axes, shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the two parts of the place of every cell in the margin over some axes."""
    strides = np.zeros(len(shape), dtype=np.int64)
    step = 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= shape[axis]
    # Two halves of nearly as many cells have the fewest codes together.
    cut = min(range(len(shape) + 1), key=lambda i: abs(math.prod(shape[:i]) - math.prod(shape[i:])))

    def part(own: range) -> Integers:
        sizes = tuple(shape[axis] for axis in own)
        codes = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        return np.asarray(strides[list(own)] @ codes, dtype=np.int64)

    return part(range(cut)), part(range(cut, len(shape)))


def margin_over(cells: Floats, axes: Axes) -> Floats:
    """Return the sums of a large array over all but some axes, in their order.

    >>> margin_over(np.arange(8.0).reshape(2, 2, 2), (2, 0))
    array([[ 2., 10.],
           [ 4., 12.]])
    """
    high, low = split_places(axes, cells.shape)
    shape = tuple(cells.shape[axis] for axis in axes)
    square = cells.reshape(len(high), len(low))
    return square_margin(square, high, low, math.prod(shape)).reshape(shape)


def square_margin(square: Floats, high: Integers, low: Integers, size: int) -> Floats:
    from pramble.information.kernels import add_margin

    sums = np.zeros(size)
    add_margin(square, high, low, sums)
    return sums


def margin_places(cells: Any, margins: Sequence[Axes], shape: Sequence[int]) -> NDArray[np.int32]:
    return np.stack(
        [
            np.ravel_multi_index(cells[:, list(margin)].T, [shape[axis] for axis in margin]).astype(
                np.int32
            )
            for margin in margins
        ]
    )

"""Round bands for numbers, from what is publicly known of them or else from their size."""

import math
from collections.abc import Sequence

import numpy as np

from pramble.values import value

PUBLIC: dict[str, tuple[int, ...]] = {
    "age": (0, 15, 25, 35, 45, 55, 65, 75),
    "count": (0, 1, 2, 3, 4, 5, 6),
    "hours": (0, 10, 20, 30, 40, 50),
    "birth year": tuple(range(1930, 2020, 10)),
}
"""Bands of quantities whose range everybody knows: no file is looked at."""

MOST_OF = {"age": (0, 130), "count": (0, 200), "hours": (0, 168), "birth year": (1800, 2100)}
STEPS = (1.0, 2.0, 5.0, 10.0)
BANDS, MOST_BANDS = 6, 9
HUGE = 1e300
"""Numbers beyond this, infinities among them, count with the last band or the first."""

TAIL = 0.05
"""Part of the values at either end that does not count: the size is not that of one record."""


@value
class RoundBands:
    """Edges of bands for the numbers of a column.

    Attributes
    ----------
    edges : increasing numbers
        The last band is open above.
    low : bool
        Whether numbers below the first edge are to be counted with it.
    public : bool
        Whether the edges are known without the file; else its numbers tell their size.
    """

    edges: tuple[float, ...]
    low: bool
    public: bool


def round_bands(values: Sequence[float], quantity: str | None, *, all_seen: bool) -> RoundBands:
    """Return round bands for numbers of which these were seen.

    >>> round_bands([18, 40, 90], "age", all_seen=True).edges
    (0, 15, 25, 35, 45, 55, 65, 75)
    >>> round_bands([float(i) for i in range(-30, 70)], None, all_seen=True).edges
    (-40, -20, 0, 20, 40, 60)
    """
    numbers = np.sort(np.clip(np.asarray(values, dtype=np.float64), -HUGE, HUGE))
    least, most = float(numbers[0]), float(numbers[-1])
    known = PUBLIC.get(quantity or "")
    if known is not None:
        low, high = MOST_OF[quantity or ""]
        if low <= least and most <= high:
            below = known[0] > 0 or not all_seen
            return RoundBands(known, low=below, public=True)
    usual = numbers[np.abs(numbers) < HUGE]
    edges = edges_by_size(usual) if usual.size else (0, 1)
    return RoundBands(edges, low=least < edges[0] or not all_seen, public=False)


def edges_by_size(numbers: np.ndarray) -> tuple[float, ...]:
    """Return evenly spaced round edges; in steps of 1, 2, 5, 10 … where sizes differ greatly."""
    low, middle, high = (float(np.quantile(numbers, q)) for q in (TAIL, 0.5, 1 - TAIL))
    if numbers[0] >= 0 and 0 < middle < high / 5:
        return growing_edges(max(low, middle / 50), high)
    step = nice((high - low) / BANDS or 1.0)
    start = math.floor(low / step)
    if 0 < start <= 2:
        start = 0
    count = min(max(math.floor(high / step) - start + 1, 2), MOST_BANDS)
    return tuple(tidy((start + i) * step) for i in range(count))


def growing_edges(low: float, high: float) -> tuple[float, ...]:
    """Return 0 and the numbers 1, 2 and 5 times powers of ten between; of ten alone where many.

    >>> growing_edges(900, 60_000), growing_edges(3, 4_000_000)
    ((0, 1000, 2000, 5000, 10000, 20000, 50000), (0, 10, 100, 1000, 10000, 100000, 1000000))
    """
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    fine = [step * 10.0**power for power in powers for step in STEPS[:3]]
    within = [edge for edge in fine if low <= edge <= high]
    if len(within) >= MOST_BANDS:
        within = [10.0**power for power in powers if low <= 10.0**power <= high][:MOST_BANDS]
    return (0, *map(tidy, within or [high]))


def nice(width: float) -> float:
    """Return the next number that is 1, 2 or 5 times a power of ten.

    >>> nice(0.13), nice(30), nice(7)
    (0.2, 50.0, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(step * power for step in STEPS if step * power >= width * (1 - 1e-9)))


def tidy(edge: float) -> float:
    """Return an edge as people write it: whole numbers without a point."""
    rounded = float(f"{edge:.12g}")
    return int(rounded) if rounded.is_integer() else rounded

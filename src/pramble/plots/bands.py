"""Numbers and the bands that they are to fall into, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pramble.plots.style import BLUE, VERMILION, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.values import Floats

MOST_BARS, TAIL = 60, 0.005
"""Bars at most; and the part at either end that is left out where it is far away."""


def bands_figure(numbers: Floats, edges: Sequence[float], *, name: str) -> Figure:
    """Return a histogram of numbers with the edges of bands as lines across it."""
    low, high = np.quantile(numbers, (TAIL, 1 - TAIL)) if numbers.size else (0.0, 1.0)
    low, high = min(low, *edges), max(high, *edges)
    shown = numbers[(numbers >= low) & (numbers <= high)]
    whole = bool(np.all(shown == np.round(shown))) and high - low < MOST_BARS * 4
    width = (high - low) / MOST_BARS or 1.0
    if whole:
        width = max(np.ceil((high - low + 1) / MOST_BARS), 1.0)
    bars = np.arange(low, high + 1.001 * width, width)
    with house_style():
        figure = new_figure(height=2.6)
        axes = figure.add_subplot()
        axes.hist(shown, bins=list(bars), color=BLUE, alpha=0.75)
        for edge in edges:
            axes.axvline(edge, color=VERMILION, linestyle="--", linewidth=1)
        axes.set_xlabel(name)
        axes.set_ylabel("rows")
    return figure

"""Bars: how numbers fall into bands, how many records are alone, where a budget goes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.plots.mechanisms import shorten
from pramble.plots.style import BLUE, VERMILION, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.values import Floats

MOST_BARS, TAIL = 60, 0.005
"""Bars at most; and the part at either end that is left out where it is far away."""

EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Sizes of classes from which a new bar begins."""


@house_style()
def bands_figure(numbers: Floats, edges: Sequence[float], *, name: str) -> Figure:
    """Return a histogram of numbers with the edges of bands as lines across it."""
    low, high = np.quantile(numbers, (TAIL, 1 - TAIL)) if numbers.size else (0.0, 1.0)
    low, high = min(low, *edges), max(high, *edges)
    shown = numbers[(numbers >= low) & (numbers <= high)]
    whole = bool(np.all(shown == np.round(shown))) and high - low < MOST_BARS * 4
    width = (high - low) / MOST_BARS or 1.0
    if whole:  # a bar that held three whole numbers beside one that holds two would look taller
        width = max(np.ceil((high - low + 1) / MOST_BARS), 1.0)
    bars = np.arange(low, high + 1.001 * width, width)
    figure = new_figure(height=2.6)
    axes = figure.add_subplot()
    axes.hist(shown, bins=list(bars), color=BLUE, alpha=0.75)
    for edge in edges:
        axes.axvline(edge, color=VERMILION, linestyle="--", linewidth=1)
    axes.set_xlabel(name)
    axes.set_ylabel("rows")
    return figure


@house_style()
def class_sizes_figure(sizes: Any) -> Figure:
    """Return how many records share their keys with how many; those alone stand out."""
    sizes = np.asarray(sizes)
    ends = [*pairwise(EDGES), (EDGES[-1], np.inf)]
    records = [int(sizes[(sizes >= low) & (sizes < high)].sum()) for low, high in ends]
    names = [
        f"{low}" if high == low + 1 else f"{low} to {high - 1:.0f}" for low, high in ends[1:-1]
    ]
    names = ["alone", *names, f"{EDGES[-1]:,} or more"]
    figure = new_figure(height=3.2)
    axes = figure.add_subplot()
    bars = axes.bar(range(len(names)), records, color=[VERMILION, *[BLUE] * (len(names) - 1)])
    axes.bar_label(bars, [f"{count:,}" for count in records], fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_xlabel("records with the same keys")
    axes.set_ylabel("records")
    axes.grid(visible=False, axis="x")
    return figure


@house_style()
def budget_figure(names: Sequence[str], own: Sequence[float], priors: Sequence[float]) -> Figure:
    """Return the α of every column, the part on its prior in another colour."""
    places = np.arange(len(names))[::-1]
    figure = new_figure(height=0.75 + 0.3 * len(names))
    axes = figure.subplots()
    axes.barh(places, own, color=BLUE, height=0.6, label="on the released values")
    if any(priors):
        bars = axes.barh(places, priors, left=own, height=0.6, label="on the prior")
        for bar in bars:
            bar.set(facecolor=VERMILION, edgecolor="white", hatch="////")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    axes.set_yticks(places, shorten(names))
    axes.set_xlabel("α")
    axes.grid(visible=False, axis="y")
    return figure
